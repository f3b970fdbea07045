"""`lifebook wallet` and `deposit`: the credits of a workspace."""

from __future__ import annotations

from typing import Annotated

import typer

from lucius.entrypoints.cli.session import Session, remote

Whose = Annotated[str, typer.Argument(metavar="W", help="The workspace.", show_default=False)]


@remote
def wallet(session: Session, workspace: Whose) -> None:
    """Show what is free, what is held for open runs, and what is spent."""
    from lucius.entrypoints.cli.show.lifebook import wallet as sheet
    from lucius.sdk import lifebook

    call = lifebook.wallet(workspace)
    document = session.client.raw(call)
    session.show(document, sheet(call.read(document)))


@remote
def deposit(
    session: Session,
    workspace: Whose,
    amount: Annotated[
        float, typer.Argument(metavar="CREDITS", help="At most two decimals.", show_default=False)
    ],
    *,
    deposit_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", show_default=False,
                     help="Names this deposit: given again, nothing is added again."),
    ] = None,
) -> None:  # fmt: skip
    """Add credits; with --id they are added once, however often it is said."""
    from rich.text import Text

    from lucius.entrypoints.cli.show.lifebook import wallet as sheet
    from lucius.runtime.nature import new_id
    from lucius.sdk import lifebook

    name = deposit_id or new_id()
    call = lifebook.deposit(workspace, amount, deposit_id=name)
    document = session.client.raw(call)
    told = Text.assemble(("✓ ", "green"), f"{amount:,.2f} credits deposited as {name}.\n")
    session.show(document, told, sheet(call.read(document)))
