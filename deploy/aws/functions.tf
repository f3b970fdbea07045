locals {
  # The settings of src/lucius/runtime/lifebook_settings.py, the same for both functions.
  settings = merge(var.environment, {
    LUCIUS_LIFEBOOK_BACKEND   = "aws"
    LUCIUS_LIFEBOOK_REGION    = var.region
    LUCIUS_LIFEBOOK_TABLE     = aws_dynamodb_table.jobs.name
    LUCIUS_LIFEBOOK_QUEUE     = aws_sqs_queue.work.name
    LUCIUS_LIFEBOOK_DLQ       = aws_sqs_queue.dead.name
    LUCIUS_LIFEBOOK_EVENT_BUS = aws_cloudwatch_event_bus.analytics.name
  })
}

resource "aws_cloudwatch_log_group" "worker" {
  name              = "/aws/lambda/lifebook-orchestrator-worker"
  retention_in_days = var.log_retention_days
}

resource "aws_cloudwatch_log_group" "duties" {
  name              = "/aws/lambda/lifebook-orchestrator-duties"
  retention_in_days = var.log_retention_days
}

# No dead letter queue of its own: the queue in front of it has one, and that is where a run's message belongs.
resource "aws_lambda_function" "worker" {
  function_name = "lifebook-orchestrator-worker"
  description   = "Takes a run's message and executes the run's steps."
  role          = aws_iam_role.worker.arn

  runtime       = "python3.12"
  handler       = "lucius.lifebook.handler"
  architectures = [var.architecture]

  filename          = var.package_s3 == null ? var.package_path : null
  source_code_hash  = var.package_s3 == null ? filebase64sha256(var.package_path) : null
  s3_bucket         = try(var.package_s3.bucket, null)
  s3_key            = try(var.package_s3.key, null)
  s3_object_version = try(var.package_s3.version, null)

  timeout                        = var.worker_timeout_seconds
  memory_size                    = var.worker_memory_mb
  reserved_concurrent_executions = coalesce(var.worker_reserved_concurrency, -1)

  environment {
    variables = local.settings
  }

  logging_config {
    log_format = "JSON"
    log_group  = aws_cloudwatch_log_group.worker.name
  }

  depends_on = [aws_iam_role_policy.worker]
}

resource "aws_lambda_event_source_mapping" "work" {
  event_source_arn = aws_sqs_queue.work.arn
  function_name    = aws_lambda_function.worker.arn

  # One run at a time has the whole time limit for itself, and its failure is nobody else's.
  batch_size              = 1
  function_response_types = ["ReportBatchItemFailures"]

  scaling_config {
    maximum_concurrency = var.worker_concurrency
  }
}

# What must happen although nobody calls: messages that were lost, dead letters, events to tell, schedules.
resource "aws_lambda_function" "duties" {
  function_name = "lifebook-orchestrator-duties"
  description   = "Every minute: sends lost messages again, judges dead letters, tells events, starts what is due."
  role          = aws_iam_role.duties.arn

  runtime       = "python3.12"
  handler       = "lucius.lifebook.duties_handler"
  architectures = [var.architecture]

  filename          = var.package_s3 == null ? var.package_path : null
  source_code_hash  = var.package_s3 == null ? filebase64sha256(var.package_path) : null
  s3_bucket         = try(var.package_s3.bucket, null)
  s3_key            = try(var.package_s3.key, null)
  s3_object_version = try(var.package_s3.version, null)

  timeout     = 55 # over before the next minute's; two at a time would do no harm, only the same work twice
  memory_size = 512

  environment {
    variables = local.settings
  }

  logging_config {
    log_format = "JSON"
    log_group  = aws_cloudwatch_log_group.duties.name
  }

  depends_on = [aws_iam_role_policy.duties]
}

# The next minute is the retry.
resource "aws_lambda_function_event_invoke_config" "duties" {
  function_name                = aws_lambda_function.duties.function_name
  maximum_retry_attempts       = 0
  maximum_event_age_in_seconds = 60
}

resource "aws_scheduler_schedule" "duties" {
  name                = "lifebook-orchestrator-duties"
  description         = "What must happen although nobody calls."
  schedule_expression = "rate(1 minute)"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = aws_lambda_function.duties.arn
    role_arn = aws_iam_role.scheduler.arn
    input    = jsonencode({ source = "lifebook-orchestrator-duties" })

    retry_policy {
      maximum_retry_attempts       = 0
      maximum_event_age_in_seconds = 60
    }
  }
}

# `workflow_run_completed` and `workflow_run_canceled`, each once in our records and at least once here.
resource "aws_cloudwatch_event_bus" "analytics" {
  name = "lifebook-analytics"
}
