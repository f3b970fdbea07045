# The record decides, the queue only wakes.
resource "aws_sqs_queue" "work" {
  name = "lifebook-orchestrator-queue"

  # AWS's advice for queues in front of a function is six times its timeout: while the function is throttled,
  # the same receipt is tried again. It does not decide how soon a lost worker is noticed: the worker's first
  # heartbeat sets the message's own timeout to its lease, and the sweeper looks after those that had none.
  visibility_timeout_seconds = 6 * var.worker_timeout_seconds

  message_retention_seconds = 1209600 # 14 days
  receive_wait_time_seconds = 20
  sqs_managed_sse_enabled   = true

  # The contract's 5 equals max_attempts, and a receive is not an attempt: duplicates, waiting for a backoff and
  # continuations are received too. With 8 the record marks a run dead before the queue gives up on its message.
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead.arn
    maxReceiveCount     = 8
  })
}

# Stays until somebody redrives or discards it; `lucius lifebook dead-letters` shows it.
resource "aws_sqs_queue" "dead" {
  name                       = "lifebook-orchestrator-dlq"
  visibility_timeout_seconds = 30
  message_retention_seconds  = 1209600 # 14 days, the longest there is: the clock starts with the first send
  receive_wait_time_seconds  = 0
  sqs_managed_sse_enabled    = true
}

resource "aws_sqs_queue_redrive_allow_policy" "dead" {
  queue_url = aws_sqs_queue.dead.id

  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.work.arn]
  })
}

resource "aws_sqs_queue_policy" "work" {
  queue_url = aws_sqs_queue.work.id
  policy    = data.aws_iam_policy_document.work_queue.json
}

resource "aws_sqs_queue_policy" "dead" {
  queue_url = aws_sqs_queue.dead.id
  policy    = data.aws_iam_policy_document.dead_queue.json
}

data "aws_iam_policy_document" "work_queue" {
  statement {
    sid       = "TlsOnly"
    effect    = "Deny"
    actions   = ["sqs:*"]
    resources = [aws_sqs_queue.work.arn]

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

data "aws_iam_policy_document" "dead_queue" {
  statement {
    sid       = "TlsOnly"
    effect    = "Deny"
    actions   = ["sqs:*"]
    resources = [aws_sqs_queue.dead.arn]

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
