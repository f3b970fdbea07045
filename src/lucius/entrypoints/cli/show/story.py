"""A job's events as a timeline people can read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from lucius.entrypoints.cli.show.words import between, duration, moment
from lucius.sdk.answers import Event

Said = tuple[str, str]
"""A sentence and its style."""

_QUIET = "dim"


def _fault(event: Event) -> str:
    fault = event.more.get("error") or {}
    code, message = fault.get("code", ""), fault.get("message", "")
    return f"{code}: {message}" if message else str(code)


def _attempt(event: Event) -> Said:
    return f"attempt {event.attempt_no} on lane {event.more.get('lane', '?')}", _QUIET


def _requeued(event: Event) -> Said:
    tries = event.more.get("publish_tries", "?")
    because = f" ({_fault(event)})" if event.more.get("error") else ""
    return f"not sent yet, will be sent again (try {tries}){because}", "yellow"


def _heartbeat(event: Event) -> Said:
    progress, message = event.more.get("progress"), event.more.get("message")
    share = f" {progress:.0%}" if isinstance(progress, int | float) else ""
    return f"still working{share}" + (f": {message}" if message else ""), _QUIET


def _retrying(event: Event) -> Said:
    wait = between(event.at, event.more.get("retry_at"))
    cause = "nobody took it" if event.more.get("track") == "dispatch" else "the work failed"
    return f"{cause}: {_fault(event).rstrip('.')}; next try in {duration(wait)}", "yellow"


def _resumed(event: Event) -> Said:
    pause = event.more.get("paused_for")
    return "resumed" + (f" after {duration(pause)}" if isinstance(pause, int) else ""), ""


def _cancelled(event: Event) -> Said:
    reason = event.more.get("reason")
    return "cancelled" + (f": {reason}" if reason else ""), "magenta"


def _refused(event: Event) -> Said:
    reply, verdict = event.more.get("reply", "reply"), str(event.more.get("verdict", "?"))
    return f"{reply} changed nothing: {verdict.replace('_', ' ')}", _QUIET


_SENTENCES: dict[str, Callable[[Event], Said]] = {
    "job.accepted": lambda _: ("accepted and durable", ""),
    "attempt.created": _attempt,
    "directive.published": lambda _: ("directive on the bus", _QUIET),
    "directive.requeued": _requeued,
    "directive.waiting": lambda _: ("still in the queue, which is being read", _QUIET),
    "step.acknowledged": lambda _: ("picked up by a service", _QUIET),
    "step.heartbeat": _heartbeat,
    "step.succeeded": lambda _: ("succeeded", "green"),
    "step.retry_scheduled": _retrying,
    "step.failed": lambda event: (f"failed for good: {_fault(event)}", "red"),
    "step.cancelled": lambda _: ("cancelled", "magenta"),
    "job.pausing": lambda _: ("pausing: the step in flight may finish", "yellow"),
    "job.paused": lambda _: ("paused", "yellow"),
    "job.resumed": _resumed,
    "job.cancelling": lambda _: ("cancelling: the step in flight may finish", "magenta"),
    "job.cancelled": _cancelled,
    "job.succeeded": lambda _: ("succeeded", "bold green"),
    "job.failed": lambda event: (f"failed: {_fault(event)}", "bold red"),
    "reply.refused": _refused,
}


def sentence(event: Event) -> Text:
    """What happened, in words; an event this version does not know is named."""
    tell = _SENTENCES.get(event.type)
    words, style = tell(event) if tell is not None else (event.type, _QUIET)
    return Text(words, style=style)


def line(event: Event, began: int | None) -> Text:
    """One event as one line, for a terminal that only scrolls."""
    return Text.assemble(
        (_since(event, began), _QUIET), "  ", f"{event.step_id or 'job':<12}  ", sentence(event)
    )


def timeline(events: Sequence[Event], began: str | None = None) -> Table:
    """All events under each other, timed from the first one."""
    start = moment(began) if began is not None else moment(events[0].at) if events else None
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style=_QUIET, no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    before = ""
    for event in events:
        who = event.step_id or "job"
        table.add_row(_since(event, start), "" if who == before else who, sentence(event))
        before = who
    return table


def typed(documents: Iterable[dict[str, Any]]) -> list[Event]:
    """Events from their documents."""
    import msgspec

    return [msgspec.convert(one, type=Event, strict=False).of(one) for one in documents]


def _since(event: Event, began: int | None) -> str:
    at = moment(event.at)
    if at is None or began is None:
        return event.at
    passed = at - began
    return f"{passed / 1000:+.3f} s" if passed < 60_000 else f"+{duration(passed)}"  # noqa: PLR2004
