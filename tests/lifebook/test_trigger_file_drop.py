"""Dropped files become runs, each once; what cannot is put aside with the reason."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import pytest

from lucius.errors import Unavailable
from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import TriggerType
from lucius.lifebook.triggers.file_drop import FileDrop
from lucius.lifebook.usecases.create import Create
from tests.lifebook.trigger_world import TriggerWorld, new_id, trigger_world

STEPS = ("rename", "mkdir", "unlink", "rmdir", "fsync", "write")


@pytest.fixture
async def world() -> AsyncIterator[TriggerWorld]:
    """Runs and triggers in memory."""
    async with trigger_world() as found:
        yield found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder that is watched, next to something that is not in it."""
    (tmp_path / "outside.txt").write_text("private")
    found = tmp_path / "drop"
    (found / "acme" / "report").mkdir(parents=True)
    return found


def duty_of(world: TriggerWorld, root: Path, **more: Any) -> FileDrop:
    """The duty, on creations that tests can stop."""
    return FileDrop(root, cast("Create", world.turnable), new_id=new_id, **more)


def drop(root: Path, name: str = "a.pdf", content: bytes = b"some pages", where: str = "acme/report") -> Path:
    """A dropped file."""
    path = root / where / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def file_of(run: Run) -> Path:
    """Where a run finds its file."""
    return Path(unquote(urlsplit(run.input["file"]).path))


def refused(root: Path) -> dict[str, str]:
    """Name -> reason, of what was put aside; reasons whose file never came are left out."""
    found = {}
    for place in (root / ".refused").glob("*/*"):
        reason = place.with_name(f"{place.name}.reason.txt")
        if not place.name.endswith(".reason.txt"):
            found[place.name] = reason.read_text()
    return found


def lying(root: Path) -> list[str]:
    """What is still where it was dropped."""
    return sorted(str(path.relative_to(root)) for path in root.glob("[!.]*/*/*"))


async def rounds(duty: FileDrop, count: int = 2) -> dict[str, int]:
    """What the last of several rounds did."""
    report = [await duty.run_once() for _ in range(count)][-1]
    return {name: number for name, number in report.details.items() if number}


async def test_a_file_at_rest_becomes_a_run_that_can_read_it(world: TriggerWorld, root: Path) -> None:
    """It is taken in the second round, with its name, size and hash, and stays for its run."""
    drop(root, "a b é.pdf")
    duty = duty_of(world, root, user_id="scanner")
    assert await rounds(duty, 1) == {}
    assert await rounds(duty, 1) == {"taken": 1}
    (run,) = await world.made()
    digest = hashlib.sha256(b"some pages").hexdigest()
    assert (run.trigger_type, run.workflow_id, run.user_id) == (TriggerType.FILE_DROP, "report", "scanner")
    assert run.input == {"file": run.input["file"], "name": "a b é.pdf", "bytes": 10, "sha256": digest}
    assert run.idempotency_key == f"file_drop:acme/report/a b é.pdf:{digest}"
    assert run.input["file"].startswith("file:///")
    assert file_of(run).read_bytes() == b"some pages"
    assert root in file_of(run).parents
    assert lying(root) == []
    assert list((root / ".open").iterdir()) == []
    assert await rounds(duty) == {}


async def test_a_file_that_still_grows_is_left(world: TriggerWorld, root: Path) -> None:
    """As long as size or time change between two rounds it is not taken; hidden and partial names never."""
    for name in (".hidden", "b.part", "c.tmp"):
        drop(root, name)
    path = drop(root)
    duty = duty_of(world, root)
    for at in range(3):
        await duty.run_once()
        with path.open("ab") as file:
            file.write(b"more")
        os.utime(path, ns=(at, at))
    assert await world.made() == []
    assert await rounds(duty) == {"taken": 1}
    assert lying(root) == ["acme/report/.hidden", "acme/report/b.part", "acme/report/c.tmp"]


async def test_a_file_that_is_exchanged_counts_as_new(world: TriggerWorld, root: Path) -> None:
    """Another file of the same size and time under the same name is another file."""
    path = drop(root, content=b"one")
    os.utime(path, ns=(1, 1))
    duty = duty_of(world, root)
    await duty.run_once()
    other = drop(root, "b.part", content=b"two")
    os.utime(other, ns=(1, 1))
    other.rename(path)
    assert await rounds(duty, 1) == {}
    assert await rounds(duty, 1) == {"taken": 1}


async def test_the_same_content_again_is_put_aside(world: TriggerWorld, root: Path) -> None:
    """Name and content make the run; a changed content or another name makes another, nothing is lost."""
    duty = duty_of(world, root)
    for name, content in (("a", b"1"), ("a", b"1"), ("a", b"2"), ("b", b"1")):
        drop(root, name, content)
        await rounds(duty)
    made = await world.made()
    found = {(run.input["name"], file_of(run).read_bytes()): run.job_id for run in made}
    assert sorted(found) == [("a", b"1"), ("a", b"2"), ("b", b"1")]
    assert len(made) == 3
    assert list(refused(root)) == ["a"]
    assert found["a", b"1"] in refused(root)["a"]


