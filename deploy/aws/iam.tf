# Exact actions on exact resources, for each function what it does and nothing else.

data "aws_iam_policy_document" "assumed_by_lambda" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["lambda.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "assumed_by_scheduler" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["scheduler.amazonaws.com"]
    }

    # Nobody else's schedule may use this role.
    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [data.aws_caller_identity.current.account_id]
    }
  }
}

resource "aws_iam_role" "worker" {
  name               = "lifebook-orchestrator-worker"
  assume_role_policy = data.aws_iam_policy_document.assumed_by_lambda.json
}

resource "aws_iam_role" "duties" {
  name               = "lifebook-orchestrator-duties"
  assume_role_policy = data.aws_iam_policy_document.assumed_by_lambda.json
}

resource "aws_iam_role" "scheduler" {
  name               = "lifebook-orchestrator-scheduler"
  assume_role_policy = data.aws_iam_policy_document.assumed_by_scheduler.json
}

resource "aws_iam_role_policy" "worker" {
  name   = "lifebook-orchestrator-worker"
  role   = aws_iam_role.worker.id
  policy = data.aws_iam_policy_document.worker.json
}

resource "aws_iam_role_policy" "duties" {
  name   = "lifebook-orchestrator-duties"
  role   = aws_iam_role.duties.id
  policy = data.aws_iam_policy_document.duties.json
}

resource "aws_iam_role_policy" "scheduler" {
  name   = "lifebook-orchestrator-scheduler"
  role   = aws_iam_role.scheduler.id
  policy = data.aws_iam_policy_document.scheduler.json
}

data "aws_iam_policy_document" "worker" {
  # A transaction needs the permission of each of its parts, and ours are puts and updates.
  statement {
    sid       = "Records"
    actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
    resources = [aws_dynamodb_table.jobs.arn]
  }

  # The event source mapping receives and deletes with the function's role; the function itself extends a
  # message's time with each heartbeat, and sends the next message of a run that it hands on.
  statement {
    sid       = "Messages"
    actions   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:SendMessage"]
    resources = [aws_sqs_queue.work.arn]
  }

  # Everything below the log group means its streams, whose names Lambda chooses.
  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.worker.arn}:*"]
  }
}

data "aws_iam_policy_document" "duties" {
  statement {
    sid       = "Records"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
    resources = [aws_dynamodb_table.jobs.arn]
  }

  statement {
    sid       = "Due"
    actions   = ["dynamodb:Query"]
    resources = ["${aws_dynamodb_table.jobs.arn}/index/sweep_due_at"]
  }

  statement {
    sid       = "Wake"
    actions   = ["sqs:GetQueueUrl", "sqs:SendMessage"]
    resources = [aws_sqs_queue.work.arn]
  }

  statement {
    sid       = "DeadLetters"
    actions   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
    resources = [aws_sqs_queue.dead.arn]
  }

  statement {
    sid       = "Tell"
    actions   = ["events:PutEvents"]
    resources = [aws_cloudwatch_event_bus.analytics.arn]
  }

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.duties.arn}:*"]
  }
}

data "aws_iam_policy_document" "scheduler" {
  statement {
    sid       = "Invoke"
    actions   = ["lambda:InvokeFunction"]
    resources = [aws_lambda_function.duties.arn]
  }
}

# For whoever serves the API beside this (`lucius up` with LUCIUS_LIFEBOOK_BACKEND=aws and
# LUCIUS_LIFEBOOK_CONCURRENCY=0): attached to nobody here, an output names it.
resource "aws_iam_policy" "api" {
  name        = "lifebook-orchestrator-api"
  description = "Create, show, cancel and retry lifebook runs; look at and redrive dead letters; keep triggers."
  policy      = data.aws_iam_policy_document.api.json
}

data "aws_iam_policy_document" "api" {
  statement {
    sid       = "Records"
    actions   = ["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
    resources = [aws_dynamodb_table.jobs.arn]
  }

  statement {
    sid       = "Lists" # of a workspace; and what is overdue, for /metrics
    actions   = ["dynamodb:Query"]
    resources = ["${aws_dynamodb_table.jobs.arn}/index/workspace_created_at", "${aws_dynamodb_table.jobs.arn}/index/sweep_due_at"]
  }

  statement {
    sid       = "Wake"
    actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
    resources = [aws_sqs_queue.work.arn]
  }

  statement {
    sid       = "DeadLetters"
    actions   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
    resources = [aws_sqs_queue.dead.arn]
  }
}
