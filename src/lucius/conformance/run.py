"""A whole run: listen, start the service, try each case, and let nothing live on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from lucius.conformance.bench import Bench
from lucius.conformance.cases import CASES
from lucius.conformance.desk import Desk
from lucius.conformance.findings import Case, Failed, Finding, Mark, NotJudged, Report
from lucius.conformance.ledger import Ledger
from lucius.conformance.listener import listening
from lucius.conformance.options import Options
from lucius.conformance.subject import Command, Nobody, Pid, Subject
from lucius.errors import Invalid, Unavailable


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What is tested: a program the kit starts, a process, or whoever calls."""

    address: str = "http://127.0.0.1:0"
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    pid: str | None = None
    key: str


class Watch:
    """What to tell while a run goes on; this one tells nothing."""

    def listening(self, url: str, key: str) -> None:
        """The kit listens; a service that it does not start itself is to be pointed here."""

    def trying(self, case: Case, number: int, total: int) -> None:
        """A case begins."""

    def found(self, finding: Finding) -> None:
        """A case is over."""


async def run(
    target: Target,
    options: Options,
    *,
    home: Path,
    clock: Callable[[], int],
    new_id: Callable[[], str],
    only: Sequence[str] = (),
    watch: Watch | None = None,
) -> Report:
    """Try the cases on the target; `home` is a directory for workspaces and logs."""
    chosen, watch = _chosen(only), watch or Watch()
    ledger = Ledger(clock=clock, new_id=new_id, lock_seconds=options.lock, key=target.key)
    async with listening(Desk(ledger), target.address) as url:
        subject = _subject(target, url, home, ledger)
        try:
            await _started(subject)
            watch.listening(url, target.key)
            step_type = options.step_type or await _first_asked(ledger, options, subject)
            bench = Bench(
                ledger=ledger, subject=subject, options=options, home=home, url=url, step_type=step_type
            )
            findings = []
            for number, case in enumerate(chosen, 1):
                watch.trying(case, number, len(chosen))
                finding = await _tried(case, bench)
                findings.append(finding)
                watch.found(finding)
            return Report(step_type=step_type, findings=tuple(findings))
        finally:
            ledger.close()
            await subject.stop()


async def _tried(case: Case, bench: Bench) -> Finding:
    began, log = bench.ledger.now(), ""
    verdict: Mark
    bench.begin()
    try:
        remark, verdict = await case.check(bench), "passed"
        if (died := bench.subject.died()) is not None:
            raise Failed(died)  # noqa: TRY301 - a fault like the others
    except Failed as error:
        remark, verdict, log = str(error), "failed", bench.subject.last_words()
    except NotJudged as error:
        remark, verdict = str(error), "not judged"
    seconds = bench.ledger.now() - began
    bench.ledger.clear()
    if verdict == "failed":
        await _recovered(bench)
    return Finding(
        case=case.name, title=case.title, why=case.why, verdict=verdict, seconds=round(seconds, 3),
        remark=remark, log=log,
    )  # fmt: skip


async def _recovered(bench: Bench) -> None:
    """A new process, so that the next case meets a service that is well."""
    bench.ledger.void()
    with contextlib.suppress(Failed):
        await bench.subject.restart()
        if not isinstance(bench.subject, Command):
            return
        await bench.asking()


async def _started(subject: Subject) -> None:
    try:
        await subject.start()
    except Failed as error:
        raise Invalid(str(error), code="NO_SUCH_FILE") from error


async def _first_asked(ledger: Ledger, options: Options, subject: Subject) -> str:
    within = options.start_within
    await ledger.until(lambda: bool(ledger.asked) or subject.died() is not None, within)
    if not ledger.asked:
        refused = f" Last refused: {ledger.faults[-1].why}" if ledger.faults else ""
        died = subject.died()
        words = f"{died[0].upper()}{died[1:]}" if died else f"Nobody asked for work within {within:g} s"
        said = f"\n{subject.last_words().strip()}" if subject.last_words() else ""
        raise Unavailable(f"{words}.{refused}{said}", code="NO_SERVICE")
    asked = next((one.step_types for one in ledger.asked if one.step_types), None)
    if not asked:
        raise Invalid(
            "The service asks for every step type; name one with --step-type.", code="TYPE_REQUIRED"
        )
    return asked[0]


def _subject(target: Target, url: str, home: Path, ledger: Ledger) -> Subject:
    if target.command:
        environment = {**target.environment, "LUCIUS_URL": url, "LUCIUS_API_KEY": target.key}
        return Command(target.command, environment, home / "service.log", ledger.changed)
    return Pid(target.pid) if target.pid is not None else Nobody()


def _chosen(only: Iterable[str]) -> list[Case]:
    wanted = set(only)
    unknown = wanted - {case.name for case in CASES}
    if unknown:
        known = ", ".join(case.name for case in CASES)
        raise Invalid(f"There is no case {min(unknown)!r}; there are: {known}.", code="BAD_SETTINGS")
    return [case for case in CASES if not wanted or case.name in wanted]
