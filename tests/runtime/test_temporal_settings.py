"""The settings of engines, invoker, storage and bus: names, defaults, refusals, and what is told."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

from lucius.adapters.schematics.files import FileSchematics
from lucius.core.protocol import StepRecipe
from lucius.errors import Invalid
from lucius.runtime import offline
from lucius.runtime.configured import step_defaults
from lucius.runtime.idle import tell_idle, without_effect
from lucius.runtime.invoker_token import invoker_token
from lucius.runtime.settings import Settings
from lucius.runtime.temporal_access import temporal_access
from lucius.testing.processes import Server

CONTRACT = [
    "SERVICEBUS_CONNECTION", "SERVICEBUS_REPLY_PREFIX", "SERVICEBUS_REPLY_SUBSCRIPTION", "SERVICEBUS_LANES",
    "LEDGER_TABLE", "IDEMPOTENCY_TABLE", "TABLE_CONNECTION", "TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE",
    "TEMPORAL_TASK_QUEUE", "INVOKER_URL", "MAX_ATTEMPTS", "STEP_RESULT_TIMEOUT_SECONDS", "STORAGE_BACKEND",
    "JOBS_TABLE", "STEPS_TABLE", "JOB_INDEX_TABLE", "MAX_INFLIGHT_PER_TENANT", "INFLIGHT_TABLE",
    "TEMPORAL_ENABLED", "TEMPORAL_WORKFLOW_EXECUTION_TIMEOUT",
]  # fmt: skip
TOKEN = "0123456789abcdef0123456789abcdef"


def made(**given: Any) -> Settings:
    """Settings as the environment would give them: texts for secrets."""
    return Settings(**given)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the surrounding shell are not what is tested."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"LUCIUS_{name.upper()}", raising=False)


@pytest.mark.parametrize("name", CONTRACT)
def test_every_name_of_the_contract_is_a_setting(name: str) -> None:
    """A deployment keeps the variables it has."""
    assert name.lower() in Settings.model_fields


@pytest.mark.parametrize(
    ("variables", "engine"),
    [
        ({}, "outbox"),
        ({"LUCIUS_ENGINE": "temporal"}, "temporal"),
        ({"LUCIUS_TEMPORAL_ENABLED": "true"}, "temporal"),
        ({"LUCIUS_TEMPORAL_ENABLED": "false"}, "outbox"),
        ({"LUCIUS_TEMPORAL_ENABLED": "1", "LUCIUS_ENGINE": "temporal"}, "temporal"),
    ],
)
def test_either_variable_chooses_the_engine(
    variables: dict[str, str], engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine is outbox unless one of the two variables says temporal."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert made().engine == engine


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"engine": "outbox", "temporal_enabled": True}, "LUCIUS_TEMPORAL_ENABLED is true; unset one"),
    ({"engine": "temporal", "temporal_enabled": False}, "LUCIUS_TEMPORAL_ENABLED is false; unset one"),
    ({"engine": "other"}, "engine"),
    ({"temporal_address": "http://temporal:7233"}, "write HOST:PORT"),
    ({"temporal_address": "temporal"}, "write HOST:PORT"),
    ({"temporal_address": "temporal:72330"}, "write HOST:PORT"),
    ({"temporal_worker_health": "9000"}, "write HOST:PORT"),
    ({"temporal_metrics_address": "localhost:9464"}, "write IP:PORT"),
    ({"temporal_worker_version": "v1.4:build"}, "write DEPLOYMENT:BUILD"),
    ({"temporal_workflow_execution_timeout": 0}, "temporal_workflow_execution_timeout"),
    ({"temporal_tls_client_cert": Path("c.pem")}, "go together"),
    ({"engine": "temporal", "temporal_api_key": "k"}, "name a server with LUCIUS_TEMPORAL_ADDRESS"),
    ({"engine": "temporal", "temporal_tls": True}, "name a server with LUCIUS_TEMPORAL_ADDRESS"),
    ({"invoker_url": "invoker:8701"}, "write http://HOST:PORT"),
    ({"invoker_url": "http://a:1,,http://b:1"}, "write http://HOST:PORT"),
    ({"public_url": "lucius:8700"}, "where services reach the API"),
    ({"invoker_token": "x" * 31}, "at least 32 characters"),
    ({"invoker_token": "with a blank" * 4}, "printable ASCII"),
    ({"storage_backend": "ledger"}, "ledger is not part of this version"),
    ({"storage_backend": "table"}, "table is not part of this version"),
    ({"storage_backend": "postgres"}, "storage_backend"),
    ({"servicebus_connection": "Endpoint=sb://x"}, "this version has no Service Bus adapter"),
    ({"servicebus_lanes": 32}, "must be 16"),
    ({"max_attempts": 0}, "max_attempts"),
    ({"max_attempts": 21}, "max_attempts"),
    ({"step_result_timeout_seconds": 0}, "step_result_timeout_seconds"),
]


@pytest.mark.parametrize(("given", "words"), REFUSED)
def test_what_cannot_work_is_refused(given: dict[str, Any], words: str) -> None:
    """A setting that could not be heeded stops the start with a sentence about it."""
    with pytest.raises(ValidationError, match=words):
        made(**given)


def test_a_refusal_keeps_secrets_to_itself() -> None:
    """Neither the error nor the sentence made of it repeats what was set."""
    with pytest.raises(ValidationError) as refused:
        made(invoker_token="hush", servicebus_connection="SharedAccessKey=hush")
    assert "hush" not in str(refused.value)
    with pytest.raises(Invalid) as told:
        offline.settings(invoker_token="hush", servicebus_connection="SharedAccessKey=hush")
    assert "hush" not in told.value.message


def test_a_refusal_is_one_sentence() -> None:
    """The command line tells a wrong setting in plain words, also one that is wrong only beside another."""
    with pytest.raises(Invalid) as one:
        offline.settings(servicebus_lanes=8)
    assert one.value.message == (
        "These settings do not work: servicebus_lanes: must be 16: "
        "lanes are part of the contract with services."
    )
    with pytest.raises(Invalid) as pair:
        offline.settings(engine="outbox", temporal_enabled=True)
    assert pair.value.message == (
        "These settings do not work: the engine shall be outbox, but LUCIUS_TEMPORAL_ENABLED is true; "
        "unset one of them."
    )


def test_an_empty_connection_counts_as_none() -> None:
    """A variable that is there but empty asks for nothing, and nothing is told of it."""
    settings = made(servicebus_connection="", servicebus_lanes=16)
    assert settings.servicebus_connection is None
    assert without_effect(settings) == {}


@pytest.mark.parametrize(
    "secure",
    [
        {"temporal_tls": True},
        {"temporal_api_key": "k"},
        {"temporal_tls_server_ca": Path("ca.pem")},
        {"temporal_tls_client_cert": Path("c.pem"), "temporal_tls_client_key": Path("k.pem")},
    ],
)
def test_credentials_imply_tls(secure: dict[str, Any]) -> None:
    """A key or certificate never goes over a connection in the clear."""
    server = {"engine": "temporal", "temporal_address": "temporal.example:7233"}
    assert not made(**server).temporal_uses_tls
    assert made(**server, **secure).temporal_uses_tls


@pytest.mark.parametrize(
    ("given", "urls"),
    [
        ({}, ("http://127.0.0.1:8701",)),
        ({"invoker_host": "::1", "invoker_port": 9000}, ("http://[::1]:9000",)),
        ({"invoker_url": "http://a:1/, https://b"}, ("http://a:1", "https://b")),
    ],
)
def test_the_invoker_is_found_where_it_listens_or_where_the_url_says(
    given: dict[str, Any], urls: tuple[str, ...]
) -> None:
    """Callers get a list of bases, none with a slash at its end."""
    assert made(**given).invoker_urls == urls


def test_what_has_no_effect_is_told() -> None:
    """Names for stores that are not there, and settings of the engine that does not run, are told."""
    outbox = made(ledger_table="lucius_ledger", temporal_address="t:7233", invoker_token=TOKEN)
    assert without_effect(outbox) == {
        "this version has no table backend": ["LUCIUS_LEDGER_TABLE"],
        "the engine is outbox": ["LUCIUS_INVOKER_TOKEN", "LUCIUS_TEMPORAL_ADDRESS"],
    }
    temporal = Settings(
        engine="temporal", temporal_address="t:7233", temporal_ui_port=8233, servicebus_reply_prefix="r-p"
    )
    assert without_effect(temporal) == {
        "this version has no Service Bus adapter": ["LUCIUS_SERVICEBUS_REPLY_PREFIX"],
        "the Temporal server is not ours to start": ["LUCIUS_TEMPORAL_UI_PORT"],
    }
    assert without_effect(made(max_attempts=2)) == {}
    (names,) = without_effect(made(max_attempts=2), submits=False).values()
    assert names == ["LUCIUS_MAX_ATTEMPTS"]


def test_one_line_a_reason_is_written() -> None:
    """The log of a start names the variables and why they do nothing, never their values."""
    with capture_logs() as lines:
        tell_idle(made(table_connection="AccountKey=hush", jobs_table="jobs"))
    (line,) = lines
    assert line["settings"] == ["LUCIUS_JOBS_TABLE", "LUCIUS_TABLE_CONNECTION"]
    assert line["log_level"] == "warning"
    assert "hush" not in str(line)


def test_steps_take_attempts_and_time_from_the_settings_where_their_file_sets_none(tmp_path: Path) -> None:
    """What a recipe says counts more, even when it says what would be the default anyway."""
    (tmp_path / "protocols").mkdir()
    (tmp_path / "protocols" / "own.yaml").write_text(
        "request_type: OWN\nversion: 1\nsteps:\n"
        "  - {step_id: bare, step_type: A, service: a}\n"
        "  - {step_id: told, step_type: B, service: b, lease: 15m, max_execution_attempts: 3}\n"
    )
    defaults = step_defaults(made(max_attempts=7, step_result_timeout_seconds=1.5))
    protocol = FileSchematics(tmp_path, clock=lambda: 0, defaults=defaults).current().protocol("OWN")
    assert protocol is not None
    assert [(step.max_execution_attempts, step.lease) for step in protocol.steps] == [
        (7, 1_500),
        (3, 900_000),
    ]


def test_without_settings_steps_are_as_the_contract_says() -> None:
    """The defaults of recipes are untouched when nothing is set."""
    assert step_defaults(made()) == StepRecipe(step_id="", step_type="", service="")


def test_a_token_of_the_settings_needs_no_file(tmp_path: Path) -> None:
    """A named token is used as it is, and nothing is written."""
    path = tmp_path / "secrets" / "invoker-token"
    assert invoker_token(made(invoker_token=TOKEN), path) == TOKEN
    assert not path.parent.exists()


def _take(path: Path) -> str:
    return invoker_token(made(), path)


def test_processes_that_start_together_share_one_token(tmp_path: Path) -> None:
    """Whoever comes first makes the file, for its owner only, and everybody reads the same strong token."""
    path = tmp_path / "secrets" / "invoker-token"
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        tokens = list(pool.map(_take, [path] * 16))
    assert len(set(tokens)) == 1
    assert len(tokens[0]) == 43
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in path.parent.iterdir()] == ["invoker-token"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_token_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    """A file open to others is not a secret."""
    path = tmp_path / "invoker-token"
    path.write_text(TOKEN)
    path.chmod(mode)
    with pytest.raises(Invalid, match="Others can read"):
        _take(path)


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff" * 40])
def test_a_weak_token_file_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    """A file that holds no usable token stops the start; it is neither replaced nor quoted."""
    path = tmp_path / "invoker-token"
    path.touch(mode=0o600)
    path.write_bytes(content)
    with pytest.raises(Invalid) as refused:
        _take(path)
    assert refused.value.code == "BAD_INVOKER_TOKEN"
    assert "short\n" not in refused.value.message
    assert path.read_bytes() == content


def test_a_worker_may_be_of_a_build() -> None:
    """One setting names deployment and build; without it any worker takes any workflow."""
    assert made(temporal_worker_version="lucius:1.4.0").temporal_worker_build == ("lucius", "1.4.0")
    assert made().temporal_worker_build is None
    with pytest.raises(ValidationError, match="temporal_worker_version"):
        made(temporal_worker_version="1.4.0")


def test_credentials_for_temporal_are_read_from_their_files(tmp_path: Path) -> None:
    """The connection gets what the files hold; without settings it gets nothing."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_text("-----BEGIN CERTIFICATE-----\n")
    key.write_text("-----BEGIN PRIVATE KEY-----\n")
    files = {"temporal_tls_client_cert": cert, "temporal_tls_client_key": key}
    found = temporal_access(made(engine="temporal", temporal_address="t:1", temporal_api_key="k", **files))
    assert (found["api_key"], found["tls"], found["server_ca"]) == ("k", True, None)
    assert (found["client_certificate"], found["client_key"]) == (cert.read_bytes(), key.read_bytes())
    assert not any(temporal_access(Settings()).values())


@pytest.mark.parametrize("content", [None, b"not a certificate"])
def test_a_file_that_holds_no_certificate_is_named(tmp_path: Path, content: bytes | None) -> None:
    """A missing or wrong file stops the start with a sentence that names it."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Invalid, match=r"ca\.pem"):
        temporal_access(made(temporal_tls_server_ca=path))


def test_a_start_tells_what_has_no_effect(tmp_path: Path) -> None:
    """The log of a real start names a variable that does nothing."""
    with Server(tmp_path, environment={"LUCIUS_LEDGER_TABLE": "lucius_ledger"}) as server:
        server.start()
        (line,) = [line for line in server.said().splitlines() if "settings without effect" in line]
    assert "LUCIUS_LEDGER_TABLE" in line
