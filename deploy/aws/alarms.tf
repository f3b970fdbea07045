resource "aws_sns_topic" "alerts" {
  name              = "lifebook-alerts"
  kms_master_key_id = var.alerts_kms_key_arn
}

resource "aws_sns_topic_subscription" "email" {
  for_each = var.alert_emails

  topic_arn = aws_sns_topic.alerts.arn
  protocol  = "email"
  endpoint  = each.value
}

resource "aws_sns_topic_policy" "alerts" {
  arn    = aws_sns_topic.alerts.arn
  policy = data.aws_iam_policy_document.alerts.json
}

data "aws_iam_policy_document" "alerts" {
  statement {
    sid       = "Alarms"
    actions   = ["sns:Publish"]
    resources = [aws_sns_topic.alerts.arn]

    principals {
      type        = "Service"
      identifiers = ["cloudwatch.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [data.aws_caller_identity.current.account_id]
    }
  }

  statement {
    sid       = "TlsOnly"
    effect    = "Deny"
    actions   = ["sns:Publish"]
    resources = [aws_sns_topic.alerts.arn]

    principals {
      type        = "*"
      identifiers = ["*"]
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

# Any dead letter at all. Hidden ones count too: the duties take all of them for a moment every minute, and an
# alarm on the visible ones alone could always look at that moment.
resource "aws_cloudwatch_metric_alarm" "dlq_depth" {
  alarm_name          = "lifebook-orchestrator-dlq-depth"
  alarm_description   = "Runs have died: `lucius lifebook dead-letters` shows which, and redrives or discards them."
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alerts.arn]
  ok_actions          = [aws_sns_topic.alerts.arn]

  metric_query {
    id          = "depth"
    expression  = "FILL(visible, 0) + FILL(hidden, 0)"
    label       = "Dead letters"
    return_data = true
  }

  metric_query {
    id = "visible"

    metric {
      namespace   = "AWS/SQS"
      metric_name = "ApproximateNumberOfMessagesVisible"
      dimensions  = { QueueName = aws_sqs_queue.dead.name }
      period      = 60
      stat        = "Maximum"
    }
  }

  metric_query {
    id = "hidden"

    metric {
      namespace   = "AWS/SQS"
      metric_name = "ApproximateNumberOfMessagesNotVisible"
      dimensions  = { QueueName = aws_sqs_queue.dead.name }
      period      = 60
      stat        = "Maximum"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "oldest_message" {
  alarm_name          = "lifebook-orchestrator-oldest-message"
  alarm_description   = "A run waits far longer than its backoffs take: the worker does not keep up, or does not start."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateAgeOfOldestMessage"
  dimensions          = { QueueName = aws_sqs_queue.work.name }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.oldest_message_alarm_seconds
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alerts.arn]
  ok_actions          = [aws_sns_topic.alerts.arn]
}

# A step that fails is a partial batch response, no error of the function: these are crashes and time limits.
resource "aws_cloudwatch_metric_alarm" "worker_errors" {
  alarm_name          = "lifebook-orchestrator-worker-errors"
  alarm_description   = "Workers crash, run out of memory or into their time limit, again and again."
  namespace           = "AWS/Lambda"
  metric_name         = "Errors"
  dimensions          = { FunctionName = aws_lambda_function.worker.function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 3
  datapoints_to_alarm = 2
  comparison_operator = "GreaterThanThreshold"
  threshold           = 2
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alerts.arn]
  ok_actions          = [aws_sns_topic.alerts.arn]
}

# The queue starts no more invocations than it may, so a throttle means that others use up the account's limit.
resource "aws_cloudwatch_metric_alarm" "worker_throttles" {
  alarm_name          = "lifebook-orchestrator-worker-throttles"
  alarm_description   = "Workers are not let in: messages use up their receives without having been tried."
  namespace           = "AWS/Lambda"
  metric_name         = "Throttles"
  dimensions          = { FunctionName = aws_lambda_function.worker.function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 2
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alerts.arn]
  ok_actions          = [aws_sns_topic.alerts.arn]
}

resource "aws_cloudwatch_metric_alarm" "duties_errors" {
  alarm_name          = "lifebook-orchestrator-duties-errors"
  alarm_description   = "The duties fail minute after minute: lost messages stay lost, events stay untold."
  namespace           = "AWS/Lambda"
  metric_name         = "Errors"
  dimensions          = { FunctionName = aws_lambda_function.duties.function_name }
  statistic           = "Sum"
  period              = 60
  evaluation_periods  = 10
  datapoints_to_alarm = 5
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alerts.arn]
  ok_actions          = [aws_sns_topic.alerts.arn]
}

# The only one for which silence is the alarm.
resource "aws_cloudwatch_metric_alarm" "duties_silent" {
  alarm_name          = "lifebook-orchestrator-duties-silent"
  alarm_description   = "The duties are not called any more: look at the schedule lifebook-orchestrator-duties."
  namespace           = "AWS/Lambda"
  metric_name         = "Invocations"
  dimensions          = { FunctionName = aws_lambda_function.duties.function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 2
  comparison_operator = "LessThanThreshold"
  threshold           = 1
  treat_missing_data  = "breaching"
  alarm_actions       = [aws_sns_topic.alerts.arn]
  ok_actions          = [aws_sns_topic.alerts.arn]
}
