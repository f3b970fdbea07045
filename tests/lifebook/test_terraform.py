"""The infrastructure of lifebook runs, under deploy/aws."""

from __future__ import annotations

import pytest

from tests.lifebook import deployment_access as access
from tests.lifebook import deployment_checks as parts
from tests.lifebook.deployment import WITH_DROPS, Deployment, ParseError, formatted, sources
from tests.lifebook.deployment_mistakes import MISTAKES

CHECKS = (*parts.CHECKS, *access.CHECKS)
PLANTED = [
    pytest.param(check, *mistake, id=f"{check.__name__}-{number}")
    for check, mistakes in MISTAKES.items()
    for number, mistake in enumerate(mistakes)
]


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """Everything there is, file drops too."""
    return Deployment(sources(), tmp_path_factory.mktemp("aws"), variables=WITH_DROPS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_deployment_holds(check: parts.Check, deployed: Deployment) -> None:
    """Names, numbers, wiring and permissions are what the contract and the code need."""
    check(deployed)


@pytest.mark.parametrize(("check", "file", "right", "wrong"), PLANTED)
def test_a_planted_mistake_is_caught(check, file, right, wrong, tmp_path) -> None:
    """Each check fails on a deployment with the mistake it is there for."""
    texts = sources()
    assert right in texts[file]
    texts[file] = texts[file].replace(right, wrong, 1)
    mistaken = Deployment(texts, tmp_path, variables=WITH_DROPS)
    with pytest.raises(AssertionError):
        check(mistaken)


def test_every_check_has_a_mistake_it_catches() -> None:
    """No check is there that nobody has seen fail."""
    assert MISTAKES.keys() == set(CHECKS)


def test_files_start_no_runs_unless_asked(tmp_path) -> None:
    """Without a bucket nothing listens to one, and nobody is written to."""
    plain = Deployment(sources(), tmp_path)
    assert "aws_lambda_function.worker" in plain
    for kind in ("aws_s3_bucket_notification", "aws_lambda_permission", "aws_sns_topic_subscription"):
        assert not plain.all(kind)
    assert plain.all("aws_lambda_function").keys() == {"worker", "duties"}


def test_dropped_files_that_start_no_run_are_told(deployed: Deployment) -> None:
    """S3 may call one function, for one bucket of one account; what fails three times reaches people."""
    permission = deployed["aws_lambda_permission.drops"]
    assert (permission["principal"], permission["action"]) == ("s3.amazonaws.com", "lambda:InvokeFunction")
    assert permission["source_arn"] == "arn:aws:s3:::example-drops"
    assert "source_account" in permission
    told = deployed["aws_s3_bucket_notification.drops"]["lambda_function"]
    assert deployed.meant(told["lambda_function_arn"]) == "aws_lambda_function.drops"
    assert told["events"] == ["s3:ObjectCreated:*"]
    tries = deployed["aws_lambda_function_event_invoke_config.drops"]
    assert tries["maximum_retry_attempts"] == 2
    assert deployed.meant(tries["destination_config"]["on_failure"]["destination"]) == parts.ALERTS


def test_files_are_formatted() -> None:
    """Every file is as `terraform fmt` writes it, and one that is not would be noticed."""
    texts = sources()
    crooked = texts["table.tf"].replace('  name         = "', '    name = "')
    done = formatted(texts | {"crooked.tf": crooked})
    assert done.pop("crooked.tf") == texts["table.tf"] != crooked
    assert done == texts


def test_a_broken_file_is_no_deployment(tmp_path) -> None:
    """A file that is not Terraform fails every test here, instead of counting for nothing."""
    with pytest.raises(ParseError):
        Deployment({"table.tf": sources()["table.tf"].replace("}", "", 1)}, tmp_path)