async def test_what_is_no_file_is_put_aside_with_the_reason(world: TriggerWorld, root: Path) -> None:
    """Links, folders, pipes and sockets are never followed, opened or taken."""
    here = root / "acme" / "report"
    (here / "link").symlink_to(root.parent / "outside.txt")
    (here / "broken").symlink_to("nowhere")
    (here / "folder").mkdir()
    drop(root, "inside", where="acme/report/folder")
    os.mkfifo(here / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(here / "socket"))
        assert await rounds(duty_of(world, root)) == {"refused": 5}
    assert {name: "link" in reason for name, reason in refused(root).items()} == {
        "link": True, "broken": True, "folder": False, "pipe": False, "socket": False,
    }  # fmt: skip
    assert next((root / ".refused").glob("*/folder/inside")).read_bytes() == b"some pages"
    assert (root.parent / "outside.txt").read_text() == "private"
    assert await world.made() == []


async def test_what_lies_in_the_wrong_place_is_put_aside(world: TriggerWorld, root: Path) -> None:
    """Bad workspaces, unknown workflows, files outside a workflow and linked folders become no runs."""
    elsewhere = root.parent / "elsewhere"
    (elsewhere / "report").mkdir(parents=True)
    (elsewhere / "report" / "theirs").write_text("private")
    (root / "linked").symlink_to(elsewhere)
    (root / "acme" / "linked-too").symlink_to(elsewhere / "report")
    (root / "top").write_text("x")
    (root / "acme" / "middle").write_text("x")
    drop(root, "bad", where="Acme Corp/report")
    drop(root, "unknown", where="acme/none")
    drop(root, "unpaid", where="acme/costly")
    await rounds(duty_of(world, root))
    found = refused(root)
    assert set(found) == {"linked", "linked-too", "top", "middle", "bad", "unknown", "unpaid"}
    assert "UNKNOWN_WORKFLOW" in found["unknown"]
    assert "INSUFFICIENT_CREDITS" in found["unpaid"]
    assert "acme/none/unknown" in found["unknown"]
    assert (elsewhere / "report" / "theirs").read_text() == "private"
    assert await world.made() == []
    assert list((root / ".open").iterdir()) == []


async def test_a_name_that_is_no_text_is_put_aside(world: TriggerWorld, root: Path) -> None:
    """Names are bytes to the disk; a run needs text."""
    here = os.fsencode(root / "acme" / "report")
    Path(os.fsdecode(here + b"/\xff\xfe")).write_bytes(b"x")
    drop(root, "n" * 250)
    assert await rounds(duty_of(world, root)) == {"refused": 1, "taken": 1}
    (reason,) = (root / ".refused").glob("*/*.reason.txt")
    assert "UTF-8" in reason.read_text()


