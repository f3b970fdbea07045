"""One attempt without Lucius: for the tests of a service, and for trying it by hand.

    tried = await trial(count, document="one two three", payload={"fold_case": True})
    assert tried.json() == {"words": 3}

Everything is real but the other side: files, payload model, processes. What `execute` raises is raised.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import structlog

from lucius.sdk.serving.cancel import CancelToken
from lucius.sdk.serving.outcomes import Artifact, Output, output_of
from lucius.sdk.serving.pools import Processes
from lucius.sdk.serving.service import Service
from lucius.sdk.serving.step import Step
from lucius.sdk.workspaces.stores import Stores
from lucius.wire.messages import DirectiveMessage

Given = bytes | str | Path | Artifact | dict[str, Any]
"""What stands for a document: its content, the path of a file, another trial's artifact, or a reference."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What an attempt did."""

    output: Output
    progress: tuple[tuple[float, str], ...]
    directory: Path
    """Where the attempt wrote."""

    def read(self, name: str | None = None) -> bytes:
        """A file that was written; without a name, the output."""
        if name is None:
            if self.output.output is None:
                raise AssertionError("the attempt has no output")
            name = self.output.output.name
        return (self.directory / name).read_bytes()

    def text(self, name: str | None = None) -> str:
        """A file that was written, as UTF-8."""
        return self.read(name).decode()

    def json(self, name: str | None = None) -> Any:
        """A file that was written, parsed."""
        return msgspec.json.decode(self.read(name))


async def trial(
    service: Service[Any],
    *,
    document: Given = b"",
    payload: dict[str, Any] | None = None,
    inputs: Mapping[str, Given] | None = None,
    directory: Path | None = None,
    attempt_no: int = 1,
    cancel: CancelToken | None = None,
) -> Trial:
    """Run `execute` once. `directory` holds the documents and what is written; else a temporary one."""
    room = directory if directory is not None else _temporary()
    scratch = room / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    input_refs = {name: _ref(given, room / "inputs" / name) for name, given in (inputs or {}).items()}
    document_ref = _ref(document, room / "inputs" / "document")
    directive = _directive(
        service, room, document_ref, input_refs, payload=payload or {}, attempt_no=attempt_no
    )
    stores = Stores()
    seen: list[tuple[float, str]] = []
    pool = Processes(1)
    await service.start()
    try:
        with pool.hand() as hand:
            step: Step[Any] = Step(
                directive=directive,
                payload=service.read_payload(directive.payload),
                document=stores.source(document_ref),
                inputs={name: stores.source(ref) for name, ref in input_refs.items()},
                workspace=stores.workspace(
                    directive.workspace_ref["uri"], step_type=service.step_type, attempt_no=attempt_no
                ),
                scratch=lambda: scratch,
                cancel=cancel or CancelToken(),
                log=structlog.get_logger("lucius.service"),
                remaining=lambda: float("inf"),
                on_progress=lambda fraction, message: seen.append((fraction, message)),
                offload=hand,
            )
            output = output_of(await service.execute(step))
    finally:
        await service.stop()
        pool.close()
    written = room / "workspace" / service.step_type / str(attempt_no)
    return Trial(output=output, progress=tuple(seen), directory=written)


def _temporary() -> Path:
    """A directory that is gone when the process is."""
    room = Path(tempfile.mkdtemp(prefix="lucius-trial-"))
    atexit.register(shutil.rmtree, room, ignore_errors=True)
    return room


def _directive(
    service: Service[Any],
    room: Path,
    document: dict[str, Any],
    inputs: dict[str, dict[str, Any]],
    *,
    payload: dict[str, Any],
    attempt_no: int,
) -> DirectiveMessage:
    """What Lucius would have sent."""
    return DirectiveMessage(
        job_id="trial", step_id=service.step_type.lower(), tenant_id="trial", attempt_no=attempt_no,
        lease_id="trial", protocol_id="TRIAL", step_type=service.step_type, input_ref=document,
        workspace_ref={"uri": (room / "workspace").as_uri()}, output_ref={"uri": (room / "out").as_uri()},
        payload=payload, mode="DEFAULT", lane=0, routing_key_used="trial", correlation_id=None,
        traceparent=None, inputs=inputs,
    )  # fmt: skip


def _ref(given: Given, place: Path) -> dict[str, Any]:
    """A reference to what was given; content is written to a file first."""
    if isinstance(given, dict):
        return given
    if isinstance(given, Artifact):
        return given.ref()
    if isinstance(given, Path):
        return {"uri": given.absolute().as_uri()}
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(given.encode() if isinstance(given, str) else given)
    return {"uri": place.absolute().as_uri()}
