"""What table, queues and functions of deploy/aws must hold.

Each check stands by itself, so that a test can plant a mistake and see it caught.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

from lucius.lifebook.adapters.aws import names
from lucius.lifebook.adapters.aws.tables import table_definition
from lucius.lifebook.core.run import MOST_ATTEMPTS
from lucius.lifebook.ports.queue import MAX_HIDDEN_SECONDS, MAX_RECEIVES
from lucius.runtime.lifebook_settings import LifebookSettings
from tests.lifebook.deployment import Deployment, listed

Check = Callable[[Deployment], None]
ALERTS = "aws_sns_topic.alerts"
WORKER = "aws_lambda_function.worker"
HANDLERS = {"worker": "handler", "duties": "duties_handler", "drops": "drop_handler"}
TABLE, WORK, DEAD = "aws_dynamodb_table.jobs", "aws_sqs_queue.work", "aws_sqs_queue.dead"


def table_is_the_one_the_store_expects(deployed: Deployment) -> None:
    """The table is what the adapter makes for itself on a local stack, name by name."""
    table = deployed[TABLE]
    indexes = []
    for index in listed(table["global_secondary_index"]):
        projection: dict[str, Any] = {"ProjectionType": index["projection_type"]}
        if "non_key_attributes" in index:
            projection["NonKeyAttributes"] = index["non_key_attributes"]
        schema = [{"AttributeName": index["hash_key"], "KeyType": "HASH"}]
        schema.append({"AttributeName": index["range_key"], "KeyType": "RANGE"})
        indexes.append({"IndexName": index["name"], "KeySchema": schema, "Projection": projection})
    assert table_definition() == {
        "TableName": table["name"],
        "BillingMode": table["billing_mode"],
        "KeySchema": [{"AttributeName": table["hash_key"], "KeyType": "HASH"}],
        "AttributeDefinitions": [
            {"AttributeName": attribute["name"], "AttributeType": attribute["type"]}
            for attribute in table["attribute"]
        ],
        "GlobalSecondaryIndexes": indexes,
        "StreamSpecification": {
            "StreamEnabled": table["stream_enabled"],
            "StreamViewType": table["stream_view_type"],
        },
    }


def table_has_the_contracts_names(deployed: Deployment) -> None:
    """The contract's own words, written out once more, and in its region."""
    table = deployed[TABLE]
    assert (table["name"], table["hash_key"]) == ("lifebook-orchestrator-jobs", "job_id")
    index = table["global_secondary_index"][0]
    assert index["name"] == "workspace_created_at"
    assert (index["hash_key"], index["range_key"]) == ("workspace_id", "created_at")
    assert set(index["non_key_attributes"]) == {"status", "workflow_id", "trigger_type", "credits_estimate"}
    assert deployed["variable.region"]["default"] == names.REGION == "us-east-1"


def table_is_kept_safe(deployed: Deployment) -> None:
    """Records leave by `ttl_at` alone; they are encrypted, backed up, and not deleted by mistake."""
    table = deployed[TABLE]
    assert table["ttl"]["attribute_name"] == names.TTL
    assert table["ttl"]["enabled"] is True
    assert table["point_in_time_recovery"]["enabled"] is True
    assert table["server_side_encryption"]["enabled"] is True
    assert table["deletion_protection_enabled"] is True


def attempts_decide_and_not_receives(deployed: Deployment) -> None:
    """The queue gives up later than the record does, and gives its message to the dead letters."""
    work = deployed[WORK]
    redrive = json.loads(work["redrive_policy"])
    assert work["name"] == names.QUEUE == "lifebook-orchestrator-queue"
    assert redrive["maxReceiveCount"] == MAX_RECEIVES == 8
    assert redrive["maxReceiveCount"] > MOST_ATTEMPTS == 5
    assert deployed.meant(redrive["deadLetterTargetArn"]) == DEAD


def dead_letters_are_kept(deployed: Deployment) -> None:
    """Dead letters stay as long as SQS keeps anything, and come from our queue only."""
    dead = deployed[DEAD]
    assert dead["name"] == names.DEAD_LETTERS == "lifebook-orchestrator-dlq"
    assert dead["message_retention_seconds"] == deployed[WORK]["message_retention_seconds"] == 14 * 86_400
    assert "redrive_policy" not in dead
    allowed = deployed["aws_sqs_queue_redrive_allow_policy.dead"]
    assert deployed.meant(allowed["queue_url"]) == DEAD
    policy = json.loads(allowed["redrive_allow_policy"])
    assert policy["redrivePermission"] == "byQueue"
    assert [deployed.meant(arn) for arn in policy["sourceQueueArns"]] == [WORK]


def messages_outlast_an_invocation(deployed: Deployment) -> None:
    """A message is hidden for six of the worker's time limits, and for no longer than SQS can."""
    seconds = deployed[WORK]["visibility_timeout_seconds"]
    assert 6 * deployed[WORKER]["timeout"] <= seconds <= MAX_HIDDEN_SECONDS