async def test_a_file_that_cannot_be_read_is_put_aside(
    world: TriggerWorld, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason names what the system said."""
    drop(root)
    real = os.open

    def closed(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if str(path).endswith("a.pdf"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", closed)
        assert await rounds(duty_of(world, root)) == {"refused": 1}
    assert "Permission denied" in refused(root)["a.pdf"]


async def test_a_link_that_takes_the_place_of_a_file_is_not_followed(
    world: TriggerWorld, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever exchanges a file, or its folder, between our look and our move gains nothing."""
    duty = duty_of(world, root)
    path = drop(root)
    real, outside = os.rename, root.parent / "outside.txt"

    def exchanged(source: Any, target: Any, **named: Any) -> None:
        if source == "a.pdf" and not path.is_symlink():
            path.unlink()
            path.symlink_to(outside)
        real(source, target, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", exchanged)
        assert await rounds(duty) == {"refused": 1}
    assert outside.read_text() == "private"

    drop(root)
    (seen,) = duty._places.look()
    away = (root / "acme" / "report").rename(root.parent / "report")
    (root / "acme" / "report").symlink_to(away)
    for move in (duty._places.take, lambda one: duty._places.turn_away(one, "because")):
        with pytest.raises(NotADirectoryError):
            move(seen)
    assert (away / "a.pdf").read_bytes() == b"some pages"
    assert await world.made() == []


async def test_while_the_store_is_away_the_file_waits(world: TriggerWorld, root: Path) -> None:
    """Its claim stays open, and the next round that reaches the store makes its run."""
    drop(root)
    duty = duty_of(world, root)
    world.turnable.away = True
    await duty.run_once()
    for _ in range(2):
        with pytest.raises(Unavailable):
            await duty.run_once()
    assert lying(root) == []
    world.turnable.away = False
    assert await rounds(duty, 1) == {"taken": 1}
    assert len(await world.made()) == 1


async def test_a_file_that_cannot_be_moved_stops_nobody(
    world: TriggerWorld, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is left where it is, and those behind it are taken."""
    drop(root, "a")
    drop(root, "b")
    real = os.rename

    def stuck(source: Any, target: Any, **named: Any) -> None:
        if source == "a":
            raise PermissionError(1, "Operation not permitted")
        real(source, target, **named)

    monkeypatch.setattr(os, "rename", stuck)
    assert await rounds(duty_of(world, root)) == {"stuck": 1, "taken": 1}
    assert lying(root) == ["acme/report/a"]
    assert list((root / ".open").iterdir()) == []


async def test_a_folder_that_is_away_puts_the_round_off(world: TriggerWorld, tmp_path: Path) -> None:
    """A disk that is not mounted is no reason to stop the process."""
    with pytest.raises(Unavailable, match="cannot be read"):
        await duty_of(world, tmp_path / "unmounted").run_once()


async def test_a_round_takes_only_so_many(world: TriggerWorld, root: Path) -> None:
    """A full round says that there is more."""
    for name in "abc":
        drop(root, name)
    duty = duty_of(world, root, limit=2)
    await duty.run_once()
    assert [(await duty.run_once()).more for _ in range(2)] == [True, False]
    assert len(await world.made()) == 3


async def test_two_processes_take_a_file_once(world: TriggerWorld, root: Path) -> None:
    """Whoever moves it has it; the other finds nothing, and may finish what was begun."""
    first, second = duty_of(world, root), duty_of(world, root)
    drop(root)
    seen = first._places.look()[0]
    assert first._places.take(seen) is not None
    assert second._places.take(seen) is None
    assert not second._places.turn_away(seen, "gone")
    assert await rounds(second, 1) == {"taken": 1}
    assert await rounds(first) == {}
    assert len(await world.made()) == 1


async def test_duties_at_the_same_moment_take_each_file_once(world: TriggerWorld, root: Path) -> None:
    """Of many processes that watch one folder, one makes each run, and all files are read by theirs."""
    for at in range(10):
        drop(root, str(at), str(at).encode())
    duties = [duty_of(world, root) for _ in range(4)]
    for _ in range(3):
        await asyncio.gather(*(duty.run_once() for duty in duties))
    made = await world.made()
    assert sorted(run.input["name"] for run in made) == [str(at) for at in range(10)]
    assert all(file_of(run).read_bytes() == run.input["name"].encode() for run in made)
    assert refused(root) == {}
    assert list((root / ".open").iterdir()) == []


class KilledError(BaseException):
    """The process is gone: nothing catches it."""


class Killer:
    """Counts what changes the disk, or creates a run, and kills at one of these, before or after it."""

    def __init__(self, at: int, *, after: bool) -> None:
        self.left = at
        self.after = after

    def deadly(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """The call, deadly once."""

        def call(*given: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self.after:
                raise KilledError
            try:
                return real(*given, **named)
            finally:
                if self.left == 0:
                    raise KilledError

        return call


async def killed(duty: FileDrop, world: TriggerWorld, killer: Killer) -> bool:
    """Whether the second round died on the way."""
    await duty.run_once()
    real = world.turnable.create
    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, killer.deadly(getattr(os, name)))

        async def create(request: Any) -> Any:
            killer.deadly(lambda: None)()
            created = await real(request)
            killer.deadly(lambda: None)()
            return created

        patch.setattr(world.turnable, "create", create)
        try:
            await duty.run_once()
        except KilledError:
            return True
    return False


@pytest.mark.parametrize("after", [False, True])
async def test_a_crash_at_any_point_loses_no_file_and_makes_no_second_run(root: Path, after: bool) -> None:
    """Wherever the process dies, the next one ends with one run, and the file where its run reads it."""
    died, at = True, 0
    while died:
        at += 1
        here = root / str(at)
        async with trigger_world() as world:
            drop(here)
            died = await killed(duty_of(world, here), world, Killer(at, after=after))
            await rounds(duty_of(world, here), 3)
            (run,) = await world.made()
            assert file_of(run).read_bytes() == b"some pages", at
            assert lying(here) == [], at
            assert refused(here) == {}, at
            assert duty_of(world, here)._places.claims() == [], at
    assert at > 15


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("where", ["acme/none", "Acme/report"])
async def test_a_crash_at_any_point_of_a_refusal_loses_no_file(root: Path, where: str, after: bool) -> None:
    """Wherever the process dies, the file is put aside once, whole, with the reason next to it."""
    died, at = True, 0
    while died:
        at += 1
        here = root / str(at)
        async with trigger_world() as world:
            drop(here, where=where)
            died = await killed(duty_of(world, here), world, Killer(at, after=after))
            await rounds(duty_of(world, here), 3)
            assert list(refused(here)) == ["a.pdf"], at
            (kept,) = (here / ".refused").glob("*/a.pdf")
            assert kept.read_bytes() == b"some pages", at
            assert lying(here) == [], at
            assert await world.made() == [], at
            assert duty_of(world, here)._places.claims() == [], at
    assert at > 5
