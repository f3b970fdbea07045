"""A duty: files that are dropped into `<root>/<workspace>/<workflow>/` become runs, each once.

A file is taken when it looked the same in two rounds one after the other and its name neither starts with
`.` nor ends with `.part` or `.tmp`. Its run is given where it lies now, its name, size and hash; the key is
made of the path and the hash. `places.py` says how a crash at any point loses no file and makes no second
run.

    the same content under the same name again        put aside: it has had its run
    a link, a folder, a name that is none, no such workflow, no credits       put aside, with the reason
    the store is away                                 the claim stays open; the next round goes on
    it cannot even be moved                           left, and logged in every round

State: how things looked in the round before. It is lost with the process, which costs one round.
"""

from __future__ import annotations

import asyncio
import re
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import structlog

from lucius.errors import LuciusError, Unavailable
from lucius.lifebook.core.keys import KeySpace
from lucius.lifebook.core.states import TriggerType
from lucius.lifebook.triggers.places import Claim, Content, Places, Seen, UnfitError
from lucius.lifebook.usecases.create import Create, RunRequest
from lucius.ports.duties import Report

DEPTH = 3
WORKSPACE = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
USER = "file_drop"
_log = structlog.get_logger("lucius.lifebook")


class FileDrop:
    """Watches one folder, which must exist."""

    name = "lifebook-file-drop"

    def __init__(
        self,
        root: Path,
        create: Create,
        *,
        new_id: Callable[[], str],
        user_id: str = USER,
        interval: float = 2.0,
        limit: int = 100,
    ) -> None:
        """`new_id` names claims, so it never repeats; `user_id`: who the runs belong to."""
        self._places = Places(root, new_id=new_id)
        self._create = create
        self._user_id = user_id
        self.interval = interval
        self._limit = limit
        self._before: dict[tuple[str, ...], tuple[int, int, int]] = {}

    async def run_once(self) -> Report:
        """Finish what was begun, then take what is ready; raises `Unavailable` when the store is away."""
        counts: Counter[str] = Counter(taken=0, again=0, refused=0, waiting=0, stuck=0)
        try:
            begun = await asyncio.to_thread(self._places.claims)
            seen = await asyncio.to_thread(self._places.look)
        except OSError as error:
            text = f"The folder of dropped files cannot be read: {error}"
            raise Unavailable(text, code="FILE_DROP_UNAVAILABLE") from error
        steady = [one for one in seen if self._before.get(one.path) == one.mark]
        self._before = {one.path: one.mark for one in seen}
        work: list[Claim | Seen] = [*begun, *steady[: self._limit]]
        for one in work:
            try:
                await (self._finish(one, counts) if isinstance(one, Claim) else self._take(one, counts))
            except OSError as error:
                counts["stuck"] += 1
                _log.error("a dropped file cannot be moved", path=repr(one.path), reason=str(error))
        done = counts["taken"] + counts["refused"]
        more = len(steady) > self._limit and done > 0
        return Report(duty=self.name, acted=done, details=dict(counts), more=more)

    async def _take(self, seen: Seen, counts: Counter[str]) -> None:
        reason = unfit(seen)
        if reason is not None:
            if await asyncio.to_thread(self._places.turn_away, seen, reason):
                _tell(seen.path, reason, counts)
            return
        claim = await asyncio.to_thread(self._places.take, seen)
        if claim is not None:
            await self._finish(claim, counts)

    async def _finish(self, claim: Claim, counts: Counter[str]) -> None:
        try:
            content = await asyncio.to_thread(self._places.content, claim)
            created = await self._create.create(self._request(claim, content))
        except Unavailable:
            raise
        except BlockingIOError:
            counts["waiting"] += 1
        except (UnfitError, LuciusError) as error:
            reason = _words(error)
            await asyncio.to_thread(self._places.refuse, claim, reason)
            _tell(claim.path, reason, counts)
        else:
            await asyncio.to_thread(self._places.close, claim)
            counts["taken" if created.fresh else "again"] += 1

    def _request(self, claim: Claim, content: Content) -> RunRequest:
        workspace_id, workflow_id, name = claim.path
        return RunRequest(
            workspace_id=workspace_id,
            user_id=self._user_id,
            workflow_id=workflow_id,
            trigger_type=TriggerType.FILE_DROP,
            input={
                "file": self._places.file(claim).as_uri(),
                "name": name,
                "bytes": content.size,
                "sha256": content.sha256,
            },
            key=f"file_drop:{'/'.join(claim.path)}:{content.sha256}",
            space=KeySpace.FILE_DROP,
        )


def unfit(seen: Seen) -> str | None:
    """Why something in the folder cannot be taken; None: it may be."""
    if stat.S_ISLNK(seen.mode):
        return "It is a link, and links are not followed."
    if len(seen.path) != DEPTH:
        return "It is not in the folder of a workflow: <workspace>/<workflow>/<name>."
    if not stat.S_ISREG(seen.mode):
        return "It is not a regular file; drop the files of a folder one by one."
    if not WORKSPACE.fullmatch(seen.path[0]):
        return "A workspace is 1 to 63 of a-z, 0-9, _ and -, starting with a letter or digit."
    try:
        seen.relative.encode()
    except UnicodeEncodeError:
        return "Its name is not UTF-8."
    return None


def _words(error: Exception) -> str:
    if not isinstance(error, LuciusError):
        return str(error)
    if error.code == "IDEMPOTENCY_KEY_REUSED":
        said = error.message.rpartition(";")[0]
        return f"The same content was dropped under the same name before. {said}. Rename it to run it again."
    return f"{error.message} ({error.code}). Drop it again when that has changed."


def _tell(path: tuple[str, ...], reason: str, counts: Counter[str]) -> None:
    counts["refused"] += 1
    _log.warning("a dropped file was refused", path=repr("/".join(path)), reason=reason)
