"""`lifebook demo`: one run from its first step to its event, with a failure on the way, in a few seconds.

Starts a child process on a free loopback port with a directory of its own and a short backoff; runs the
example workflow, whose third step fails on the first try; shows the wait, the resume there, the credits
and the one event; and leaves nothing behind. Every failure says why and ends in 1.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.endings import Ending, complain
from lucius.entrypoints.cli.session import Session, opened
from lucius.errors import LuciusError, Unavailable

if TYPE_CHECKING:
    from lucius.entrypoints.cli.show.lifebook_story import RunStory
    from lucius.sdk.lifebook_answers import Run, Wallet

_WAIT, _TOLD_WITHIN = 120.0, 20.0
_WORKSPACE, _WORKFLOW = "demo", "example-four-steps"
_SETTINGS = {
    "LUCIUS_LIFEBOOK_BACKOFF_SECONDS": "2,4,8,16",
    "LUCIUS_LIFEBOOK_SWEEP_SECONDS": "0.25",
    "LUCIUS_LIFEBOOK_CONCURRENCY": "1",
}
_EVENTS = "lifebook-events.jsonl"
_NEXT = (
    ("up", "keep one running"),
    ("lifebook run example-four-steps", "this run, with usual waits"),
    ("lifebook workflows", "what can be run"),
    ("lifebook worker", "another worker"),
    ("lifebook --help", "schedules, hooks, credits"),
)


def demo(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Only the finished run, as JSON.")] = False,
) -> None:
    """See a run at work: four steps, a failure, a wait, a resume, credits and one event."""
    from lucius.entrypoints.cli.child import serving

    try:
        with tempfile.TemporaryDirectory(prefix="lucius-lifebook-") as made:
            home = Path(made).resolve()
            with (
                serving(home, "--services", "none", settings=_SETTINGS) as url,
                opened(url=url, as_json=as_json) as session,
            ):
                code = _show(session, home / "data" / _EVENTS)
    except LuciusError as error:
        complain(f"the demo did not work: {error.message}")
        raise typer.Exit(Ending.REFUSED) from None
    raise typer.Exit(code)


def _show(session: Session, events: Path) -> Ending:
    from lucius.entrypoints.cli.commands.lifebook_following import ending, follow
    from lucius.entrypoints.cli.show.lifebook_story import RunStory
    from lucius.runtime.nature import now_ms
    from lucius.sdk import lifebook

    if not session.as_json:
        _introduce(session)
    request = {"workspace_id": _WORKSPACE, "user_id": "ada", "workflow_id": _WORKFLOW,
               "input": {"file": "report.pdf"}, "idempotency_key": "demo-1"}  # fmt: skip
    began = session.client.send(lifebook.create(request))
    held = session.client.send(lifebook.wallet(_WORKSPACE))
    story = RunStory()
    run = follow(session, began, timeout=_WAIT, now=now_ms(), story=story)
    told = _told(events, run.job_id)
    if session.as_json:
        session.show(session.client.raw(lifebook.get(run.job_id)))
    else:
        _tell(session, run, story, held, told)
        _point_on(session)
    return Ending.OK if ending(run) is Ending.OK else Ending.REFUSED


def _introduce(session: Session) -> None:
    told = (
        f"Lucius runs on {session.url}, with a worker for lifebook runs.\n"
        f"Of the four steps of {_WORKFLOW} the third fails on the first try, and is\n"
        "tried again after about 2 s (usually 30 s, then 2, 10 and 30 minutes).\n"
    )
    session.out.print(told, style="dim", soft_wrap=True)


def _told(events: Path, job_id: str) -> list[dict[str, Any]]:
    """What analytics was told of the run: by a duty, a moment after its end."""
    import msgspec

    until = time.monotonic() + _TOLD_WITHIN
    while time.monotonic() < until:
        lines = events.read_bytes().splitlines() if events.exists() else []
        found = [msgspec.json.decode(line) for line in lines]
        if mine := [one for one in found if one["job_id"] == job_id]:
            return mine
        time.sleep(0.05)
    raise Unavailable(f"nothing was told of the run {job_id} within {_TOLD_WITHIN:.0f} s.")


def _tell(session: Session, run: Run, story: RunStory, held: Wallet, told: list[dict[str, Any]]) -> None:
    """What happened, what it cost, and what analytics heard of it."""
    from lucius.entrypoints.cli.show.job import indented
    from lucius.entrypoints.cli.show.lifebook_demo import credits_lines, event_lines, sentence
    from lucius.entrypoints.cli.show.lifebook_story import timeline
    from lucius.sdk import lifebook

    out = session.out
    if out.is_terminal:  # elsewhere every line was told when it happened
        out.print("\nIts story:\n", style="bold")
        out.print(indented(timeline(story.told)))
    out.print("\nIts credits, from reservation to settlement:\n", style="bold")
    out.print(credits_lines(run, held, session.client.send(lifebook.wallet(_WORKSPACE))))
    out.print("\nWhat analytics is told, once for each run:\n", style="bold")
    out.print(event_lines(told), soft_wrap=True)
    out.print()
    out.print(sentence(run))


def _point_on(session: Session) -> None:
    from lucius.entrypoints.cli.commands.demo import point_on

    point_on(session, _NEXT)
