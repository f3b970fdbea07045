"""`jobs`, `job`, `watch`, `events` and `explain`: looking at jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.commands.submitting import Timeout
from lucius.entrypoints.cli.options import JobId
from lucius.entrypoints.cli.session import Session, remote

if TYPE_CHECKING:
    from lucius.sdk.answers import Job
    from lucius.sdk.call import Param


def _filter(*names: str, metavar: str, text: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, rich_help_panel="Which jobs")


_tenant = _filter("--tenant", metavar="TENANT", text="Of this tenant.")
_state = _filter("--state", "-s", metavar="STATE", text="In this state; repeatable.")
_type = _filter("--type", "-t", metavar="TYPE", text="Of this request type.")
_doc = _filter("--doc-id", metavar="ID", text="For this document.")
_correlation = _filter("--correlation-id", metavar="ID", text="With this correlation id.")
_since = _filter("--since", metavar="TIME", text="Accepted at this time or later.")
_before = _filter("--before", metavar="TIME", text="Accepted before this time.")
_cursor = _filter("--cursor", metavar="CURSOR", text="Go on where the last page ended.")

Tenant = Annotated[str | None, _tenant]
State = Annotated[list[str] | None, _state]
Type = Annotated[str | None, _type]
DocId = Annotated[str | None, _doc]
Correlation = Annotated[str | None, _correlation]
Since = Annotated[str | None, _since]
Before = Annotated[str | None, _before]
Cursor = Annotated[str | None, _cursor]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Jobs a page.")]
Everything = Annotated[bool, typer.Option("--all", help="Every page, not only the first.")]


@remote
def jobs(
    session: Session,
    *,
    tenant: Tenant = None,
    state: State = None,
    request_type: Type = None,
    doc_id: DocId = None,
    correlation_id: Correlation = None,
    since: Since = None,
    before: Before = None,
    cursor: Cursor = None,
    limit: Limit = 25,
    everything: Everything = False,
) -> None:
    """List jobs, newest first."""
    from lucius.sdk import jobs as calls

    filters: dict[str, Param] = {
        "tenant_id": tenant,
        "state": [one.upper() for one in state] if state else None,
        "request_type": request_type,
        "doc_id": doc_id,
        "correlation_id": correlation_id,
        "created_from": since,
        "created_before": before,
        "limit": limit,
    }
    page = session.client.raw(calls.listing(**filters, cursor=cursor))
    while everything and page.get("next_cursor"):
        following = session.client.raw(calls.listing(**filters, cursor=page["next_cursor"]))
        page = following | {"jobs": [*page["jobs"], *following["jobs"]]}
    _list(session, page)


@remote
def job(session: Session, job_id: JobId) -> None:
    """Show one job with its steps."""
    from lucius.entrypoints.cli.show.job import sheet
    from lucius.runtime.nature import now_ms
    from lucius.sdk import jobs as calls

    call = calls.get(job_id)
    document = session.client.raw(call)
    session.show(document, sheet(call.read(document), now_ms()))


@remote
def watch(session: Session, job_id: JobId, *, timeout: Timeout = None) -> None:
    """Follow a job live until it is over; exit 1 if it failed."""
    from lucius.entrypoints.cli.waiting import wait
    from lucius.runtime.nature import now_ms

    conclude(session, wait(session, job_id, timeout=timeout, now=now_ms()))


@remote
def events(
    session: Session,
    job_id: JobId,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Stay and print what happens.")] = False,
    after: Annotated[int, typer.Option("--after", min=0, help="Only those after this number.")] = 0,
) -> None:
    """Tell what happened to a job, in order. With --follow and --json: one document a line."""
    from lucius.entrypoints.cli.show.story import timeline, typed

    if follow:
        _follow(session, job_id, after)
        return
    document = _all_events(session, job_id, after)
    session.show(document, timeline(typed(document["events"])))


@remote
def explain(session: Session, job_id: JobId) -> None:
    """Say why a job stands where it stands."""
    from lucius.entrypoints.cli.show.explanation import sheet
    from lucius.runtime.nature import now_ms
    from lucius.sdk import jobs as calls

    document = session.client.raw(calls.explain(job_id))
    if session.as_json:
        session.show(document)
        return
    began = session.client.send(calls.get(job_id)).created_at
    session.show(document, sheet(document, began, now_ms()))


def conclude(session: Session, job: Job) -> None:
    """The last word on a job that was waited for, and the exit code it deserves."""
    from rich.text import Text

    from lucius.entrypoints.cli.endings import Ending
    from lucius.entrypoints.cli.waiting import ending
    from lucius.sdk import jobs as calls

    code = ending(job)
    if session.as_json:
        session.show(session.client.raw(calls.get(job.job_id)))
    elif code is Ending.STILL_RUNNING:
        session.out.print(
            Text(f"  The time is up; the job goes on. lucius watch {job.job_id}", style="yellow")
        )
    elif job.error_code:
        session.out.print(Text(f"  {job.error_code}: {job.error_message or ''}".rstrip(": "), style="red"))
        session.out.print(Text(f"  lucius explain {job.job_id}", style="dim"))
    elif job.final_output:
        session.out.print(Text(f"  → {job.final_output.get('uri', '')}", style="dim"), soft_wrap=True)
        _answers(session, job.final_output)
    raise typer.Exit(code)


_PATIENCE = 10.0
"""Seconds that are waited for an output nobody asked for expressly."""


def _answers(session: Session, ref: dict[str, Any]) -> None:
    """Answers are shown at once; other outputs, and those that cannot be read from here, on demand."""
    from lucius.entrypoints.cli import outputs
    from lucius.entrypoints.cli.session import printable
    from lucius.entrypoints.cli.show.answers import answers, is_answers
    from lucius.errors import LuciusError

    if not str(ref.get("name", "")).endswith(".json"):
        return
    try:
        content = printable(outputs.read(ref, within=_PATIENCE))
    except LuciusError:
        return
    if is_answers(content):
        session.out.print()
        session.out.print(answers(content))


def _list(session: Session, page: dict[str, Any]) -> None:
    from rich.text import Text

    from lucius.entrypoints.cli.show.job import listing
    from lucius.entrypoints.cli.show.words import count
    from lucius.runtime.nature import now_ms
    from lucius.sdk.answers import JobPage
    from lucius.sdk.jobs import listing as call

    read: JobPage = call().read(page)
    if not read.jobs:
        session.show(page, Text("No jobs. Make one with `lucius submit`.", style="dim"))
        return
    rest = f"; more with --all or --cursor {read.next_cursor}" if read.next_cursor else ""
    footer = Text(f"{count(len(read.jobs), 'job')}{rest}", style="dim")
    session.show(page, listing(read.jobs, now_ms()), footer)


def _all_events(session: Session, job_id: str, after: int) -> dict[str, Any]:
    """The whole story, however many pages it takes."""
    from lucius.sdk import jobs as calls

    document = session.client.raw(calls.events(job_id, after=after, limit=1000))
    while document.get("more"):
        page = session.client.raw(calls.events(job_id, after=document["next_after"], limit=1000))
        document = page | {"events": [*document["events"], *page["events"]]}
    return dict(document)


def _follow(session: Session, job_id: str, after: int) -> None:
    import sys

    import msgspec

    from lucius.entrypoints.cli.endings import complain
    from lucius.entrypoints.cli.show.story import line
    from lucius.entrypoints.cli.show.words import moment
    from lucius.sdk import jobs as calls

    began = moment(session.client.send(calls.get(job_id)).created_at)
    broken = lambda error: complain(f"{error.message} Connecting again.")  # noqa: E731
    for event in session.client.follow(job_id, after=after, on_break=broken):
        if session.as_json:
            sys.stdout.write(msgspec.json.encode(event.more).decode() + "\n")
            sys.stdout.flush()
        else:
            session.out.print(line(event, began), soft_wrap=True)
