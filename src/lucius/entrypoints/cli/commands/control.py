"""`cancel`, `pause`, `resume` and `retry`: asking something of jobs that exist.

Several ids are asked one after another; a refusal of one does not stop the others, and the exit code is
1 if any was refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.asking import agreed
from lucius.entrypoints.cli.endings import Ending, ending_of, tell
from lucius.entrypoints.cli.options import JobIds, Yes
from lucius.entrypoints.cli.session import Session, remote
from lucius.errors import LuciusError

if TYPE_CHECKING:
    from lucius.sdk.call import Call


@remote
def cancel(
    session: Session,
    job_ids: JobIds,
    *,
    force: Annotated[bool, typer.Option("--force", help="Do not wait for the step in flight.")] = False,
    yes: Yes = False,
) -> None:
    """Stop jobs; the step in flight may finish unless --force."""
    from lucius.sdk import jobs

    if force and not agreed(f"Cancel {_these(job_ids)} without waiting for running work?", yes=yes):
        raise typer.Exit(Ending.REFUSED)
    ask(session, job_ids, lambda job_id: jobs.cancel(job_id, force=force))


@remote
def pause(session: Session, job_ids: JobIds) -> None:
    """Start nothing new for these jobs."""
    from lucius.sdk import jobs

    ask(session, job_ids, jobs.pause)


@remote
def resume(session: Session, job_ids: JobIds) -> None:
    """Go on after a pause."""
    from lucius.sdk import jobs

    ask(session, job_ids, jobs.resume)


@remote
def retry(session: Session, job_ids: JobIds) -> None:
    """Run failed or cancelled jobs again, as new jobs that start at the failed step."""
    from lucius.sdk import jobs

    ask(session, job_ids, jobs.retry)


def ask(
    session: Session, job_ids: list[str], call: Callable[[str], Call[Any]], *, many: bool = False
) -> None:
    """Ask the same of each job, print what became of it, and end with the worst of it."""
    answers, worst = [], Ending.OK
    for job_id in job_ids:
        try:
            answer = session.client.raw(call(job_id))
        except LuciusError as error:
            tell(error)
            worst = max(worst, ending_of(error))
            answer = {"jobId": job_id, "error": {"code": error.code, "detail": error.message}}
        else:
            if not session.as_json:
                _say(session, job_id, answer)
        answers.append(answer)
    if session.as_json:
        session.show({"jobs": answers} if many or len(job_ids) != 1 else answers[0])
    raise typer.Exit(worst)


def _say(session: Session, asked: str, answer: dict[str, Any]) -> None:
    from rich.text import Text

    from lucius.entrypoints.cli.show.states import badge

    state = str(answer.get("state") or answer.get("status") or "")
    job_id = str(answer.get("jobId", asked))
    origin = Text(f"  retry of {asked}", style="dim") if job_id != asked else Text()
    session.out.print(Text.assemble(job_id, "  ", badge(state), origin), soft_wrap=True)


def _these(job_ids: list[str]) -> str:
    return f"job {job_ids[0]}" if len(job_ids) == 1 else f"{len(job_ids)} jobs"
