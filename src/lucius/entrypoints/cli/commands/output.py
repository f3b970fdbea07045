"""`output`: what a finished job found out, and its files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lucius.entrypoints.cli.options import JobId
from lucius.entrypoints.cli.session import Session, printable, remote


@remote
def output(
    session: Session,
    job_id: JobId,
    *,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save", metavar="DIR", show_default=False,
            help="Copy every file of the job there, one folder a step, checked by size and SHA-256.",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Show what a job put out: the answers as a table, text and JSON as themselves."""
    from lucius.entrypoints.cli import outputs
    from lucius.sdk import jobs

    job = session.client.raw(jobs.get(job_id))
    ref = outputs.final_output(job)
    content = outputs.read(ref)
    saved = outputs.save(job, save) if save is not None else []
    if session.as_json:
        session.show({
            "jobId": job_id, "ref": ref, "content": content, "saved": [str(path) for path in saved]
        })  # fmt: skip
        return
    if save is None or content is not None:
        tell(session, ref, content)
    for path in saved:
        session.out.print(f"  saved {path}", style="dim", soft_wrap=True)


def tell(session: Session, ref: dict[str, Any], content: Any) -> None:
    """An output for a person: plain text exactly as it is where nobody looks at a terminal."""
    from rich.text import Text

    from lucius.entrypoints.cli.show.answers import content_sheet

    if content is None:
        told = f"{ref['uri']} is neither text nor JSON; keep it with --save DIR."
        session.out.print(Text(told, style="dim"), soft_wrap=True)
    elif isinstance(content, str) and not session.out.is_terminal:
        session.out.file.write(content if content.endswith("\n") else f"{content}\n")
    else:
        session.out.print(content_sheet(_shown(content)))


def _shown(content: Any) -> Any:
    """Without what a terminal would act on; a form feed ends a page."""
    if isinstance(content, str):
        return "\n".join(printable(line.expandtabs()) for line in content.replace("\f", "\n\n").split("\n"))
    return printable(content)
