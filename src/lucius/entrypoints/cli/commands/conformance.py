"""`conformance`: whether a service, in any language, keeps the contract."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.commands.keys import AsJson
from lucius.entrypoints.cli.endings import Ending
from lucius.errors import Invalid

if TYPE_CHECKING:
    from lucius.conformance.findings import Report
    from lucius.conformance.options import Options
    from lucius.conformance.run import Target

_EXAMPLES, _TIMES = "Examples of work", "Patience"


def conformance(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND…]", show_default=False,
                       help="How to start the service; it finds LUCIUS_URL and LUCIUS_API_KEY set."),
    ] = None,
    *,
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="URL", show_default=False,
                     help="Play Lucius on this address, e.g. http://127.0.0.1:8799 (port 0: any)."),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option("--module", metavar="TARGET", show_default=False,
                     help="Test package.module:service, started as `lucius service` does."),
    ] = None,
    step_type: Annotated[
        str | None,
        typer.Option("--step-type", metavar="T", rich_help_panel=_EXAMPLES, show_default=False,
                     help="The step type to test; by default the one the service asks for."),
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option("--payload", metavar="JSON|@FILE", rich_help_panel=_EXAMPLES, show_default=False,
                     help="A payload it can work on; {} by default."),
    ] = None,
    bad_payload: Annotated[
        str | None,
        typer.Option("--bad-payload", metavar="JSON|@FILE", rich_help_panel=_EXAMPLES, show_default=False,
                     help="A payload it must refuse."),
    ] = None,
    any_payload: Annotated[
        bool, typer.Option("--any-payload", rich_help_panel=_EXAMPLES, help="It takes every payload.")
    ] = False,
    slow_payload: Annotated[
        str | None,
        typer.Option("--slow-payload", metavar="JSON|@FILE", rich_help_panel=_EXAMPLES, show_default=False,
                     help="A payload that keeps it busy for about two leases."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--input", metavar="FILE|URI", rich_help_panel=_EXAMPLES, show_default=False,
                     help="A document it can work on; a small text by default."),
    ] = None,
    slow_input: Annotated[
        str | None,
        typer.Option("--slow-input", metavar="FILE|URI", rich_help_panel=_EXAMPLES, show_default=False,
                     help="A document that keeps it busy for about two leases."),
    ] = None,
    any_input: Annotated[
        bool, typer.Option("--any-input", rich_help_panel=_EXAMPLES, help="It does not read its input.")
    ] = False,
    honours_cancel: Annotated[
        bool,
        typer.Option("--honours-cancel", rich_help_panel=_EXAMPLES, help="It stops when a job is cancelled."),
    ] = False,
    sheet: Annotated[
        Path | None,
        typer.Option("--with", metavar="FILE.yaml", rich_help_panel=_EXAMPLES, show_default=False,
                     help="All of these in one file, by their names: payload, slow_payload, …"),
    ] = None,
    ack_within: Annotated[
        float | None,
        typer.Option("--ack-within", metavar="S", rich_help_panel=_TIMES, show_default="5",
                     help="Seconds until the ACK."),
    ] = None,
    work_within: Annotated[
        float | None,
        typer.Option("--work-within", metavar="S", rich_help_panel=_TIMES, show_default="30",
                     help="Seconds until a RESULT."),
    ] = None,
    drain_within: Annotated[
        float | None,
        typer.Option("--drain-within", metavar="S", rich_help_panel=_TIMES, show_default="30",
                     help="Seconds from SIGTERM to the end."),
    ] = None,
    lease: Annotated[
        float | None,
        typer.Option("--lease", metavar="S", rich_help_panel=_TIMES, show_default="3",
                     help="The lease of slow work, in seconds."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--case", metavar="NAME", show_default=False, help="Only this case; may be repeated."),
    ] = None,
    pid: Annotated[
        str | None,
        typer.Option("--pid", metavar="PID|FILE", show_default=False,
                     help="Without COMMAND: the process to end and to kill, or a file with its number."),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", show_default=False, help="Write a JUnit XML file too."),
    ] = None,
    allow_unjudged: Annotated[
        bool, typer.Option("--allow-unjudged", help="Cases that could not be tried are no failure.")
    ] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Test a service in any language: play Lucius, misbehave on purpose, judge what it does."""
    given = {
        "step_type": step_type, "payload": _payload(payload), "bad_payload": _payload(bad_payload),
        "any_payload": any_payload, "slow_payload": _payload(slow_payload), "input": _place(source),
        "slow_input": _place(slow_input), "any_input": any_input, "honours_cancel": honours_cancel,
        "ack_within": ack_within, "work_within": work_within, "drain_within": drain_within, "lease": lease,
    }  # fmt: skip
    options = _options(given, sheet, module)
    target = _target(http, module, tuple(command or ()), pid)
    report = _run(target, options, only or [], isolated=module is not None)
    _tell(report, junit, as_json=as_json)
    raise typer.Exit(Ending.OK if report.ok(allow_unjudged=allow_unjudged) else Ending.REFUSED)


