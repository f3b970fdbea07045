terraform {
  required_version = ">= 1.9.0, < 2.0.0" # from 1.9 on a variable's validation may look at another variable

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.82.0, < 7.0.0"
    }
  }
}

provider "aws" {
  region              = var.region
  allowed_account_ids = var.allowed_account_ids

  default_tags {
    tags = merge({ application = "lucius", component = "lifebook" }, var.tags)
  }
}

data "aws_caller_identity" "current" {}
