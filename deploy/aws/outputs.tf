output "table_name" {
  description = "LUCIUS_LIFEBOOK_TABLE of whoever serves the API."
  value       = aws_dynamodb_table.jobs.name
}

output "table_stream_arn" {
  description = "Every change of every item, for whoever wants to follow."
  value       = aws_dynamodb_table.jobs.stream_arn
}

output "queue_name" {
  description = "LUCIUS_LIFEBOOK_QUEUE of whoever serves the API."
  value       = aws_sqs_queue.work.name
}

output "dlq_name" {
  description = "LUCIUS_LIFEBOOK_DLQ of whoever serves the API."
  value       = aws_sqs_queue.dead.name
}

output "event_bus_name" {
  description = "Where workflow_run_completed and workflow_run_canceled arrive."
  value       = aws_cloudwatch_event_bus.analytics.name
}

output "alerts_topic_arn" {
  description = "Where alarms go; subscribe whoever is on call."
  value       = aws_sns_topic.alerts.arn
}

output "worker_function_name" {
  description = "The function that executes runs."
  value       = aws_lambda_function.worker.function_name
}

output "worker_role_name" {
  description = "The role that steps act in; attach what they need beyond Lucius."
  value       = aws_iam_role.worker.name
}

output "duties_function_name" {
  description = "The function that looks after runs every minute."
  value       = aws_lambda_function.duties.function_name
}

output "api_policy_arn" {
  description = "What whoever serves the API must be allowed; attach it to their role."
  value       = aws_iam_policy.api.arn
}
