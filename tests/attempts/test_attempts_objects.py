from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import obstore
import pytest
from obstore.store import LocalStore

from lucius.errors import Unavailable
from lucius.sdk.attempts.objects import ObjectAttempts
from lucius.sdk.attempts.opening import open_attempts
from lucius.sdk.serving.ports import Attempts, Found
from lucius.testing.attempts import LATER, NOW, SOON, AttemptsHarness, AttemptsSuite
from lucius.testing.parts import S3, Azurite

prefixes = count(1)


class TestDirectoryAttempts(AttemptsSuite):
    """Attempts as files of a directory keep every promise of the port."""

    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[AttemptsHarness]:
        """A directory of its own."""

        async def another() -> Attempts:
            return ObjectAttempts(LocalStore(tmp_path, automatic_cleanup=True), "service/attempts")

        harness = AttemptsHarness(attempts=await another(), another=another)
        yield harness
        await harness.attempts.close()


@pytest.fixture(scope="session")
def container(azurite: Azurite) -> Azurite:
    """Azurite with a container."""
    azurite.create_container("attempts")
    return azurite


@pytest.fixture(scope="session")
def bucket(s3: S3) -> S3:
    """S3 with a bucket."""
    s3.create_bucket("attempts")
    return s3


class TestAzureBlobAttempts(AttemptsSuite):
    """Attempts as blobs keep every promise of the port."""

    @pytest.fixture
    async def harness(self, container: Azurite) -> AsyncIterator[AttemptsHarness]:
        """A prefix of its own."""
        url = f"az://attempts/test/{next(prefixes)}"

        async def another() -> Attempts:
            return await open_attempts(url, environment=container.environment())

        harness = AttemptsHarness(attempts=await another(), another=another)
        yield harness
        await harness.attempts.close()


class TestS3Attempts(AttemptsSuite):
    """Attempts as objects of a bucket keep every promise of the port."""

    @pytest.fixture
    async def harness(self, bucket: S3) -> AsyncIterator[AttemptsHarness]:
        """A prefix of its own."""
        url = f"s3://attempts/test/{next(prefixes)}"

        async def another() -> Attempts:
            return await open_attempts(url, environment=bucket.environment())

        harness = AttemptsHarness(attempts=await another(), another=another)
        yield harness
        await harness.attempts.close()


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[AttemptsHarness]:
    """A directory of its own, to look into."""

    async def another() -> Attempts:
        return ObjectAttempts(LocalStore(tmp_path, automatic_cleanup=True), "")

    harness = AttemptsHarness(attempts=await another(), another=another)
    yield harness
    await harness.attempts.close()


def _files(directory: Path) -> list[str]:
    """What is there, without the hashed ids."""
    return sorted(f"{path.parts[-3]}/{path.name}" for path in directory.rglob("*") if path.is_file())


async def test_a_long_attempt_leaves_few_objects(local: AttemptsHarness, tmp_path: Path) -> None:
    """However often it is extended, an attempt is a claim and one more object; told, it is its result."""
    key = await local.begun()
    for late in range(5):
        assert await local.attempts.extend([key], owner="first", until=SOON + late) == [True]
    assert _files(tmp_path) == ["open/claim", "open/own-00005"]
    await local.attempts.finish(key, owner="first", result=b"done")
    await local.attempts.told(key, now=NOW)
    assert _files(tmp_path) == ["done/result", f"done/told-{NOW:015d}"]
    await local.attempts.forget(before=NOW + 1)
    assert list(tmp_path.iterdir()) == []


async def test_a_claim_after_the_end_leaves_nothing(local: AttemptsHarness, tmp_path: Path) -> None:
    """A late repeat of a directive gets the result and does not open the attempt again."""
    key = await local.begun()
    await local.attempts.finish(key, owner="first", result=b"done")
    await local.attempts.told(key, now=NOW)
    before = _files(tmp_path)
    assert await local.claim(key) == Found(claimed=False, result=b"done")
    assert _files(tmp_path) == before


async def test_what_a_crash_left_half_done_is_cleared(local: AttemptsHarness, tmp_path: Path) -> None:
    """A process that died between saying told and removing the claim leaves nothing to report."""
    key = await local.begun()
    [claim] = (tmp_path / "open").rglob("claim")
    content = claim.read_bytes()
    await local.attempts.told(key, now=NOW)
    claim.parent.mkdir(parents=True)
    claim.write_bytes(content)
    (claim.parent / "own-00003").write_bytes(b'{"owner":"x","until":1,"call":"y"}')
    assert await local.take(now=LATER) == []
    assert _files(tmp_path) == [f"done/told-{NOW:015d}"]
    (tmp_path / "open" / "rest").mkdir(parents=True)
    (tmp_path / "open" / "rest" / "own-00002").write_bytes(b'{"owner":"x","until":1,"call":"y"}')
    assert await local.take(now=LATER) == []
    assert _files(tmp_path) == [f"done/told-{NOW:015d}"]


async def test_a_writer_that_slept_does_not_win(local: AttemptsHarness, tmp_path: Path) -> None:
    """A number that was used and removed can be created again, but the last object decides."""
    key = await local.begun()
    store = local.attempts
    assert isinstance(store, ObjectAttempts)
    [name] = [path.name for path in (tmp_path / "open").iterdir()]
    slept = await store._held(name)
    assert slept is not None
    for _ in range(3):
        await store.extend([key], owner="first", until=LATER)
    assert not (tmp_path / "open" / name / "own-00001").exists()
    assert not await store._append(name, slept, "second", LATER)
    assert await store.extend([key], owner="first", until=LATER) == [True]


@pytest.mark.parametrize("claims", [1, 2])
async def test_a_lost_answer_is_settled_by_looking(
    local: AttemptsHarness, monkeypatch: pytest.MonkeyPatch, claims: int
) -> None:
    """A claim that was written but not answered is the claimer's; only one of two is."""
    really = obstore.put_async

    async def put(*arguments, **more):
        await really(*arguments, **more)
        raise obstore.exceptions.GenericError("connection reset")

    key = local.key()
    monkeypatch.setattr(obstore, "put_async", put)
    found = [await local.claim(key) for _ in range(claims)]
    assert [each.claimed for each in found] == [True, False][:claims]


async def test_a_store_that_is_away_says_so() -> None:
    """Nothing there: the caller is told to try again, not what the library thinks."""
    variables = {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_REGION": "x",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    }
    from lucius.sdk.workspaces import clouds

    store = clouds.s3("nothing", variables, clouds.Patience(retries=0))
    attempts = ObjectAttempts(store)
    with pytest.raises(Unavailable) as refusal:
        await attempts.told(AttemptsHarness(attempts=attempts, another=_never).key(), now=NOW)
    assert refusal.value.code == "ATTEMPTS_UNAVAILABLE"


async def _never() -> Attempts:
    raise AssertionError("nobody opens it again")