def queues_and_topic_are_closed(deployed: Deployment) -> None:
    """Queues are encrypted, and nobody reaches queues or alerts without TLS."""
    for label in ("work", "dead"):
        queue = deployed[f"aws_sqs_queue.{label}"]
        assert queue["sqs_managed_sse_enabled"] is True
        policy = deployed[f"aws_sqs_queue_policy.{label}"]
        assert deployed.meant(policy["queue_url"]) == f"aws_sqs_queue.{label}"
        assert deployed.meant(policy["policy"]).startswith(f"data.aws_iam_policy_document.{label}_queue")
    guarded = {"work_queue": WORK, "dead_queue": DEAD, "alerts": ALERTS}
    for label, resource in guarded.items():
        denied = [grant for grant in deployed.grants(label) if grant.effect == "Deny"]
        assert len(denied) == 1
        assert denied[0].resources == (resource,)
        assert denied[0].principals == ("*",)
        assert denied[0].conditions == (("Bool", "aws:SecureTransport", ("false",)),)
        assert denied[0].actions[0] in {"sqs:*", "sns:Publish"}


def functions_are_ours(deployed: Deployment) -> None:
    """Each function has a handler that exists, its own role and log group, and a runtime we build for."""
    assert deployed[WORKER]["function_name"] == "lifebook-orchestrator-worker"
    for label, handler in HANDLERS.items():
        function = deployed[f"aws_lambda_function.{label}"]
        module, _, name = function["handler"].rpartition(".")
        assert (module, name) == ("lucius.lifebook", handler)
        assert callable(getattr(importlib.import_module(module), name, None))
        assert function["function_name"] == f"lifebook-orchestrator-{label}"
        assert function["runtime"] == "python3.12"
        assert function["architectures"] == ["arm64"]
        assert function["filename"].endswith("dist/lucius-lambda.zip")
        assert deployed.meant(function["role"]) == f"aws_iam_role.{label}"
        assert "dead_letter_config" not in function
        log = deployed[f"aws_cloudwatch_log_group.{label}"]
        assert function["logging_config"]["log_group"] == log["name"]
        assert log["retention_in_days"] == 30


def failures_are_reported_one_by_one(deployed: Deployment) -> None:
    """The queue wakes the worker with one message at a time, and keeps the message of a run that failed."""
    mapping = deployed["aws_lambda_event_source_mapping.work"]
    assert deployed.meant(mapping["event_source_arn"]) == WORK
    assert deployed.meant(mapping["function_name"]) == WORKER
    assert mapping["function_response_types"] == ["ReportBatchItemFailures"]
    assert mapping["batch_size"] == 1
    assert mapping["scaling_config"]["maximum_concurrency"] >= 2
    assert deployed[WORKER]["reserved_concurrent_executions"] == -1


def duties_come_every_minute(deployed: Deployment) -> None:
    """Somebody looks after lost messages, dead letters, events and schedules, and is done before the next."""
    schedule = deployed["aws_scheduler_schedule.duties"]
    assert schedule["schedule_expression"] == "rate(1 minute)"
    assert schedule["flexible_time_window"]["mode"] == "OFF"
    assert deployed.meant(schedule["target"]["arn"]) == "aws_lambda_function.duties"
    assert deployed.meant(schedule["target"]["role_arn"]) == "aws_iam_role.scheduler"
    assert deployed["aws_lambda_function.duties"]["timeout"] < 60


def settings_lead_to_what_is_made(deployed: Deployment) -> None:
    """The functions' environment consists of settings that exist, and names what is made here."""
    for label in HANDLERS:
        given = deployed[f"aws_lambda_function.{label}"]["environment"]["variables"]
        fields = {name.removeprefix("LUCIUS_").lower(): value for name, value in given.items()}
        assert fields.keys() <= LifebookSettings.model_fields.keys()
        settings = LifebookSettings.model_validate(fields)
        assert settings.lifebook_backend == "aws"
        assert settings.lifebook_region == names.REGION
        assert settings.lifebook_table == deployed[TABLE]["name"]
        assert settings.lifebook_queue == deployed[WORK]["name"]
        assert settings.lifebook_dlq == deployed[DEAD]["name"]
        assert settings.lifebook_event_bus == deployed["aws_cloudwatch_event_bus.analytics"]["name"]


CHECKS: tuple[Check, ...] = (
    table_is_the_one_the_store_expects,
    table_has_the_contracts_names,
    table_is_kept_safe,
    attempts_decide_and_not_receives,
    dead_letters_are_kept,
    messages_outlast_an_invocation,
    queues_and_topic_are_closed,
    functions_are_ours,
    failures_are_reported_one_by_one,
    duties_come_every_minute,
    settings_lead_to_what_is_made,
)
