"""Who is told and who may do what in deploy/aws, each check by itself."""

from __future__ import annotations

import re
from pathlib import Path

from lucius.lifebook.adapters import aws as adapters
from lucius.lifebook.adapters.aws import names
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.run import MOST_ATTEMPTS
from tests.lifebook.deployment import Deployment
from tests.lifebook.deployment_checks import ALERTS, DEAD, HANDLERS, TABLE, WORK, WORKER, Check

_RECORDS = {(f"dynamodb:{verb}Item", TABLE) for verb in ("Get", "Put", "Update")}
_SWEEP = ("dynamodb:Query", f"{TABLE}/index/{names.SWEEP_INDEX}")
_WAKE = {("sqs:GetQueueUrl", WORK), ("sqs:SendMessage", WORK)}
_LETTERS = {
    (f"sqs:{verb}", DEAD)
    for verb in ("ChangeMessageVisibility", "DeleteMessage", "GetQueueUrl", "ReceiveMessage")
}
_DEPTHS = {("sqs:GetQueueAttributes", WORK), ("sqs:GetQueueAttributes", DEAD)}
_TELL = ("events:PutEvents", "aws_cloudwatch_event_bus.analytics")
GRANTS: dict[str, set[tuple[str, str]]] = {
    "worker": _RECORDS | {(action, WORK) for action, _ in _LETTERS | _DEPTHS} | _WAKE,
    "duties": _RECORDS | {("dynamodb:BatchGetItem", TABLE), _SWEEP, _TELL} | _WAKE | _LETTERS,
    "drops": _RECORDS | _WAKE | {("sns:Publish", ALERTS)},
    "api": _RECORDS
    | {("dynamodb:BatchGetItem", TABLE), ("dynamodb:DeleteItem", TABLE)}
    | {("dynamodb:Query", f"{TABLE}/index/{names.WORKSPACE_INDEX}"), _SWEEP}
    | _WAKE
    | _LETTERS
    | _DEPTHS,
    "scheduler": {("lambda:InvokeFunction", "aws_lambda_function.duties")},
}
"""Who may do what, logs aside."""


def a_dead_letter_raises_the_alarm(deployed: Deployment) -> None:
    """One dead letter is enough, also while somebody looks at it."""
    alarm = deployed["aws_cloudwatch_metric_alarm.dlq_depth"]
    assert alarm["alarm_name"] == "lifebook-orchestrator-dlq-depth"
    assert (alarm["comparison_operator"], alarm["threshold"]) == ("GreaterThanThreshold", 0)
    assert alarm["evaluation_periods"] == 1
    math, *measured = alarm["metric_query"]
    assert math["return_data"] is True
    assert math["expression"] == "FILL(visible, 0) + FILL(hidden, 0)"
    named = re.findall(r'metric_query \{\n +id += "(\w+)"', deployed.sources["alarms.tf"])
    assert dict(zip(named[1:], (query["metric"]["metric_name"] for query in measured), strict=True)) == {
        "visible": "ApproximateNumberOfMessagesVisible",
        "hidden": "ApproximateNumberOfMessagesNotVisible",
    }
    for query in measured:
        assert query["metric"]["namespace"] == "AWS/SQS"
        assert query["metric"]["dimensions"] == {"QueueName": deployed[DEAD]["name"]}
        assert (query["metric"]["stat"], query["metric"]["period"]) == ("Maximum", 60)


def every_alarm_reaches_people(deployed: Deployment) -> None:
    """All alarms go to lifebook-alerts, which takes them, and speak of what is there."""
    assert deployed[ALERTS]["name"] == "lifebook-alerts"
    known = {block["name"] for block in (deployed[WORK], deployed[DEAD])}
    known |= {block["function_name"] for block in deployed.all("aws_lambda_function").values()}
    alarms = deployed.all("aws_cloudwatch_metric_alarm")
    assert alarms.keys() >= {
        "dlq_depth",
        "oldest_message",
        "worker_errors",
        "worker_throttles",
        "duties_silent",
    }
    for alarm in alarms.values():
        assert [deployed.meant(arn) for arn in alarm["alarm_actions"]] == [ALERTS]
        assert set(alarm.get("dimensions", {}).values()) <= known
    allowed = [grant for grant in deployed.grants("alerts") if grant.effect == "Allow"]
    assert [grant.principals for grant in allowed] == [("cloudwatch.amazonaws.com",)]
    assert allowed[0].actions == ("sns:Publish",)
    assert deployed.meant(deployed["aws_sns_topic_policy.alerts"]["arn"]) == ALERTS