def _target(http: str | None, module: str | None, command: tuple[str, ...], pid: str | None) -> Target:
    import secrets

    from lucius.conformance.run import Target

    if (http is None) == (module is None):
        raise typer.BadParameter("Name what to test: either --http URL or --module package.module:service.")
    if module is not None and (command or pid):
        raise typer.BadParameter(
            "With --module the kit starts the service itself; leave COMMAND and --pid out."
        )
    if command and pid:
        raise typer.BadParameter("Give a COMMAND or --pid, not both.")
    if module is not None:
        command = (sys.executable, "-m", "lucius.entrypoints.cli", "service", module)
    key = os.environ.get("LUCIUS_API_KEY") or f"lk_{secrets.token_hex(6)}.{secrets.token_urlsafe(24)}"
    return Target(address=http or "http://127.0.0.1:0", command=command, pid=pid, key=key)


def _options(given: dict[str, Any], sheet: Path | None, module: str | None) -> Options:
    from lucius.conformance.options import merged, read_file

    options = merged(given, read_file(sheet) if sheet is not None else {})
    return options if module is None else _from_service(options, module)


def _from_service(options: Options, module: str) -> Options:
    """The options, completed by what the service itself says about its payload."""
    import msgspec

    from lucius.conformance import payloads
    from lucius.runtime.reference import TARGETS
    from lucius.sdk.serving.outcomes import StepFailure
    from lucius.sdk.serving.service import load

    service = load(TARGETS.get(module, module))

    def accepts(payload: dict[str, Any]) -> bool:
        try:
            service.read_payload(payload)
        except StepFailure:
            return False
        return True

    schema = service.payload_schema()
    bad = options.bad_payload or payloads.bad(schema, accepts)
    return msgspec.structs.replace(
        options,
        step_type=options.step_type or service.step_type,
        payload=options.payload if options.payload is not None else payloads.good(schema, accepts),
        bad_payload=bad,
        any_payload=options.any_payload or bad is None,
    )


def _run(target: Target, options: Options, only: list[str], *, isolated: bool) -> Report:
    import asyncio
    import tempfile

    import msgspec

    from lucius.conformance.run import run
    from lucius.entrypoints.cli.show.conformance import Progress
    from lucius.runtime.nature import new_id, now_ms

    watch = Progress(starts_itself=bool(target.command))
    with tempfile.TemporaryDirectory(prefix="lucius-conformance-") as directory:
        home = Path(directory).resolve()
        if isolated:  # what it did in earlier runs is no business of this one
            memory = {"LUCIUS_SERVICE_STORE": str(home / "attempts.db")}
            target = msgspec.structs.replace(target, environment=memory)
        return asyncio.run(
            run(target, options, home=home, clock=now_ms, new_id=new_id, only=only, watch=watch)
        )


def _tell(report: Report, junit: Path | None, *, as_json: bool) -> None:
    import msgspec

    from lucius.conformance.junit import write
    from lucius.entrypoints.cli.session import console, print_json
    from lucius.entrypoints.cli.show.conformance import table

    if junit is not None:
        write(report, junit)
    if as_json:
        counts = {name: report.count(name) for name in ("passed", "failed", "not judged")}
        print_json(msgspec.to_builtins(report) | {"counts": counts})
    else:
        console().print(table(report))


def _payload(text: str | None) -> dict[str, Any] | None:
    """A payload as JSON, or from a file."""
    import msgspec

    if text is None:
        return None
    raw = text.encode()
    if text.startswith("@"):
        try:
            raw = Path(text[1:]).read_bytes()
        except OSError as error:
            raise Invalid(f"{text[1:]} cannot be read: {error.strerror}.", code="FILE_UNREADABLE") from None
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"A payload must be a JSON object: {error}.", code="BAD_PAYLOAD") from None


def _place(text: str | None) -> str | None:
    from lucius.conformance.options import located

    return None if text is None else located(text, Path.cwd())
