"""What every command that talks to a server has: a client, a place to print, and whether to print JSON."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from lucius.entrypoints.cli import options
from lucius.entrypoints.cli.endings import plain
from lucius.errors import Invalid

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from lucius.sdk.client import Client

_PIPE_WIDTH = 140
_COMMON = {"url": options.Url, "key_file": options.KeyFile, "as_json": options.AsJson}


class Session:
    """One run of one command."""

    def __init__(
        self, *, url: str | None = None, key_file: Path | None = None, as_json: bool = False
    ) -> None:
        self.url = url or os.environ.get("LUCIUS_URL") or options.DEFAULT_URL
        self.as_json = as_json
        self._key_file = key_file

    @cached_property
    def client(self) -> Client:
        """The connection to the server, made when first needed."""
        from stamina.instrumentation import set_on_retry_hooks

        from lucius.sdk.call import Patience
        from lucius.sdk.client import Client

        set_on_retry_hooks([])  # its default prints on stdout, which belongs to the answer
        clean = None if self.as_json else printable
        return Client(self.url, key=self.key, patience=Patience(attempts=3), clean=clean)

    @cached_property
    def out(self) -> Console:
        """Where answers for people go."""
        return console()

    def show(self, document: Any, *renderables: RenderableType) -> None:
        """The answer: the document for programs, the rest for people."""
        if self.as_json:
            print_json(document)
        else:
            self.out.print(*renderables, sep="\n")

    def close(self) -> None:
        """Let go of the connections, if any were made."""
        if "client" in self.__dict__:
            self.client.close()

    @property
    def key(self) -> str | None:
        """The API key to call with, if there is one."""
        if self._key_file is None:
            return os.environ.get("LUCIUS_API_KEY") or None
        try:
            return self._key_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            message = f"The key file {self._key_file} cannot be read: {error}."
            raise Invalid(message, code="KEY_FILE_UNREADABLE") from None


def console(file: TextIO | None = None) -> Console:
    """A console on stdout; wide when nobody looks at it, so that nothing is cut off.

    Without markup: names and messages are other people's words, not instructions to us.
    """
    from rich.console import Console

    terminal = (file or sys.stdout).isatty()
    width = None if terminal or os.environ.get("COLUMNS") else _PIPE_WIDTH
    return Console(file=file, highlight=False, markup=False, emoji=False, width=width)


def printable(document: Any) -> Any:
    """The document without anything a terminal would act on."""
    if isinstance(document, str):
        return document if document.isprintable() else plain(document)
    if isinstance(document, dict):
        return {printable(name): printable(value) for name, value in document.items()}
    if isinstance(document, list | tuple):
        return [printable(value) for value in document]
    return document


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    sys.stdout.write(text.decode() + "\n")


def remote(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes a `Session`; it gains --url, --key-file and --json.

    The same options may stand before the command's name; after it they win.
    """
    signature = inspect.signature(command, eval_str=True)
    own = [one for one in signature.parameters.values() if one.name != "session"]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_nothing(name), annotation=kind)
        for name, kind in _COMMON.items()
    ]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

    @wraps(command)
    def run(context: typer.Context, **given: Any) -> None:
        common = {name: given.pop(name) or (context.obj or {}).get(name) for name in _COMMON}
        with opened(**common) as session:
            command(session, **given)

    parameters = [context, *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own), *shared]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


@contextmanager
def opened(**common: Any) -> Iterator[Session]:
    """A session that lets go of its connections."""
    session = Session(**common)
    try:
        yield session
    finally:
        session.close()


def _nothing(name: str) -> bool | None:
    return False if name == "as_json" else None
