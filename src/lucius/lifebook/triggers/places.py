"""The folder of dropped files, and who has a file: all that `file_drop.py` does on the disk.

    <root>/<workspace>/<workflow>/<name>   dropped: its sender may still write
    <root>/.open/<claim>                   a claim that has no run yet; holds the relative path
    <root>/.taken/<claim>/<name>           taken: here the run reads it, and here it stays
    <root>/.refused/<claim>/<name>         put aside, with `<name>.reason.txt` next to it

Taking is: open a claim, move the file, sync, hash; then the run is created, then the claim is closed. Each
move is one rename, so a file is in exactly one place. An open claim whose file is there is finished by
whoever finds it; one whose file is not there (a crash before the move, or somebody at it now) is left alone.
Folders are opened without following links, so nothing from outside the root is ever taken.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

IGNORED = (".part", ".tmp")
_PIECE = 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """Something in the folder, as it looked."""

    path: tuple[str, ...]
    """Names below the root: workspace, workflow, name; fewer where it does not belong."""
    mode: int
    mark: tuple[int, int, int]
    """Which file it is, its size and when it was written: what must not change for it to be taken."""

    @property
    def relative(self) -> str:
        """Its path below the root."""
        return "/".join(self.path)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was taken and has no run yet."""

    claim_id: str
    path: tuple[str, ...]


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a file."""

    size: int
    sha256: str


class UnfitError(Exception):
    """It cannot be taken; the message says why."""


class Places:
    """One folder. Every method touches the disk and blocks: call it in a thread."""

    def __init__(self, root: Path, *, new_id: Callable[[], str]) -> None:
        self._root = root.resolve()
        self._new_id = new_id

    def look(self) -> list[Seen]:
        """What lies in the folder and is neither hidden nor still on its way, by path."""
        with _folder(self._root) as root:
            return sorted(_below(root, ()), key=lambda seen: seen.path)

    def claims(self) -> list[Claim]:
        """Claims that are open and whose file is there."""
        found = []
        for ticket in _names(self._root / ".open"):
            try:
                text = (self._root / ".open" / ticket).read_text("utf-8")
            except FileNotFoundError:  # closed by somebody else since
                continue
            claim = Claim(claim_id=ticket, path=tuple(text.split("/")))
            if os.path.lexists(self.file(claim)):
                found.append(claim)
            elif os.path.lexists(self._root / ".refused" / ticket / claim.path[-1]):
                self.close(claim)  # the crash came after it was put aside
        return found

    def take(self, seen: Seen) -> Claim | None:
        """Move the file where only we touch it; None: somebody else has it."""
        claim = Claim(claim_id=self._new_id(), path=seen.path)
        ticket, place = self._root / ".open" / claim.claim_id, self.file(claim)
        _write(ticket, seen.relative)
        place.parent.mkdir(parents=True)
        try:
            self._move(seen, place)
        except OSError as error:
            place.parent.rmdir()
            ticket.unlink()
            if isinstance(error, FileNotFoundError):
                return None
            raise
        return claim

    def content(self, claim: Claim) -> Content:
        """Size and hash of a file that was taken; raises `UnfitError`, `BlockingIOError` while it changes."""
        try:
            file = os.open(self.file(claim), _FILE)
        except FileNotFoundError as error:  # put aside by somebody else since
            raise BlockingIOError("it is gone") from error
        except OSError as error:
            raise UnfitError(f"It cannot be read: {error.strerror}.") from error
        try:
            before = os.fstat(file)
            if not stat.S_ISREG(before.st_mode):
                raise UnfitError("It is not a regular file.")
            os.fsync(file)
            digest, size = hashlib.sha256(), 0
            while piece := os.read(file, _PIECE):
                digest.update(piece)
                size += len(piece)
            if _mark(os.fstat(file)) != _mark(before) or size != before.st_size:
                raise BlockingIOError("it is still written to")
        finally:
            os.close(file)
        return Content(size=size, sha256=digest.hexdigest())

    def file(self, claim: Claim) -> Path:
        """Where the file of a claim is."""
        return self._root / ".taken" / claim.claim_id / claim.path[-1]

    def close(self, claim: Claim) -> None:
        """It has its run; the file stays."""
        (self._root / ".open" / claim.claim_id).unlink(missing_ok=True)

    def refuse(self, claim: Claim, reason: str) -> None:
        """Put the file of a claim aside."""
        place = self._aside(claim.claim_id, claim.path, reason)
        with suppress(FileNotFoundError):  # a second finisher was quicker
            os.rename(self.file(claim), place)  # noqa: PTH104 - the tests stop at each of these calls
        self.close(claim)

    def turn_away(self, seen: Seen, reason: str) -> bool:
        """Put something aside that was never taken; False: it is gone."""
        place = self._aside(self._new_id(), seen.path, reason)
        try:
            self._move(seen, place)
        except OSError as error:
            place.with_name(f"{_short(place.name)}.reason.txt").unlink()
            place.parent.rmdir()
            if isinstance(error, FileNotFoundError):
                return False
            raise
        return True

    def _aside(self, claim_id: str, path: tuple[str, ...], reason: str) -> Path:
        place = self._root / ".refused" / claim_id / path[-1]
        shown = "/".join(path).encode("utf-8", "backslashreplace").decode()
        _write(place.with_name(f"{_short(place.name)}.reason.txt"), f"{shown}\n{reason}\n")
        return place

    def _move(self, seen: Seen, place: Path) -> None:
        """One rename, out of a folder that is below the root for certain; on the disk when this returns."""
        with _folder(self._root, *seen.path[:-1]) as source:
            os.rename(seen.path[-1], place, src_dir_fd=source)
            os.fsync(source)
        with _folder(place.parent) as target:
            os.fsync(target)


@contextmanager
def _folder(path: Path, *names: str) -> Iterator[int]:
    """A folder by handle; none of `names` may be a link."""
    handle = os.open(path, _FOLDER)
    try:
        for name in names:
            inner = os.open(name, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _below(folder: int, path: tuple[str, ...]) -> Iterator[Seen]:
    """Workspaces hold workflows, workflows hold files; whatever is not so is seen where it is."""
    for name in os.listdir(folder):
        if name.startswith(".") or (name.endswith(IGNORED) and len(path) > 1):
            continue
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) and len(path) < 2:  # noqa: PLR2004 - see above
                inner = os.open(name, _FOLDER, dir_fd=folder)
                try:
                    yield from _below(inner, (*path, name))
                finally:
                    os.close(inner)
                continue
        except OSError:  # gone since, or closed to us: what cannot be looked at is not there
            continue
        yield Seen(path=(*path, name), mode=found.st_mode, mark=_mark(found))


def _mark(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _names(folder: Path) -> list[str]:
    try:
        # A hidden one is being written.
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))  # noqa: PTH208
    except FileNotFoundError:
        return []


def _short(name: str) -> str:
    """A name with room for what is added to it (names have at most 255 bytes)."""
    return os.fsdecode(os.fsencode(name)[:200])


def _write(path: Path, text: str) -> None:
    """A small file, whole or not there, on the disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
    try:
        os.write(handle, text.encode())
        os.fsync(handle)
    finally:
        os.close(handle)
    os.rename(part, path)  # noqa: PTH104 - as above
    with _folder(path.parent) as folder:
        os.fsync(folder)
