"""`conformance`: whether a service, in any language, keeps the contract."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lucius.entrypoints.cli import conformance_options as told
from lucius.entrypoints.cli.commands.keys import AsJson
from lucius.entrypoints.cli.endings import Ending
from lucius.errors import Invalid

if TYPE_CHECKING:
    from lucius.conformance.findings import Report
    from lucius.conformance.options import Options
    from lucius.conformance.run import Target


def conformance(
    command: told.Command = None,
    *,
    http: told.Http = None,
    module: told.Module = None,
    step_type: told.StepType = None,
    payload: told.Payload = None,
    bad_payload: told.BadPayload = None,
    any_payload: told.AnyPayload = False,
    slow_payload: told.SlowPayload = None,
    source: told.Input = None,
    slow_input: told.SlowInput = None,
    any_input: told.AnyInput = False,
    honours_cancel: told.HonoursCancel = False,
    sheet: told.Sheet = None,
    ack_within: told.AckWithin = None,
    work_within: told.WorkWithin = None,
    drain_within: told.DrainWithin = None,
    lease: told.Lease = None,
    only: told.Cases = None,
    pid: told.Pid = None,
    junit: told.Junit = None,
    allow_unjudged: told.AllowUnjudged = False,
    as_json: AsJson = False,
) -> None:
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
    from lucius.runtime.reference import TARGETS, require
    from lucius.sdk.serving.outcomes import StepFailure
    from lucius.sdk.serving.service import load

    if module in TARGETS:
        require()
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

        async def whole() -> Report:
            _stop_at_sigterm()
            return await run(target, options, home=home, clock=now_ms, new_id=new_id, only=only, watch=watch)

        try:
            return asyncio.run(whole())
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


def _stop_at_sigterm() -> None:
    """A cancelled CI job must not leave the service behind: end as Ctrl-C does."""
    import asyncio
    import contextlib
    import signal

    task = asyncio.current_task()
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # only where signals can be had
        if task is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


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
