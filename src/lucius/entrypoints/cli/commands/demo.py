"""`demo`: a whole Lucius in a few seconds, from start to a finished job and its story.

Starts a child process on a free loopback port with a directory of its own, runs one job of three steps
through it, and leaves nothing behind. Every failure says why and ends in 1.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.commands.serving import free_port
from lucius.entrypoints.cli.endings import Ending, complain
from lucius.entrypoints.cli.session import Session, opened
from lucius.errors import LuciusError, Unavailable

if TYPE_CHECKING:
    from lucius.sdk.answers import Job

_READY_WITHIN = 20.0
_STOP_WITHIN = 10.0
_TENANT = "demo"
_ENVELOPE = {
    "tenant_id": _TENANT,
    "request_type": "OCR_EMBEDDING_SIS",
    "input_ref": {"uri": "s3://demo-bucket/contract.pdf"},
    "output_ref": {"uri": "s3://demo-bucket/contract.out/"},
    "payload": {
        "ocr": {"language": "en"},
        "embedding": {"chunk_size": 512},
        "sis": {"prompt_set": "summary"},
    },
    "schema_version": "1",
}


def demo(
    *,
    delay: Annotated[
        float, typer.Option("--delay", metavar="S", min=0, help="Seconds each step takes.")
    ] = 0.8,
    as_json: Annotated[bool, typer.Option("--json", help="Only the finished job, as JSON.")] = False,
) -> None:
    """See Lucius work: start one, run a three-step job through it, read its story, stop."""
    with tempfile.TemporaryDirectory(prefix="lucius-demo-") as home:
        try:
            with _server(Path(home), delay) as url, opened(url=url, as_json=as_json) as session:
                code = _show(session, url)
        except LuciusError as error:
            complain(f"the demo did not work: {error.message}")
            raise typer.Exit(Ending.REFUSED) from None
    raise typer.Exit(code)


def _show(session: Session, url: str) -> Ending:
    from lucius.entrypoints.cli.waiting import ending, wait
    from lucius.runtime.nature import now_ms
    from lucius.sdk import commands, jobs

    if not session.as_json:
        session.out.print(f"Lucius runs on {url}, with echo services in place of real ones.\n", style="dim")
    receipt = session.client.send(commands.submit(_ENVELOPE))
    job = wait(session, receipt.job_id, timeout=60, now=now_ms())
    if session.as_json:
        session.show(session.client.raw(jobs.get(job.job_id)))
    else:
        _tell(session, job)
    return ending(job) if ending(job) is Ending.OK else Ending.REFUSED


def _tell(session: Session, job: Job) -> None:
    """The finished job, its story, and where to go from here."""
    from rich.text import Text

    from lucius.entrypoints.cli.show.explanation import sentence
    from lucius.entrypoints.cli.show.job import indented, sheet
    from lucius.entrypoints.cli.show.story import timeline
    from lucius.runtime.nature import now_ms
    from lucius.sdk import jobs

    events = session.client.send(jobs.events(job.job_id)).read()
    explanation: dict[str, Any] = session.client.send(jobs.explain(job.job_id))
    out = session.out
    if not out.is_terminal:
        out.print()
        out.print(sheet(job, now_ms()))
    else:
        out.print()
        out.print(indented(_where(job)))
    out.print("\nIts story, event by event:\n", style="bold")
    out.print(indented(timeline(events)))
    out.print()
    out.print(sentence(explanation))
    out.print("\nWhere to go next:\n", style="bold")
    program = _program()
    width = max(len(words) for words, _ in _NEXT) + len(program) + 4
    for words, why in _NEXT:
        out.print(
            Text.assemble("  ", (f"{program} {words}".ljust(width), "cyan"), (why, "dim")), soft_wrap=True
        )


_NEXT = (
    ("up", "keep one running on port 8700"),
    ("submit s3://bucket/report.pdf --type OCR --wait", "give it work"),
    ("jobs", "see what there is"),
    ("--help", "everything else"),
)


def _where(job: Job) -> Any:
    from lucius.entrypoints.cli.show.job import facts

    return facts(
        [
            ("tenant", job.tenant_id),
            ("input", str((job.input_ref or {}).get("uri", ""))),
            ("lane", f"{job.lane} · {job.topic}"),
        ]
    )


def _program() -> str:
    """How this program is called from here: by its name if the shell finds it."""
    here = Path(sys.argv[0]).absolute()
    if here.name != "lucius" or shutil.which("lucius"):
        return "lucius"
    return str(here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here)


@contextlib.contextmanager
def _server(home: Path, delay: float) -> Iterator[str]:
    """A Lucius in a child process, ready; stopped on the way out, whatever happens."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = ["up", "--host", "127.0.0.1", "--port", str(port), "--data", str(home / "data")]
    arguments += ["--services", "echo", "--echo-delay", str(delay)]
    # Settings of the surrounding shell are for other servers.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    with (home / "server.log").open("w+b") as log:
        child = subprocess.Popen(  # noqa: S603 - our own program with arguments made above
            [sys.executable, "-m", "lucius.entrypoints.cli", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the demo, which stops its child itself
        )
        try:
            await_ready(child, url, home / "server.log")
            yield url
        finally:
            stop_child(child)


def await_ready(child: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until the server takes jobs; raise `Unavailable` with its last words if it does not."""
    import httpx2

    until = time.monotonic() + _READY_WITHIN
    with httpx2.Client(base_url=url, timeout=1.0, trust_env=False) as http:
        while time.monotonic() < until:
            if child.poll() is not None:
                raise Unavailable(f"the server ended with {child.returncode}:\n{_tail(log)}")
            with contextlib.suppress(httpx2.HTTPError):
                if http.get("/readyz").status_code == httpx2.codes.OK:
                    return
            time.sleep(0.03)
    raise Unavailable(f"the server was not ready within {_READY_WITHIN:.0f} s:\n{_tail(log)}")


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:])


def stop_child(child: subprocess.Popen[bytes]) -> None:
    """Let it drain; end it if it does not."""
    child.terminate()
    try:
        child.wait(_STOP_WITHIN)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
