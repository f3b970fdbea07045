# New files of a bucket start runs: WORKSPACE/WORKFLOW/NAME. Off until var.file_drop_bucket names one.
data "aws_s3_bucket" "drops" {
  count = var.file_drop_bucket == null ? 0 : 1

  bucket = var.file_drop_bucket
}

resource "aws_s3_bucket_notification" "drops" {
  count = var.file_drop_bucket == null ? 0 : 1

  bucket = data.aws_s3_bucket.drops[0].id

  lambda_function {
    lambda_function_arn = aws_lambda_function.drops[0].arn
    events              = ["s3:ObjectCreated:*"]
  }

  depends_on = [aws_lambda_permission.drops]
}

resource "aws_lambda_permission" "drops" {
  count = var.file_drop_bucket == null ? 0 : 1

  statement_id   = "FileDrops"
  action         = "lambda:InvokeFunction"
  function_name  = aws_lambda_function.drops[0].function_name
  principal      = "s3.amazonaws.com"
  source_arn     = data.aws_s3_bucket.drops[0].arn
  source_account = data.aws_caller_identity.current.account_id # a bucket's name may become somebody else's
}

resource "aws_cloudwatch_log_group" "drops" {
  count = var.file_drop_bucket == null ? 0 : 1

  name              = "/aws/lambda/lifebook-orchestrator-drops"
  retention_in_days = var.log_retention_days
}

resource "aws_lambda_function" "drops" {
  count = var.file_drop_bucket == null ? 0 : 1

  function_name = "lifebook-orchestrator-drops"
  description   = "Starts the runs of new files."
  role          = aws_iam_role.drops[0].arn

  runtime       = "python3.12"
  handler       = "lucius.lifebook.drop_handler"
  architectures = [var.architecture]

  filename          = var.package_s3 == null ? var.package_path : null
  source_code_hash  = var.package_s3 == null ? filebase64sha256(var.package_path) : null
  s3_bucket         = try(var.package_s3.bucket, null)
  s3_key            = try(var.package_s3.key, null)
  s3_object_version = try(var.package_s3.version, null)

  timeout     = 60
  memory_size = 512

  environment {
    variables = local.settings
  }

  logging_config {
    log_format = "JSON"
    log_group  = aws_cloudwatch_log_group.drops[0].name
  }

  depends_on = [aws_iam_role_policy.drops]
}

# S3 tells once. What could not be started in three tries is told to people, with the event that S3 sent.
resource "aws_lambda_function_event_invoke_config" "drops" {
  count = var.file_drop_bucket == null ? 0 : 1

  function_name                = aws_lambda_function.drops[0].function_name
  maximum_retry_attempts       = 2
  maximum_event_age_in_seconds = 21600

  destination_config {
    on_failure {
      destination = aws_sns_topic.alerts.arn
    }
  }
}

resource "aws_iam_role" "drops" {
  count = var.file_drop_bucket == null ? 0 : 1

  name               = "lifebook-orchestrator-drops"
  assume_role_policy = data.aws_iam_policy_document.assumed_by_lambda.json
}

resource "aws_iam_role_policy" "drops" {
  count = var.file_drop_bucket == null ? 0 : 1

  name   = "lifebook-orchestrator-drops"
  role   = aws_iam_role.drops[0].id
  policy = data.aws_iam_policy_document.drops[0].json
}

data "aws_iam_policy_document" "drops" {
  count = var.file_drop_bucket == null ? 0 : 1

  statement {
    sid       = "Records"
    actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
    resources = [aws_dynamodb_table.jobs.arn]
  }

  statement {
    sid       = "Wake"
    actions   = ["sqs:GetQueueUrl", "sqs:SendMessage"]
    resources = [aws_sqs_queue.work.arn]
  }

  statement {
    sid       = "TellPeople"
    actions   = ["sns:Publish"]
    resources = [aws_sns_topic.alerts.arn]
  }

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.drops[0].arn}:*"]
  }
}
