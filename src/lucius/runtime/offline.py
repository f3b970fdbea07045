"""What can be done to a Lucius that need not run: its keys, its configuration, its ledger.

Like `bootstrap` this file names concrete classes, each loaded when it is asked for, so that the command
line stays quick. Nothing here starts anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lucius.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from lucius.adapters.ledgers.sqlite.verify import VerifyReport
    from lucius.lifebook.adapters.sqlite.verify import LifebookReport
    from lucius.ports.keyring import Keyring
    from lucius.ports.schematics import ConfigProblem
    from lucius.runtime.settings import Settings


def settings(**given: object) -> Settings:
    """The settings of the environment, with what was given on top; `Invalid` names those that do not work."""
    from pydantic import ValidationError

    from lucius.runtime.settings import Settings

    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        # A default that waits for other settings follows from the mistakes in those; it is none of its own.
        mistakes = [one for one in error.errors() if one["type"] != "default_factory_not_called"]
        told = "; ".join(_told(tuple(one["loc"]), one["msg"]) for one in mistakes)
        raise Invalid(f"These settings do not work: {told}.", code="BAD_SETTINGS") from None


def _told(place: tuple[int | str, ...], message: str) -> str:
    """One mistake in words: the setting, unless it is one of several together, and what is wrong with it."""
    return ": ".join([".".join(map(str, place)), message.removeprefix("Value error, ")][not place :])


@contextmanager
def keyring(data: Path) -> Iterator[Keyring]:
    """The keys of a data directory; a running server hears of changes at once."""
    from lucius.adapters.keyrings.sqlite import SqliteKeyring
    from lucius.runtime.secrets import Secrets

    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        message = f"{data} cannot be made: {error.strerror}; name another directory with --data."
        raise Unavailable(message, code="DATA_UNUSABLE") from None
    opened = SqliteKeyring(Secrets(settings(data=data)).keyring)
    try:
        yield opened
    finally:
        opened.close()


def check_configuration(directory: Path) -> list[ConfigProblem]:
    """Everything that is wrong with a configuration directory."""
    from lucius.adapters.schematics.files import check

    return check(directory)


def verify_ledger(path: Path, *, progress: Callable[[int, int], None] | None = None) -> VerifyReport:
    """Check the promises that a ledger can show, on a live or stopped one."""
    from lucius.adapters.ledgers.sqlite.verify import verify

    return verify(path, progress=progress)


def verify_lifebook(path: Path) -> LifebookReport:
    """Check the promises that a lifebook file can show, with the journal of events beside it."""
    from lucius.lifebook.adapters.sqlite.verify import verify
    from lucius.runtime.building.lifebook_backends import EVENTS

    return verify(path, journal=path.parent / EVENTS)


def lifebook_in(data: Path) -> Path | None:
    """The lifebook file of a data directory, if it has one."""
    from lucius.runtime.building.lifebook_backends import FILE

    return data / FILE if (data / FILE).is_file() else None


def sqlite_version() -> str:
    """The SQLite that comes with Lucius."""
    import apsw

    return apsw.sqlite_lib_version()


def why_not_local(data: Path) -> str | None:
    """Why a ledger would not be safe in this directory; None when it would."""
    from lucius.adapters.ledgers.sqlite.files import refuse_network

    try:
        refuse_network(data / "ledger.db")
    except Unavailable as error:
        return error.message
    return None
