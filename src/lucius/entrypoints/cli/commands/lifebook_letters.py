"""`lifebook dead-letters`, `redrive` and `discard`: runs that failed for good, and unreadable messages."""

from __future__ import annotations

from typing import Annotated

import typer

from lucius.entrypoints.cli.asking import agreed
from lucius.entrypoints.cli.commands.lifebook_options import User, user_of
from lucius.entrypoints.cli.endings import Ending
from lucius.entrypoints.cli.options import Yes
from lucius.entrypoints.cli.session import Session, remote

LetterId = Annotated[
    str,
    typer.Argument(metavar="ID", help="As `lucius lifebook dead-letters` shows it.", show_default=False),
]


@remote
def dead_letters(
    session: Session,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="At most so many.")] = 100,
) -> None:
    """List what is among the dead letters; looking takes nothing away."""
    from rich.text import Text

    from lucius.entrypoints.cli.show.lifebook import dead_letters as table
    from lucius.runtime.nature import now_ms
    from lucius.sdk import lifebook

    document = session.client.raw(lifebook.dead_letters(limit=limit))
    letters = document.get("dead_letters", [])
    empty = Text("No dead letters.", style="dim")
    session.show(document, table(letters, now_ms(), session.out.width) if letters else empty)


@remote
def redrive(session: Session, letter_id: LetterId, *, user: User = None) -> None:
    """Run a dead run again, as a new one, and take its letters away."""
    from lucius.entrypoints.cli.commands.lifebook_options import advised
    from lucius.entrypoints.cli.commands.lifebook_runs import started
    from lucius.sdk import lifebook

    call = lifebook.redrive(letter_id, user=user_of(user))
    with advised("letter", "lucius lifebook dead-letters"):
        document = session.client.raw(call)
    started(session, document, call.read(document))


@remote
def discard(session: Session, letter_id: LetterId, *, yes: Yes = False) -> None:
    """Delete the letters of a run, or one that names no run; the run stays as it is."""
    from rich.text import Text

    from lucius.entrypoints.cli.commands.lifebook_options import advised
    from lucius.entrypoints.cli.show.words import count
    from lucius.sdk import lifebook

    if not agreed(f"Delete the dead letters of {letter_id} for good?", yes=yes):
        raise typer.Exit(Ending.REFUSED)
    with advised("letter", "lucius lifebook dead-letters"):
        document = session.client.raw(lifebook.discard(letter_id))
    gone = int(document.get("discarded", 0))
    done = Text.assemble(("✓ ", "green"), f"{count(gone, 'dead letter')} of {letter_id} deleted.")
    session.show(document, done if gone else Text(f"There are no dead letters of {letter_id}.", style="dim"))
