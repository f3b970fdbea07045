"""What every store must do as a job's workspace.

Bind it so:

    class TestMyStore(WorkspaceSuite):
        @pytest.fixture
        def ground(self):
            return Ground(stores=Stores({"AWS_ENDPOINT_URL": ...}), uri="s3://bucket/a-new-folder")

The folder must be empty; everything the suite writes lies below it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import obstore
import pytest

from lucius.sdk.serving.outcomes import Artifact, Final
from lucius.sdk.workspaces import Source, Stores, Workspace
from lucius.sdk.workspaces.places import place_of

MEGABYTE = 1024 * 1024
HOSTILE = (
    "", ".", "..", "../secret", "a/../b", "a/..", "/etc/passwd", "a//b", "a/", "a\\b", "..\\b", "a/./b",
    "nul\x00", "line\nbreak", "tab\t", "%2e%2e/x", "a%2fb", "．．/x", " blank", "blank ", "dot.", "x#1",
    "\ud800", "a" * 300, "/".join(["deep"] * 200),
)  # fmt: skip
UNUSUAL = (
    "two words.txt", "späße/日本語.txt", "100%.txt", "50%20off.txt", "a+b&c=d.txt", "№#2.txt", "[x]{y}.txt",
    "it's \"it\".txt", "q?.txt", "~tilde$!*();,:@.txt", "e\u0301.txt", "deep/er/and/deeper.txt",
    ".hidden", "no-ending",
)  # fmt: skip


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """An empty folder of one store."""

    stores: Stores
    uri: str

    def workspace(self, attempt_no: int = 1) -> Workspace:
        """Where an attempt of an OCR step writes."""
        return self.stores.workspace(self.uri, step_type="OCR", attempt_no=attempt_no)

    def source(self, written: Artifact, **said: Any) -> Source:
        """What was written, to be read; `said` replaces what its reference says."""
        return self.stores.source({**written.ref(), **said})

    async def listed(self) -> list[str]:
        """Every file below the folder, named from there."""
        place = place_of(self.uri)
        rows = await obstore.list(self.stores.store(place), place.key).collect_async()
        return sorted(row["path"].removeprefix(f"{place.key}/") for row in rows)


async def megabytes(count: int, then: Exception | None = None) -> AsyncIterator[bytes]:
    """So many different megabytes, and perhaps an accident."""
    for number in range(count):
        yield bytes([number]) * MEGABYTE
    if then is not None:
        raise then


async def code_of(source: Source) -> str:
    """How reading fails for good."""
    with pytest.raises(Final) as caught:
        await source.read()
    return caught.value.code


class WorkspaceSuite:
    """The promises of a workspace and of the sources in it. Bind `ground` and inherit."""

    # --- writing

    async def test_what_is_written_can_be_read(self, ground: Ground) -> None:
        """A file comes back byte for byte through the reference that writing it gave."""
        written = await ground.workspace().write("output.txt", b"one\ftwo")
        assert await ground.source(written).read() == b"one\ftwo"

    async def test_an_artifact_says_what_it_is(self, ground: Ground) -> None:
        """Name, place, content type, size and hash are on every artifact."""
        written = await ground.workspace().write("output.txt", "größe")
        data = "größe".encode()
        assert written == Artifact(
            name="output.txt", uri=f"{ground.uri}/OCR/1/output.txt", content_type="text/plain",
            size=len(data), sha256=hashlib.sha256(data).hexdigest(),
        )  # fmt: skip

    async def test_attempts_keep_apart(self, ground: Ground) -> None:
        """Two attempts write the same name into folders of their own."""
        first = await ground.workspace(1).write("a.txt", b"first")
        second = await ground.workspace(2).write("a.txt", b"second")
        assert await ground.listed() == ["OCR/1/a.txt", "OCR/2/a.txt"]
        assert await ground.source(first).read() == b"first"
        assert await ground.source(second).read() == b"second"

    async def test_every_kind_of_data_is_written_alike(self, ground: Ground, tmp_path: Path) -> None:
        """Bytes, text, a local file and a stream of the same content give the same artifact."""
        local = tmp_path / "local"
        local.write_bytes(b"content")

        async def streamed() -> AsyncIterator[bytes]:
            yield b"con"
            yield b"tent"

        workspace = ground.workspace()
        written = [
            await workspace.write("a.bin", data) for data in (b"content", "content", local, streamed())
        ]
        assert len(set(written)) == 1
        assert await ground.source(written[0]).read() == b"content"

    async def test_an_empty_file_is_a_file(self, ground: Ground) -> None:
        """Nothing at all can be written and read."""
        written = await ground.workspace().write("empty.txt", b"")
        assert (written.size, await ground.source(written).read()) == (0, b"")

    async def test_writing_again_replaces(self, ground: Ground) -> None:
        """Of two files with one name the later one stands."""
        await ground.workspace().write("a.txt", b"a long first text")
        written = await ground.workspace().write("a.txt", b"second")
        assert await ground.source(written).read() == b"second"

    async def test_json_is_written_and_read(self, ground: Ground) -> None:
        """A value comes back as it was, from a file that says it is JSON."""
        written = await ground.workspace().write_json("a.json", {"pages": [1, 2], "ü": None})
        assert written.content_type == "application/json"
        assert await ground.source(written).json() == {"pages": [1, 2], "ü": None}

    async def test_a_large_file_streams_in_and_out(self, ground: Ground, tmp_path: Path) -> None:
        """20 MB go in piece by piece and come out piece by piece, hashed on the way and whole."""
        written = await ground.workspace().write("large.bin", megabytes(20))
        wanted = hashlib.sha256(b"".join([piece async for piece in megabytes(20)])).hexdigest()
        assert (written.size, written.sha256) == (20 * MEGABYTE, wanted)
        sizes = [len(piece) async for piece in ground.source(written).stream()]
        assert sum(sizes) == 20 * MEGABYTE
        assert max(sizes) <= 4 * MEGABYTE
        saved = await ground.source(written).save(tmp_path / "saved.bin")
        assert hashlib.sha256(saved.read_bytes()).hexdigest() == wanted

    @pytest.mark.parametrize("name", UNUSUAL)
    async def test_unusual_names_work(self, ground: Ground, name: str) -> None:
        """Blanks, other scripts and characters that mean something in URIs are only characters."""
        written = await ground.workspace().write(name, name)
        assert await ground.source(written).text() == name
        assert await ground.listed() == [f"OCR/1/{name}"]
        assert not set(' "#?[]{}') & set(written.uri)

    @pytest.mark.parametrize("name", HOSTILE)
    async def test_hostile_names_are_refused(self, ground: Ground, name: str) -> None:
        """A name that could mean another place is refused before anything is written."""
        with pytest.raises(Final) as caught:
            await ground.workspace().write(name, b"data")
        assert caught.value.code == "INVALID_NAME"
        assert await ground.listed() == []

    @pytest.mark.parametrize("count", [1, 12])
    async def test_data_that_ends_in_an_error_leaves_nothing(self, ground: Ground, count: int) -> None:
        """A stream that fails after one part or several leaves no file, and its own error is raised."""
        accident = OSError("the other side went away")
        with pytest.raises(OSError, match="the other side") as caught:
            await ground.workspace().write("half.bin", megabytes(count, accident))
        assert caught.value is accident
        assert await ground.listed() == []

    async def test_a_cancelled_write_leaves_nothing(self, ground: Ground) -> None:
        """Work that is stopped in the middle of an upload leaves no file."""
        under_way = asyncio.Event()

        async def endless() -> AsyncIterator[bytes]:
            async for piece in megabytes(12):
                yield piece
            under_way.set()
            await asyncio.Event().wait()

        writing = asyncio.create_task(ground.workspace().write("half.bin", endless()))
        await under_way.wait()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert await ground.listed() == []

    # --- reading

    async def test_what_is_not_there_is_told(self, ground: Ground) -> None:
        """A missing file is a final failure that names it."""
        source = ground.stores.source({"uri": f"{ground.uri}/no%20such.pdf"})
        with pytest.raises(Final, match=r"no such\.pdf does not exist") as caught:
            await source.read()
        assert caught.value.code == "INPUT_NOT_FOUND"

    async def test_another_file_is_noticed(self, ground: Ground, tmp_path: Path) -> None:
        """A file that is not the one its reference speaks of is refused, and never saved."""
        written = await ground.workspace().write("a.txt", b"content")
        other = hashlib.sha256(b"another").hexdigest()
        assert await code_of(ground.source(written, sha256=other)) == "INPUT_CORRUPT"
        assert await code_of(ground.source(written, size=6)) == "INPUT_CORRUPT"
        assert await code_of(ground.source(written, size=8)) == "INPUT_CORRUPT"
        with pytest.raises(Final):
            await ground.source(written, sha256=other).save(tmp_path / "saved")
        assert [*os.walk(tmp_path)] == [(str(tmp_path), [], [])]

    async def test_a_limit_is_kept(self, ground: Ground) -> None:
        """Reading gives up past the limit, whether or not the reference told the size."""
        written = await ground.workspace().write("a.txt", b"content")
        assert await ground.source(written).read(limit=7) == b"content"
        for source in (ground.source(written), ground.source(written, size=None)):
            with pytest.raises(Final) as caught:
                await source.read(limit=6)
            assert caught.value.code == "INPUT_TOO_LARGE"

    async def test_text_and_json_must_be_text_and_json(self, ground: Ground) -> None:
        """A file that is something else is told as such."""
        written = await ground.workspace().write("a.json", b"\xff\xfe")
        with pytest.raises(Final) as no_text:
            await ground.source(written).text()
        with pytest.raises(Final) as no_json:
            await ground.source(written).json()
        assert (no_text.value.code, no_json.value.code) == ("INPUT_NOT_TEXT", "INPUT_NOT_JSON")

    async def test_several_writes_at_once(self, ground: Ground) -> None:
        """Files written at the same time do not meet."""
        workspace = ground.workspace()
        written = await asyncio.gather(*(workspace.write(f"{n}.txt", str(n)) for n in range(20)))
        assert [await ground.source(one).text() for one in written] == [str(n) for n in range(20)]
