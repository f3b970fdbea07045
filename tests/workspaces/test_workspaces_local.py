from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lucius.sdk.serving.outcomes import Final, StepFailure
from lucius.sdk.workspaces import Stores
from lucius.testing.workspaces import Ground, WorkspaceSuite, megabytes


class TestLocalWorkspace(WorkspaceSuite):
    """A local directory keeps the promises."""

    @pytest.fixture
    def ground(self, tmp_path_factory: pytest.TempPathFactory) -> Ground:
        """A new directory."""
        return Ground(stores=Stores(), uri=tmp_path_factory.mktemp("a workspace").as_uri())


async def test_a_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    """The directory is as empty as before, also of names that nobody lists."""
    workspace = Stores().workspace(tmp_path.as_uri(), step_type="OCR", attempt_no=1)
    with pytest.raises(RuntimeError):
        await workspace.write("half.bin", megabytes(20, RuntimeError()))
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == []


KILLED = """
import asyncio, sys
from lucius.sdk.workspaces import Stores
from lucius.testing.workspaces import megabytes

async def endless():
    async for piece in megabytes(20):
        yield piece
    print("under way", flush=True)
    await asyncio.Event().wait()

asyncio.run(Stores().workspace(sys.argv[1], step_type="OCR", attempt_no=1).write("half.bin", endless()))
"""


def test_a_killed_process_leaves_no_half_file(tmp_path: Path) -> None:
    """After SIGKILL in the middle of a file, nothing lies under its name."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path.as_uri()], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "under way\n"
        process.kill()
    assert not (tmp_path / "OCR" / "1" / "half.bin").exists()


async def test_a_file_uri_is_percent_encoded(tmp_path: Path) -> None:
    """What `Path.as_uri` makes of any name can be read, and so can a URI that names this machine."""
    path = tmp_path / "Prüfbericht 100% (neu) #2.pdf"
    path.write_bytes(b"%PDF")
    source = Stores().source({"uri": path.as_uri()})
    assert (source.name, source.content_type) == (path.name, "application/pdf")
    assert await source.read() == b"%PDF"
    assert (
        await Stores().source({"uri": path.as_uri().replace("file://", "file://localhost")}).read() == b"%PDF"
    )


@pytest.mark.parametrize("inside", ["", "file.txt/below", "x" * 300])
async def test_what_is_no_file_does_not_exist(tmp_path: Path, inside: str) -> None:
    """A directory, a name below a file and an impossible name are missing files, not broken disks."""
    (tmp_path / "file.txt").write_bytes(b"")
    with pytest.raises(Final) as caught:
        await Stores().source({"uri": f"{tmp_path.as_uri()}/{inside}"}).read()
    assert caught.value.code == "INPUT_NOT_FOUND"


async def test_a_workspace_that_cannot_be_made_is_tried_again(tmp_path: Path) -> None:
    """A file where the folder should be is for the operator to mend, so the failure is retryable."""
    (tmp_path / "taken").write_bytes(b"")
    workspace = Stores().workspace((tmp_path / "taken").as_uri(), step_type="OCR", attempt_no=1)
    with pytest.raises(StepFailure) as caught:
        await workspace.write("a.txt", b"")
    assert (caught.value.retryable, caught.value.code) == (True, "STORE_UNAVAILABLE")


async def test_a_file_root_is_not_left(tmp_path: Path) -> None:
    """With a root, neither a path nor a symbolic link leads out of it."""
    root, secret = tmp_path / "root", tmp_path / "secret.txt"
    root.mkdir()
    secret.write_text("secret")
    (root / "link.txt").symlink_to(secret)
    (root / "fine.txt").write_text("fine")
    stores = Stores(file_roots=[root])
    assert await stores.source({"uri": (root / "fine.txt").as_uri()}).text() == "fine"
    for path in (secret, root / "link.txt"):
        with pytest.raises(Final) as caught:
            await stores.source({"uri": path.as_uri()}).read()
        assert caught.value.code == "INPUT_FORBIDDEN"


async def test_links_in_a_circle_do_not_exist(tmp_path: Path) -> None:
    """A link to itself is a missing file, with a root to keep to as without one."""
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for stores in (Stores(), Stores(file_roots=[tmp_path])):
        with pytest.raises(Final) as caught:
            await stores.source({"uri": (tmp_path / "circle").as_uri()}).read()
        assert caught.value.code == "INPUT_NOT_FOUND"


async def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    """A document that is a named pipe or a device fails at once: reading it would never end."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(Final) as caught:
            async with asyncio.timeout(30):
                await Stores().source({"uri": path.as_uri()}).read()
        assert caught.value.code == "INPUT_NOT_READABLE"


async def test_no_more_is_saved_than_was_allowed(tmp_path: Path) -> None:
    """A copy that would grow beyond its limit is given up, and nothing of it stays."""
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(10_000_000)
    source = Stores().source({"uri": large.as_uri()})
    with pytest.raises(Final) as caught:
        await source.save(tmp_path / "copy.bin", limit=9_999_999)
    assert caught.value.code == "INPUT_TOO_LARGE"
    assert [path.name for path in tmp_path.iterdir()] == ["large.bin"]
    assert (await source.save(tmp_path / "copy.bin", limit=10_000_000)).stat().st_size == 10_000_000