def waiting_is_not_alarming(deployed: Deployment) -> None:
    """A run that fails as often as it may does not look like one that nobody takes."""
    policy = Policy()
    waits = [policy.wait(failures, spread=1.0) for failures in range(1, MOST_ATTEMPTS)]
    alarm = deployed["aws_cloudwatch_metric_alarm.oldest_message"]
    assert alarm["metric_name"] == "ApproximateAgeOfOldestMessage"
    assert alarm["threshold"] > sum(waits) / 1000 + MOST_ATTEMPTS * deployed[WORKER]["timeout"]
    assert deployed["aws_cloudwatch_metric_alarm.duties_silent"]["treat_missing_data"] == "breaching"


def grants_are_exact(deployed: Deployment) -> None:
    """Each role may do what its program does, on what it does it to, and nothing else."""
    for label, expected in GRANTS.items():
        logs = f"aws_cloudwatch_log_group.{label}:*"
        granted = {
            (action, resource)
            for grant in deployed.grants(label)
            for action in grant.actions
            for resource in grant.resources
        }
        if label in HANDLERS:
            expected = expected | {("logs:CreateLogStream", logs), ("logs:PutLogEvents", logs)}  # noqa: PLW2901
        assert granted == expected, label
        kind = "aws_iam_policy" if label == "api" else "aws_iam_role_policy"
        attached = deployed.meant(deployed[f"{kind}.{label}"]["policy"])
        assert attached.startswith(f"data.aws_iam_policy_document.{label}")


def nothing_is_granted_by_wildcard(deployed: Deployment) -> None:
    """No policy allows an action or a resource by `*`; below a log group there are only its streams."""
    documents = deployed.all("aws_iam_policy_document")
    assert documents.keys() >= GRANTS.keys()
    for label in documents:
        for grant in deployed.grants(label):
            if grant.effect == "Deny":
                continue
            streams = all(action.startswith("logs:") for action in grant.actions)
            for text in (*grant.actions, *grant.resources, *grant.principals):
                rest = text.removesuffix(":*") if streams and "log_group" in text else text
                assert "*" not in rest, label
    for address in ("aws_iam_role_policy_attachment", "aws_iam_policy_attachment"):
        assert not deployed.all(address)


def every_call_is_granted(deployed: Deployment) -> None:
    """Whatever the adapters ask of AWS somebody may do, and nobody more; only tables.py makes things."""
    home = Path(next(iter(adapters.__path__)))
    code = "".join(path.read_text() for path in home.glob("*.py") if path.name != "tables.py")
    called = set(re.findall(r"_client\.([a-z_]+)\(", code))
    assert called >= {"get_item", "transact_write_items", "send_message"}
    called = (called - {"transact_write_items"}) | {"put_item", "update_item", "delete_item"}
    granted = {
        action.partition(":")[2]
        for label in GRANTS
        for grant in deployed.grants(label)
        for action in grant.actions
        if action.startswith(("dynamodb:", "events:", "sqs:"))
    }
    assert {"".join(map(str.capitalize, name.split("_"))) for name in called} == granted


def everything_is_described(deployed: Deployment) -> None:
    """Variables have a type, a default and a description, outputs a description; versions are bounded."""
    for name, variable in deployed.all("variable").items():
        assert variable["description"].endswith((".", ";")), name
        assert {"type", "default"} <= variable.keys(), name
    for name, output in deployed.all("output").items():
        assert output["description"].endswith("."), name
    terraform = deployed.parsed["terraform"][0]
    assert terraform["required_version"] == ">= 1.9.0, < 2.0.0"
    assert terraform["required_providers"]["aws"]["version"] == ">= 5.82.0, < 7.0.0"


CHECKS: tuple[Check, ...] = (
    a_dead_letter_raises_the_alarm,
    every_alarm_reaches_people,
    waiting_is_not_alarming,
    grants_are_exact,
    nothing_is_granted_by_wildcard,
    every_call_is_granted,
    everything_is_described,
)
