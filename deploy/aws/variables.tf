variable "region" {
  description = "Where everything lives; the contract names us-east-1."
  type        = string
  default     = "us-east-1"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "The region must be the name of an AWS region, such as us-east-1."
  }
}

variable "allowed_account_ids" {
  description = "Accounts that this may be applied to, as a guard against the wrong credentials; null: any."
  type        = set(string)
  default     = null

  validation {
    condition     = var.allowed_account_ids == null || alltrue([for id in coalesce(var.allowed_account_ids, []) : can(regex("^[0-9]{12}$", id))])
    error_message = "An account id has twelve digits."
  }
}

variable "tags" {
  description = "Further tags for everything."
  type        = map(string)
  default     = {}
  nullable    = false
}

# What runs in the functions

variable "package_path" {
  description = "The package that `make lambda` builds, uploaded from here; ignored when package_s3 is set."
  type        = string
  default     = "../../dist/lucius-lambda.zip"
  nullable    = false

  validation {
    condition     = endswith(var.package_path, ".zip")
    error_message = "The package must be a .zip file."
  }
}

variable "package_s3" {
  description = "The same package in a bucket (AWS takes direct uploads up to 50 MB); a new version deploys it."
  type        = object({ bucket = string, key = string, version = optional(string) })
  default     = null
}

variable "architecture" {
  description = "The processor the package was built for: arm64 or x86_64."
  type        = string
  default     = "arm64"
  nullable    = false

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "The architecture must be arm64 or x86_64."
  }
}

variable "environment" {
  description = "Further settings of both functions, LUCIUS_…; LUCIUS_LIFEBOOK_WORKFLOWS names your workflows."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name in keys(var.environment) : startswith(name, "LUCIUS_") || startswith(name, "OTEL_")])
    error_message = "Settings are named LUCIUS_… or OTEL_…; the functions' own variables are not yours to set."
  }
}

variable "worker_timeout_seconds" {
  description = "How long one invocation of the worker may take; a longer run is handed on to the next one."
  type        = number
  default     = 300
  nullable    = false

  validation {
    condition     = var.worker_timeout_seconds >= 60 && var.worker_timeout_seconds <= 900 && floor(var.worker_timeout_seconds) == var.worker_timeout_seconds
    error_message = "The worker's timeout must be a whole number of seconds from 60 (one lease) to 900 (Lambda's limit)."
  }
}

variable "worker_memory_mb" {
  description = "Memory of the worker; its share of a processor grows with it."
  type        = number
  default     = 1024
  nullable    = false

  validation {
    condition     = var.worker_memory_mb >= 256 && var.worker_memory_mb <= 10240
    error_message = "The worker's memory must be between 256 and 10240 MB."
  }
}

variable "worker_concurrency" {
  description = "Runs at a time: how many invocations of the worker the queue may have open."
  type        = number
  default     = 10
  nullable    = false

  validation {
    condition     = var.worker_concurrency >= 2 && var.worker_concurrency <= 1000
    error_message = "The queue may have between 2 and 1000 invocations open."
  }
}

variable "worker_reserved_concurrency" {
  description = "Invocations that the account keeps free for the worker; null: none, it shares with the others."
  type        = number
  default     = null

  validation {
    # Fewer than the queue starts would be throttled, and every throttled message costs a receive.
    condition     = var.worker_reserved_concurrency == null || coalesce(var.worker_reserved_concurrency, 0) >= var.worker_concurrency
    error_message = "Reserve at least worker_concurrency, or nothing: throttled messages use up their receives."
  }
}

# What is kept, and for how long

variable "deletion_protection" {
  description = "Whether the table refuses to be deleted."
  type        = bool
  default     = true
  nullable    = false
}

variable "table_kms_key_arn" {
  description = "A key of your own for the table; null: the one AWS manages. Grant both functions its use."
  type        = string
  default     = null

  validation {
    condition     = var.table_kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:", var.table_kms_key_arn))
    error_message = "The table's key is given by its ARN."
  }
}

variable "log_retention_days" {
  description = "How long logs are kept."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "CloudWatch keeps logs for one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, … days."
  }
}

# Who is told

variable "alert_emails" {
  description = "Addresses that lifebook-alerts writes to; each must confirm once."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for address in var.alert_emails : can(regex("^[^@\\s]+@[^@\\s]+$", address))])
    error_message = "An alert goes to an e-mail address."
  }
}

variable "alerts_kms_key_arn" {
  description = "A key of your own for alerts at rest, which CloudWatch must be allowed to use; null: none."
  type        = string
  default     = null

  validation {
    # CloudWatch may not use the key AWS manages for SNS: with it, alarms would be lost without a word.
    condition     = var.alerts_kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:[^:]+:[0-9]{12}:key/", var.alerts_kms_key_arn))
    error_message = "The key for alerts must be the ARN of a key of your own: alarms cannot use alias/aws/sns."
  }
}

variable "oldest_message_alarm_seconds" {
  description = "How old a message may become before somebody is woken; longer than all backoffs together."
  type        = number
  default     = 7200
  nullable    = false

  validation {
    condition     = var.oldest_message_alarm_seconds >= 3600
    error_message = "A run that fails four times has waited for 51 minutes; alarm after an hour at the earliest."
  }
}

# What starts runs

variable "file_drop_bucket" {
  description = "An existing bucket whose new files, WORKSPACE/WORKFLOW/NAME, start runs; its notifications are replaced."
  type        = string
  default     = null

  validation {
    condition     = var.file_drop_bucket == null || can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.file_drop_bucket))
    error_message = "The bucket for file drops is given by its name."
  }
}
