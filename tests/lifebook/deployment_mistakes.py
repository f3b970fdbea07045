"""Mistakes to plant into deploy/aws: file, what is right, what is wrong. The check named above must fail."""

from __future__ import annotations

from tests.lifebook import deployment_access as access
from tests.lifebook import deployment_checks as parts
from tests.lifebook.deployment_checks import Check

MISTAKES: dict[Check, list[tuple[str, str, str]]] = {
    parts.attempts_decide_and_not_receives: [
        ("queues.tf", "maxReceiveCount     = 8", "maxReceiveCount     = 5"),
        ("queues.tf", "aws_sqs_queue.dead.arn\n    max", "aws_sqs_queue.work.arn\n    max"),
    ],
    parts.messages_outlast_an_invocation: [
        ("queues.tf", "= 6 *", "= 5 *"),
    ],
    parts.dead_letters_are_kept: [
        ("queues.tf", "1209600 # 14 days, the", "345600 # 14 days, the"),
        ("queues.tf", '"byQueue"', '"allowAll"'),
    ],
    parts.queues_and_topic_are_closed: [
        ("queues.tf", "sqs_managed_sse_enabled    = true", "sqs_managed_sse_enabled    = false"),
        ("queues.tf", 'values   = ["false"]', 'values   = ["true"]'),
    ],
    parts.table_is_the_one_the_store_expects: [
        ("table.tf", '"created_at"\n    projection', '"updated_at"\n    projection'),
        ("table.tf", '"KEYS_ONLY"', '"ALL"'),
        ("table.tf", '"due_at"\n    type = "N"', '"due_at"\n    type = "S"'),
    ],
    parts.table_has_the_contracts_names: [
        ("table.tf", ', "trigger_type"', ""),
    ],
    parts.table_is_kept_safe: [
        ("table.tf", '"ttl_at"', '"expires_at"'),
        ("variables.tf", "default     = true", "default     = false"),
    ],
    parts.failures_are_reported_one_by_one: [
        ("functions.tf", '["ReportBatchItemFailures"]', "[]"),
        ("functions.tf", "batch_size              = 1", "batch_size              = 10"),
    ],
    parts.functions_are_ours: [
        ("functions.tf", '"lucius.lifebook.handler"', '"lucius.lifebook.handlers"'),
    ],
    parts.duties_come_every_minute: [
        ("functions.tf", '"rate(1 minute)"', '"rate(1 hour)"'),
    ],
    parts.settings_lead_to_what_is_made: [
        ("functions.tf", "LUCIUS_LIFEBOOK_TABLE ", "LUCIUS_LIFEBOOK_TABEL "),
        ("functions.tf", "= aws_sqs_queue.dead.name", "= aws_sqs_queue.work.name"),
    ],
    access.a_dead_letter_raises_the_alarm: [
        ("alarms.tf", "FILL(visible, 0) + FILL(hidden, 0)", "FILL(visible, 0)"),
        ("alarms.tf", "threshold           = 0", "threshold           = 1"),
    ],
    access.every_alarm_reaches_people: [
        ("alarms.tf", "alarm_actions       = [aws_sns_topic.alerts.arn]", "alarm_actions       = []"),
        ("alarms.tf", "cloudwatch.amazonaws.com", "*"),
    ],
    access.waiting_is_not_alarming: [
        ("variables.tf", "default     = 7200", "default     = 3600"),
    ],
    access.nothing_is_granted_by_wildcard: [
        ("iam.tf", "resources = [aws_dynamodb_table.jobs.arn]", 'resources = ["*"]'),
        ("iam.tf", '"dynamodb:GetItem", ', '"dynamodb:*", '),
    ],
    access.grants_are_exact: [
        ("iam.tf", "resources = [aws_sqs_queue.dead.arn]", "resources = [aws_sqs_queue.work.arn]"),
    ],
    access.every_call_is_granted: [
        ("iam.tf", '"dynamodb:DeleteItem", ', ""),
    ],
    access.everything_is_described: [
        ("versions.tf", '">= 5.82.0, < 7.0.0"', '">= 5.82.0"'),
    ],
}
