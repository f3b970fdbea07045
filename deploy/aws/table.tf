# Every item of lifebook runs: runs, the keys they took, wallets, events that wait to be told, schedules, hooks.
resource "aws_dynamodb_table" "jobs" {
  name         = "lifebook-orchestrator-jobs"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "job_id"

  attribute {
    name = "job_id"
    type = "S"
  }

  attribute {
    name = "workspace_id"
    type = "S"
  }

  attribute {
    name = "created_at"
    type = "S"
  }

  attribute {
    name = "sweep"
    type = "S"
  }

  attribute {
    name = "due_at"
    type = "N"
  }

  # The runs of a workspace, newest first.
  global_secondary_index {
    name               = "workspace_created_at"
    hash_key           = "workspace_id"
    range_key          = "created_at"
    projection_type    = "INCLUDE"
    non_key_attributes = ["status", "workflow_id", "trigger_type", "credits_estimate"]
  }

  # Sparse: only what somebody still has to look after carries `sweep`, so the index stays small.
  global_secondary_index {
    name            = "sweep_due_at"
    hash_key        = "sweep"
    range_key       = "due_at"
    projection_type = "KEYS_ONLY"
  }

  ttl {
    attribute_name = "ttl_at"
    enabled        = true
  }

  stream_enabled   = true
  stream_view_type = "NEW_AND_OLD_IMAGES"

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = var.table_kms_key_arn
  }

  deletion_protection_enabled = var.deletion_protection
}
