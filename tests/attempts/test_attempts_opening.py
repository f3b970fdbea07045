from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lucius.errors import Invalid, LuciusError, Unavailable
from lucius.sdk.attempts.azure_table import AzureTableAttempts
from lucius.sdk.attempts.objects import ObjectAttempts
from lucius.sdk.attempts.opening import open_attempts
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.testing.attempts import AttemptsHarness
from lucius.testing.parts import Azurite

CLOUD = {
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "AWS_REGION": "eu-central-1",
    "AZURE_STORAGE_ACCOUNT_NAME": "lucius",
    "AZURE_STORAGE_ACCOUNT_KEY": "AAAA",
}


@pytest.mark.parametrize("form", ["{}/attempts.db", "sqlite://{}/a%20b.db", "file://{}/objects", ":memory:"])
async def test_a_local_place_is_opened(tmp_path: Path, form: str) -> None:
    """A path, or a URL of a path, is a place at once."""
    attempts = await open_attempts(form.format(tmp_path), environment={})
    assert isinstance(attempts, ObjectAttempts if form.startswith("file") else SqliteAttempts)

    async def another():
        raise AssertionError("nobody opens it again")

    await AttemptsHarness(attempts=attempts, another=another).begun()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names in (
        ["attempts.db", "attempts.db-shm", "attempts.db-wal"],
        ["a b.db", "a b.db-shm", "a b.db-wal"],
        ["objects"],
        [],
    )
    await attempts.close()


async def test_objects_in_a_directory_are_private(tmp_path: Path) -> None:
    """Others on the machine cannot read directives."""
    attempts = await open_attempts(f"file://{tmp_path}/objects")
    assert (tmp_path / "objects").stat().st_mode & 0o077 == 0
    await attempts.close()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("s3://bucket/some/prefix", ObjectAttempts),
        ("az://container", ObjectAttempts),
        ("azure-table://account/ocrattempts", AzureTableAttempts),
        ("azure-table://account.table.core.windows.net/ocrattempts", AzureTableAttempts),
    ],
)
async def test_a_cloud_is_opened_without_asking_it(url: str, kind: type) -> None:
    """Nothing is sent before the first call, so that a service starts while its store is away."""
    attempts = await open_attempts(url, environment=CLOUD)
    assert isinstance(attempts, kind)
    await attempts.close()


async def test_a_table_is_reached_by_its_connection_string(azurite: Azurite) -> None:
    """The usual variable leads to the account."""
    variables = {"AZURE_STORAGE_CONNECTION_STRING": azurite.connection_string}
    attempts = await open_attempts("azure-table://lucius/opening", environment=variables)
    assert await attempts.forget(before=1) == 0
    await attempts.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "redis://somewhere",
        "sqlite://relative.db",
        "sqlite:///",
        "file://host/path",
        "azure-table://account",
        "azure-table://account/a-b",
        "s3://",
    ],
)
async def test_what_names_no_store_is_refused(url: str) -> None:
    """A sentence that says what to write instead."""
    with pytest.raises(Invalid) as refusal:
        await open_attempts(url, environment=CLOUD)
    assert refusal.value.code == "BAD_ATTEMPTS_URL"


async def test_a_connection_string_that_is_none_is_refused() -> None:
    """The variable at fault is named, its value is not."""
    variables = {"AZURE_STORAGE_CONNECTION_STRING": "AccountKey=verysecret"}
    with pytest.raises(Invalid) as refusal:
        await open_attempts("azure-table://account/attempts", environment=variables)
    assert "AZURE_STORAGE_CONNECTION_STRING" in refusal.value.message
    assert "verysecret" not in refusal.value.message


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the Azure clients, one sentence says what to install."""
    monkeypatch.setitem(sys.modules, "azure.data.tables.aio", None)
    with pytest.raises(Unavailable) as refusal:
        await open_attempts("azure-table://account/attempts", environment={})
    assert isinstance(refusal.value, LuciusError)
    assert "pip install 'lucius[azure]'" in refusal.value.message


def test_the_default_loads_nothing_heavy(tmp_path: Path) -> None:
    """A service with a SQLite file starts without the Azure clients and the object stores."""
    program = (
        "import asyncio, sys\n"
        "from lucius.sdk.attempts.opening import open_attempts\n"
        f"asyncio.run(asyncio.wait_for(open_attempts({str(tmp_path / 'a.db')!r}), None))\n"
        "print(sorted({'azure', 'obstore', 'aiohttp'} & {name.split('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
