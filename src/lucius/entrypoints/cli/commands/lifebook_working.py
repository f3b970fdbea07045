"""`lifebook worker` and `provision`: processes and places of lifebook runs. They need no server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from lucius.entrypoints.cli.options import Data
from lucius.errors import Invalid, Refused

if TYPE_CHECKING:
    from lucius.runtime.settings import Settings

_USUAL_CONCURRENCY = 4


def worker(
    *,
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", metavar="N", min=1, max=256, show_default=False,
                     help="Runs at once: LUCIUS_LIFEBOOK_CONCURRENCY, else 4."),
    ] = None,
    data: Data = None,
) -> None:  # fmt: skip
    """Run a worker until Ctrl-C or SIGTERM: steps in flight end, their runs go on elsewhere."""
    from lucius.runtime.lifebook_worker import run_worker
    from lucius.runtime.offline import settings
    from lucius.telemetry.logs import bound

    found = settings(data=data, lifebook_concurrency=concurrency)
    if found.lifebook_concurrency == 0:  # said for the API, whose workers are elsewhere: here
        found = settings(data=data, lifebook_concurrency=_USUAL_CONCURRENCY)
    with bound(service="lifebook-worker"):  # tells its lines apart where several processes write
        code = run_worker(found, announce=lambda workflows: _announce(found, workflows))
    raise typer.Exit(code)


def provision() -> None:
    """Make the table and the queues on a local double of AWS; where there is AWS, Terraform makes them."""
    import asyncio

    from lucius.runtime.offline import settings

    found = settings()
    endpoint = found.lifebook_endpoint
    if endpoint is None:
        message = (
            "provision works on a local double only: name it with LUCIUS_LIFEBOOK_ENDPOINT; "
            "for AWS use the Terraform files in deploy/aws."
        )
        raise Refused(message, code="NO_ENDPOINT")
    if (urlsplit(endpoint).hostname or "").endswith((".amazonaws.com", ".amazonaws.com.cn")):
        message = f"{endpoint} is AWS itself: use the Terraform files in deploy/aws."
        raise Refused(message, code="NO_ENDPOINT")
    asyncio.run(_make(found, endpoint))
    made = f"{found.lifebook_table}, {found.lifebook_queue} and {found.lifebook_dlq}"
    typer.echo(f"✓ {made} are there, on {endpoint}.")


async def _make(found: Settings, endpoint: str) -> None:
    import os

    from lucius.runtime.nature import sleep

    try:
        from lucius.lifebook.adapters.aws.connecting import connect
        from lucius.lifebook.adapters.aws.names import Names
        from lucius.lifebook.adapters.aws.tables import provision as make
    except ImportError as error:
        message = f"provision needs the extra [aws] ({error}); install lucius[aws]."
        raise Invalid(message, code="BAD_SETTINGS") from None
    # A double asks for credentials and takes any.
    own = {"AWS_ACCESS_KEY_ID", "AWS_PROFILE"}.isdisjoint(os.environ)
    credentials: dict[str, Any] = {"access_key_id": "local", "secret_access_key": "local"} if own else {}
    clients = await connect(
        region=found.lifebook_region, endpoint=endpoint, services=("dynamodb", "sqs"), **credentials
    )
    try:
        names = Names(table=found.lifebook_table, queue=found.lifebook_queue, dead_letters=found.lifebook_dlq)
        await make(clients, sleep=sleep, names=names)
    finally:
        await clients.close()


def _announce(found: Settings, workflows: str) -> None:
    """Say what it works on; logs follow."""
    where = (
        f"{found.lifebook_table} and {found.lifebook_queue} at {found.lifebook_endpoint or 'AWS'}"
        if found.lifebook_backend == "aws"
        else str(found.data / "lifebook.db")
    )
    lines = [
        "Lucius lifebook worker",
        f"  runs       {where}",
        f"  workflows  {workflows} ({found.lifebook_workflows})",
        f"  at once    {found.lifebook_concurrency}",
        "  stop       Ctrl-C: steps in flight end first; a second one does not wait for them",
    ]
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()
