from __future__ import annotations

import errno
from typing import Any

import pytest

from lucius.sdk.serving.outcomes import Retryable, StepFailure
from lucius.sdk.workspaces import Patience, Stores, clouds, faults
from lucius.sdk.workspaces.places import place_of

KEY = {"AZURE_STORAGE_ACCOUNT_NAME": "ours", "AZURE_STORAGE_ACCOUNT_KEY": "b3Vycw=="}


def opened(uri: str, **variables: str) -> Any:
    """The store of a URI."""
    return Stores(variables).store(place_of(uri))


@pytest.mark.parametrize(
    ("uri", "variables"),
    [
        ("s3://bucket/x", {"AWS_ENDPOINT_URL": "http://minio.example:9000"}),
        ("az://container/x", KEY | {"AZURE_STORAGE_ENDPOINT": "http://azurite.example:10000/ours"}),
    ],
)
def test_plain_http_to_another_machine_must_be_meant(uri: str, variables: dict[str, str]) -> None:
    """An endpoint without encryption is refused with the name of the switch, and taken with the switch on."""
    with pytest.raises(Retryable, match="_ALLOW_HTTP=true") as caught:
        opened(uri, **variables)
    assert caught.value.code == "STORE_MISCONFIGURED"
    switch = "AWS_ALLOW_HTTP" if uri.startswith("s3") else "AZURE_ALLOW_HTTP"
    assert opened(uri, **variables, **{switch: "true"}).client_options["allow_http"] == "true"


def test_https_stays_https() -> None:
    """Without a plain endpoint a store is never talked to in the clear."""
    assert opened("s3://bucket/x", AWS_REGION="eu-central-1").client_options["allow_http"] == "false"


def test_an_account_that_is_not_configured_is_told() -> None:
    """A service without an Azure account says so; the operator can mend it while the job waits."""
    with pytest.raises(Retryable, match="Account must be specified") as caught:
        opened("az://container/x")
    assert caught.value.code == "STORE_MISCONFIGURED"


def test_credentials_go_to_azure_only() -> None:
    """A reference cannot make a service show its credentials to a host of somebody else's."""
    with pytest.raises(Retryable, match="none of Azure's"):
        opened("abfss://container@ours.dfs.core.windows.net.example.com/x", **KEY)


def test_a_key_opens_its_own_account_only() -> None:
    """For another account than the configured one, neither its key nor its endpoint is used."""
    store = clouds.azure("container@theirs.dfs.core.windows.net", KEY, Patience())
    assert store.config["account_name"] == "theirs"
    assert store.config["endpoint"] == "https://theirs.blob.core.windows.net"
    assert "account_key" not in store.config


def test_a_store_is_opened_once() -> None:
    """Every file of a bucket goes through the same store and its connections."""
    stores = Stores({"AWS_REGION": "eu-central-1"})
    assert stores.store(place_of("s3://bucket/a")) is stores.store(place_of("s3://bucket/b"))
    assert stores.store(place_of("s3://bucket/a")) is not stores.store(place_of("s3://other/a"))


def test_google_takes_its_own_variables() -> None:
    """A bucket of Google Cloud Storage opens without signing where that is wanted."""
    assert opened("gs://bucket/x", GOOGLE_SKIP_SIGNATURE="true").config["bucket"] == "bucket"


@pytest.mark.parametrize(
    ("error", "reading", "writing"),
    [
        (FileNotFoundError(), "INPUT_NOT_FOUND", "WORKSPACE_NOT_FOUND"),
        (PermissionError(errno.EACCES, "no"), "INPUT_FORBIDDEN", "WORKSPACE_FORBIDDEN"),
        (OSError(errno.ENOSPC, "full"), "STORE_UNAVAILABLE", "STORE_UNAVAILABLE"),
        (TimeoutError(), "STORE_UNAVAILABLE", "STORE_UNAVAILABLE"),
    ],
)
def test_errors_are_told_by_code(error: OSError, reading: str, writing: str) -> None:
    """Absent and forbidden documents are final; whatever may pass, or may be mended, is retryable."""
    place = place_of("s3://bucket/a.pdf")
    told: list[StepFailure] = [faults.of_reading(error, place), faults.of_writing(error, place)]
    assert [each.code for each in told] == [reading, writing]
    assert [each.retryable for each in told] == [reading == "STORE_UNAVAILABLE", True]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Server returned non-2xx status code: 503 Service Unavailable: <sig=secret>", "answered 503"),
        ("error sending request\n source: TimedOut sig=secret", "took too long"),
        ("HTTP error: error sending request sig=secret", "did not answer"),
        ("sig=secret", "the store failed"),
    ],
)
def test_a_reason_repeats_nothing_of_the_store(text: str, told: str) -> None:
    """People learn what kind of trouble it was; what the store said stays out of messages."""
    failure = faults.of_reading(OSError(text), place_of("s3://bucket/a.pdf"))
    assert told in failure.message
    assert "secret" not in failure.message
