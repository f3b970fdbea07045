"""What happens to a run as sentences: the difference between two looks at it.

A look may come late and see several things at once; then they are told in their order. What happened and was
over between two looks (a failure, say, that was tried again at once) is told by what it left behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from rich.table import Table
from rich.text import Text

from lucius.entrypoints.cli.show.lifebook_states import credits_of
from lucius.entrypoints.cli.show.words import between, count, duration
from lucius.sdk.lifebook_answers import Run

Said = tuple[str, str] | tuple[str, str, str | None]
"""A sentence, its style, and when it happened if that is known better than by the run's last change."""
_MINUTE = 60_000


class RunStory:
    """Listens to looks at one run and tells what is new."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Text]] = []
        self._last: Run | None = None

    def heard(self, run: Run) -> list[tuple[str, Text]]:
        """What is new since the last look: when, and what."""
        said = _first(run) if self._last is None else []
        said += _progress(self._last or _unbegun(run), run)
        self._last = run
        new = [(_since(run, *at), Text(words, style=style)) for words, style, *at in said]
        self.told += new
        return new


def timeline(told: Sequence[tuple[str, Text]]) -> Table:
    """All of it under each other."""
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column()
    for since, words in told:
        table.add_row(since, words)
    return table


def _first(run: Run) -> list[Said]:
    held = f"{credits_of(run.credits_estimate)} credits reserved"
    origin = f", a retry of {run.retry_of}" if run.retry_of else ""
    steps = count(run.steps_total, "step")
    return [(f"{run.workflow_id} with {steps}, {held}{origin}", "", run.created_at)]


def _progress(before: Run, run: Run) -> list[Said]:
    said: list[Said] = []
    fresh = run.attempts > before.attempts
    if fresh and run.attempts > 1:
        if before.status != "failed" and run.last_error_code:
            said.append((f"attempt {run.attempts - 1} failed: {run.error}", "yellow"))
        said.append(_resumed(before, run))
    elif fresh:
        said.append((f"attempt 1 of {run.max_attempts} begins", "dim", run.started_at))
    said += _done(before, run)
    if run.status != before.status or (fresh and run.status == "failed"):
        said += _arrived(before, run)
    return said


def _done(before: Run, run: Run) -> list[Said]:
    said: list[Said] = []
    steps = run.steps[before.step_cursor : run.step_cursor]
    spent = round(run.credits_spent - before.credits_spent, 2)
    exact = spent == round(sum(step.credits for step in steps), 2)  # each has cost what was planned for it
    for index in range(before.step_cursor, run.step_cursor):
        where = f"step {index + 1} of {run.steps_total}"
        cost = credits_of(run.steps[index].credits) if index < len(run.steps) else "?"
        if not exact and cost != credits_of(0):
            cost = credits_of(spent) if run.step_cursor - before.step_cursor == 1 else f"at most {cost}"
        said.append((f"{where}, {run.step_name(index)}: done ({cost} credits)", "green"))
    return said


def _resumed(before: Run, run: Run) -> Said:
    """Where an attempt goes on is known if the one before it was seen to fail there."""
    said = f"attempt {run.attempts} of {run.max_attempts}"
    if before.status != "failed":
        return f"{said} is under way", "cyan"
    at = before.step_cursor
    kept = ", ".join(run.step_name(index) for index in range(at))
    rest = f"; {kept} {'is' if at == 1 else 'are'} not run again" if kept else ""
    return f"{said} goes on with step {at + 1}, {run.step_name(at)}{rest}", "cyan"


def _arrived(before: Run, run: Run) -> list[Said]:
    if run.status == "failed":
        wait = between(run.updated_at, run.next_attempt_at)
        soon = f"; next try in {duration(wait)}" if wait is not None else ""
        step = f"step {run.step_cursor + 1} of {run.steps_total}, {run.step_name(run.step_cursor)}"
        return [(f"{step}: failed with {run.error}{soon}", "yellow")]
    if run.status == "queued" and before.status == "running":
        return [
            ("the worker stopped or ran out of time; the run is handed on and stays in this attempt", "dim")
        ]
    if run.status == "completed":
        return [(f"completed for {credits_of(run.credits_spent)} credits{_freed(run)}", "bold green")]
    if run.status == "dead":
        return [(f"failed for good: {run.error}{_freed(run)}", "bold red")]
    if run.status == "canceled":
        why = f": {run.last_error_message}" if run.last_error_message else ""
        return [(f"canceled{why}{_freed(run)}", "magenta")]
    return []


def _freed(run: Run) -> str:
    rest = run.credits_estimate - run.credits_spent
    return f"; {credits_of(rest)} reserved credits are free again" if rest > 0 else ""


def _since(run: Run, at: str | None = None) -> str:
    passed = max(between(run.created_at, at or run.updated_at) or 0, 0)
    return f"+{passed / 1000:.1f} s" if passed < _MINUTE else f"+{duration(passed)}"


def _unbegun(run: Run) -> Run:
    """The run as it was when it was made: what a first look is compared with."""
    return replace(run, status="pending", attempts=0, step_cursor=0, credits_spent=0)
