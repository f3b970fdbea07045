"""`submit` and `plan`: commands from the command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from lucius.entrypoints.cli.session import Session, remote
from lucius.errors import Invalid

_ENVELOPE = "Command"

Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE|URI|JSON|-",
        help="An envelope (JSON or YAML file, JSON text, - for stdin), or the document: a path or URI.",
        show_default=False,
    ),
]


def _option(*names: str, metavar: str, text: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, rich_help_panel=_ENVELOPE)


_type = _option(
    "--type",
    "-t",
    metavar="TYPE",
    text="What to do, such as OCR; for a document OCR_EMBEDDING_SIS by default.",
)
_tenant = _option("--tenant", metavar="TENANT", text="Whose job: LUCIUS_TENANT, else default.")
_mode = _option("--mode", metavar="MODE", text="DEFAULT, or BURST to spread documents over all lanes.")
_doc = _option("--doc-id", metavar="ID", text="The document's id; BURST needs it.")
_key = _option("--key", metavar="KEY", text="Idempotency key: the same key is the same job.")
_payload = _option("--payload", metavar="JSON|@FILE", text='One section a step: {"ocr": {…}}.')
_prompt = _option("--prompt", metavar="TEXT", text="A question about the document; repeatable.")
_prompts = _option("--prompts", metavar="NAME", text="A stored set of questions.")
_input = _option("--input", metavar="URI", text="Input reference, if not the argument itself.")
_output = _option(
    "--output", metavar="URI", text="Where services are told to put results; beside the input by default."
)
_not_before = _option("--not-before", metavar="TIME", text="Do not start earlier: 2031-05-04T10:00:00Z.")
_priority = _option("--priority", metavar="0-9", text="Higher goes first within the tenant.")
_callback = _option("--callback-url", metavar="URL", text="Webhook told of changes; repeatable.")
_correlation = _option("--correlation-id", metavar="ID", text="Your name for the larger thing.")

Type = Annotated[str | None, _type]
Tenant = Annotated[str | None, _tenant]
Mode = Annotated[str | None, _mode]
DocId = Annotated[str | None, _doc]
Key = Annotated[str | None, _key]
Payload = Annotated[str | None, _payload]
Prompt = Annotated[list[str] | None, _prompt]
Prompts = Annotated[str | None, _prompts]
Input = Annotated[str | None, _input]
Output = Annotated[str | None, _output]
NotBefore = Annotated[str | None, _not_before]
Priority = Annotated[int | None, _priority]
Callback = Annotated[list[str] | None, _callback]
Correlation = Annotated[str | None, _correlation]
Wait = Annotated[bool, typer.Option("--wait", "-w", help="Stay until the job is over; exit 1 if it failed.")]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout", metavar="S", min=0, help="Wait no longer than this; exit 4.", show_default=False
    ),
]


@remote
def submit(
    session: Session,
    source: Source,
    *,
    request_type: Type = None,
    tenant: Tenant = None,
    mode: Mode = None,
    doc_id: DocId = None,
    key: Key = None,
    payload: Payload = None,
    prompt: Prompt = None,
    prompts: Prompts = None,
    input_uri: Input = None,
    output_uri: Output = None,
    not_before: NotBefore = None,
    priority: Priority = None,
    callback_url: Callback = None,
    correlation_id: Correlation = None,
    wait: Wait = False,
    timeout: Timeout = None,
) -> None:
    """Make a job of a document or of an envelope. `lucius submit report.pdf --wait` is enough."""
    from lucius.sdk import commands

    said = locals()
    envelope = _envelope(source, said)
    with _within_reach(source):
        receipt = session.client.send(commands.submit(envelope))
    if wait:
        _finish(session, receipt.job_id, timeout)
    else:
        _accepted(session, receipt)


@remote
def plan(
    session: Session,
    source: Source,
    *,
    request_type: Type = None,
    tenant: Tenant = None,
    mode: Mode = None,
    doc_id: DocId = None,
    key: Key = None,
    payload: Payload = None,
    prompt: Prompt = None,
    prompts: Prompts = None,
    input_uri: Input = None,
    output_uri: Output = None,
    not_before: NotBefore = None,
    priority: Priority = None,
    callback_url: Callback = None,
    correlation_id: Correlation = None,
) -> None:
    """Show what would become of a command; creates nothing."""
    from lucius.entrypoints.cli.show.plan import sheet
    from lucius.sdk import commands

    envelope = _envelope(source, locals())
    with _within_reach(source):
        document = session.client.raw(commands.plan(envelope))
    session.show(document, sheet(document))


def _envelope(source: str, said: dict[str, Any]) -> dict[str, Any]:
    from lucius.entrypoints.cli.envelopes import ask, build, parse_payload, reference

    fields = {
        "request_type": said["request_type"],
        "tenant_id": said["tenant"],
        "mode": said["mode"],
        "doc_id": said["doc_id"],
        "idempotency_key": said["key"],
        "payload": ask(parse_payload(said["payload"]), said["prompt"], said["prompts"]),
        "input_ref": reference(said["input_uri"]),
        "output_ref": reference(said["output_uri"]),
        "not_before": said["not_before"],
        "priority": said["priority"],
        "callback_urls": said["callback_url"] or None,
        "correlation_id": said["correlation_id"],
    }
    return build(source, fields)


@contextmanager
def _within_reach(source: str) -> Iterator[None]:
    """A file the server may not name is told in one sentence, with what to do."""
    from lucius.entrypoints.cli.envelopes import local_document

    try:
        yield
    except Invalid as error:
        path = local_document(source)
        codes = {error.code, *(one.code for one in error.problems)}
        if path is None or codes.isdisjoint({"REF_PATH_NOT_ALLOWED", "REF_SCHEME_NOT_ALLOWED"}):
            raise
        message = (
            f"This Lucius does not let services read {path}: put it below its --files directory, "
            f"or start it with `lucius up --files {shlex.quote(str(path.parent))}`."
        )
        raise Invalid(message, code="FILE_OUT_OF_REACH") from None


def _accepted(session: Session, receipt: Any) -> None:
    import msgspec
    from rich.text import Text

    job_id = receipt.job_id
    what = "is already there" if receipt.duplicate else "accepted"
    told = Text.assemble(("✓ ", "green"), ("job ", "bold"), job_id, f" {what}  ", (receipt.state, "dim"))
    follow = Text(f"  lucius watch {job_id}", style="dim")
    session.show(msgspec.to_builtins(receipt), told, follow)


def _finish(session: Session, job_id: str, timeout: float | None) -> None:
    from lucius.entrypoints.cli.commands.looking import conclude
    from lucius.entrypoints.cli.waiting import wait
    from lucius.runtime.nature import now_ms

    conclude(session, wait(session, job_id, timeout=timeout, now=now_ms()))
