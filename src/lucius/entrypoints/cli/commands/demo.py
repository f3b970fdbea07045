"""`demo`: a whole Lucius in a few seconds, from a real PDF to answers with their pages, and its story.

Makes a report of several pages, one of them only a picture; starts a child process on a free loopback port
with a directory of its own and the three reference services; takes the report through OCR, EMBEDDING and
SIS; and leaves nothing behind. Without the extra `[reference]` echo plays the services, and it says so.
Every failure says why and ends in 1.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.endings import Ending, complain
from lucius.entrypoints.cli.session import Session, opened
from lucius.errors import Invalid, LuciusError

if TYPE_CHECKING:
    from lucius.sdk.answers import Job

_WAIT = 300.0
_QUESTIONS = (
    "What is the report number?",
    "How many people were supplied with drinking water?",
    "How deep is the deepest well?",
    "What was the total revenue?",
    "When will the next yearly report be published?",
)
_NEXT = (
    ("up", "keep one running on port 8700"),
    ("submit report.pdf --prompt 'Who signed it?' --wait", "ask about a document of yours"),
    ("output JOB --save DIR", "the answers and files of a job"),
    ("new-service NAME", "write a service of your own"),
    ("lifebook demo", "steps that fail, wait and resume"),
    ("--help", "everything else"),
)


def demo(
    *,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", show_default=False, help="Keep the PDF and the outputs there."),
    ] = None,
    services: Annotated[
        str | None,
        typer.Option("--services", metavar="reference|echo", show_default=False,
                     help="Who does the work; real services if the extra is installed."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option("--engine", metavar="outbox|temporal", help="What drives the job."),
    ] = "outbox",
    delay: Annotated[
        float, typer.Option("--delay", metavar="S", min=0, help="Seconds each step takes (echo only).")
    ] = 0.8,
    as_json: Annotated[bool, typer.Option("--json", help="Only the finished job, as JSON.")] = False,
) -> None:  # fmt: skip
    """See Lucius work: make a PDF, start a Lucius, read and question the PDF, tell the story, stop."""
    from lucius.entrypoints.cli.child import serving
    from lucius.runtime.reference import installed, require

    chosen = services or ("reference" if installed() else "echo")
    if chosen not in {"reference", "echo"}:
        raise Invalid("The demo runs with --services reference or echo.", code="BAD_SETTINGS")
    real = chosen == "reference"
    if keep is not None:
        _room(keep)
    try:
        if real:
            require()
        with tempfile.TemporaryDirectory(prefix="lucius-demo-") as made:
            home = Path(made).resolve()
            options = [
                "--engine",
                engine,
                "--services",
                chosen,
                "--echo-delay",
                str(delay),
                "--files",
                str(home),
            ]
            with serving(home, *options) as url, opened(url=url, as_json=as_json) as session:
                code = _show(session, _document(home) if real else None, keep)
    except LuciusError as error:
        complain(f"the demo did not work: {error.message}")
        raise typer.Exit(Ending.REFUSED) from None
    raise typer.Exit(code)


def _document(home: Path) -> Path:
    from lucius.runtime.reference import sample_report

    return sample_report(home / "report.pdf")


def _show(session: Session, document: Path | None, keep: Path | None) -> Ending:
    from lucius.entrypoints.cli.waiting import ending, wait
    from lucius.runtime.nature import now_ms
    from lucius.sdk import commands, jobs

    if not session.as_json:
        _introduce(session, document)
    receipt = session.client.send(commands.submit(_envelope(document)))
    job = wait(session, receipt.job_id, timeout=_WAIT, now=now_ms())
    found: dict[str, Any] = session.client.raw(jobs.get(job.job_id))
    kept = _keep(found, document, keep) if ending(job) is Ending.OK and keep and document else []
    if session.as_json:
        session.show(found)
    else:
        _tell(session, job, found if document else None)
        if kept:
            session.out.print("\nKept:\n", style="bold")
        for path in kept:
            session.out.print(f"  {path}", soft_wrap=True)
        point_on(session, _NEXT)
    return ending(job) if ending(job) is Ending.OK else Ending.REFUSED


def _introduce(session: Session, document: Path | None) -> None:
    from lucius.runtime.reference import REMEDY

    if document is None:
        told = f"with echo services that only pretend to work; for real ones {REMEDY}."
    else:
        told = "with OCR, EMBEDDING and SIS in processes of their own.\n"
        told += "It reads a report of four pages, the third only a picture, and answers five questions."
    session.out.print(f"Lucius runs on {session.url}, {told}\n", style="dim", soft_wrap=True)


def _envelope(document: Path | None) -> dict[str, Any]:
    from lucius.entrypoints.cli.envelopes import ask, build

    source = "s3://demo-bucket/report.pdf" if document is None else str(document)
    return build(source, {"tenant_id": "demo", "payload": ask({}, list(_QUESTIONS), None)})


def _room(directory: Path) -> None:
    """A directory that cannot be written to is better told before the work than after it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Invalid(
            f"{directory} cannot be used for --keep: {error.strerror}.", code="DIRECTORY_UNUSABLE"
        ) from None


def _keep(job: dict[str, Any], document: Path, directory: Path) -> list[Path]:
    from lucius.entrypoints.cli.outputs import save

    return [Path(shutil.copy(document, directory / document.name)), *save(job, directory)]


def _tell(session: Session, job: Job, found: dict[str, Any] | None) -> None:
    """The finished job, what it found out, and its story."""
    from lucius.entrypoints.cli.show.explanation import sentence
    from lucius.entrypoints.cli.show.job import indented, sheet
    from lucius.entrypoints.cli.show.story import timeline
    from lucius.runtime.nature import now_ms
    from lucius.sdk import jobs

    events = session.client.send(jobs.events(job.job_id, limit=1000)).read()
    explanation: dict[str, Any] = session.client.send(jobs.explain(job.job_id))
    out = session.out
    if not out.is_terminal:
        out.print()
        out.print(sheet(job, now_ms()))
    if found is not None and job.state == "SUCCEEDED":
        _answer(session, found)
    out.print("\nIts story, event by event:\n", style="bold")
    out.print(indented(timeline(events)))
    out.print()
    out.print(sentence(explanation))


def _answer(session: Session, found: dict[str, Any]) -> None:
    from lucius.entrypoints.cli import outputs
    from lucius.entrypoints.cli.commands.output import tell

    session.out.print("\nWhat it found out, and on which page:\n", style="bold")
    ref = outputs.final_output(found)
    tell(session, ref, outputs.read(ref))


def point_on(session: Session, onwards: Sequence[tuple[str, str]]) -> None:
    """What to type next, and why."""
    from rich.text import Text

    session.out.print("\nWhere to go next:\n", style="bold")
    program = _program()
    width = max(len(words) for words, _ in onwards) + len(program) + 4
    for words, why in onwards:
        line = Text.assemble("  ", (f"{program} {words}".ljust(width), "cyan"), (why, "dim"))
        session.out.print(line, soft_wrap=True)


def _program() -> str:
    """How this program is called from here: by its name if the shell finds it."""
    here = Path(sys.argv[0]).absolute()
    if here.name != "lucius" or shutil.which("lucius"):
        return "lucius"
    return str(here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here)
