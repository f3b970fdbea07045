"""What a team writes: a step type, a payload model, and `execute`.

    @service("WORD_COUNT")
    async def count(step: Step[Wanted]) -> Artifact:
        text = await step.document.text()
        return await step.workspace.write_json("count.json", {"words": len(text.split())})

or, with something to load before the first step and to let go after the last:

    class WordCount(Service[Wanted]):
        step_type = "WORD_COUNT"
        payload_model = Wanted

        async def execute(self, step: Step[Wanted]) -> Artifact: ...

A plain function (`def`) is run in a thread.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import traceback
import typing
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pydantic

from lucius.errors import Invalid
from lucius.sdk.serving.outcomes import Final, Returned
from lucius.sdk.serving.step import Step

P = TypeVar("P")
Execute = Callable[[Any], Awaitable[Returned] | Returned]


class Service(Generic[P]):
    """One kind of work. One object serves all attempts of its process, several at a time."""

    step_type: ClassVar[str] = ""
    payload_model: Any = dict[str, Any]
    """What the payload must be: anything pydantic understands."""
    concurrency: int = 1
    """Attempts worked on at the same time."""
    time_limit: float | None = None
    """Seconds an attempt may take; None: as long as its lease is kept alive."""

    async def start(self) -> None:
        """Load what all attempts share; called once, before the first directive is taken."""

    async def stop(self) -> None:
        """Let it go; called once, after the last attempt."""

    async def check(self) -> None:
        """Raise if the service cannot work right now; asked by the readiness probe."""

    async def execute(self, step: Step[P]) -> Returned:
        """Do the work of one attempt."""
        raise NotImplementedError

    def read_payload(self, payload: dict[str, Any]) -> P:
        """The payload as the model; raise `Final` INVALID_PAYLOAD naming what is wrong."""
        try:
            read: P = self._adapter().validate_python(payload)
        except pydantic.ValidationError as error:
            told = "; ".join(f"{_pointer(one['loc'])}: {one['msg']}" for one in error.errors()[:5])
            raise Final("INVALID_PAYLOAD", f"The payload does not fit {self.step_type}: {told}.") from None
        return read

    def payload_schema(self) -> dict[str, Any]:
        """The JSON Schema of the payload, for the protocol file."""
        schema: dict[str, Any] = self._adapter().json_schema()
        return schema

    def _adapter(self) -> pydantic.TypeAdapter[Any]:
        found = self.__dict__.get("_payloads")
        if found is None:
            found = self.__dict__["_payloads"] = pydantic.TypeAdapter(self.payload_model)
        return found


class FunctionService(Service[Any]):
    """A service made of one function."""

    def __init__(
        self, function: Execute, step_type: str, model: Any, concurrency: int, limit: float | None
    ) -> None:
        self.step_type = step_type  # type: ignore[misc]
        self.payload_model = model
        self.concurrency = concurrency
        self.time_limit = limit
        self.function = function
        self.__doc__ = function.__doc__

    async def execute(self, step: Step[Any]) -> Returned:
        """Call the function; a plain one in a thread."""
        if inspect.iscoroutinefunction(self.function):
            done: Returned = await self.function(step)
            return done
        return await asyncio.to_thread(typing.cast("Callable[[Any], Returned]", self.function), step)


def service(
    step_type: str, *, payload: Any = None, concurrency: int = 1, time_limit: float | None = None
) -> Callable[[Execute], FunctionService]:
    """Make a service of a function. The payload model is that of its `Step[Model]`, unless given."""

    def declare(function: Execute) -> FunctionService:
        model = payload if payload is not None else _model_of(function)
        return FunctionService(function, step_type, model, concurrency, time_limit)

    return declare


def load(target: str) -> Service[Any]:
    """The service that `package.module:name` names: an object, or a class to make one of."""
    module, _, name = target.partition(":")
    if not module or not name:
        raise Invalid(f"{target!r} names no service; write package.module:name.", code="BAD_TARGET")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    found = getattr(_imported(module), name, None)
    if found is None:
        raise Invalid(f"The module {module} has no {name}.", code="NO_SUCH_SERVICE")
    made = found() if inspect.isclass(found) and issubclass(found, Service) else found
    if not isinstance(made, Service) or not made.step_type:
        raise Invalid(f"{target} is not a service with a step type.", code="NOT_A_SERVICE")
    return made


def _imported(module: str) -> Any:
    """The module; a mistake in it is told with the line it is on, and not with all that led there."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        message = f"There is no module {error.name}; run this where it can be imported."
        raise Invalid(message, code="NO_SUCH_MODULE") from None
    except Exception as error:  # noqa: BLE001 - somebody else's module may raise anything
        place = traceback.extract_tb(error.__traceback__)[-1]
        # A SyntaxError names its own place; that of its traceback is in the import machinery.
        where = "" if isinstance(error, SyntaxError) else f" ({place.filename}, line {place.lineno})"
        message = f"The module {module} cannot be imported: {type(error).__name__}: {error}{where}."
        raise Invalid(message, code="BROKEN_MODULE") from None


def _model_of(function: Execute) -> Any:
    """The Model of a parameter annotated `Step[Model]`; a plain dictionary where nothing is said."""
    hints = typing.get_type_hints(function)
    for name in inspect.signature(function).parameters:
        inner = typing.get_args(hints.get(name))
        if typing.get_origin(hints.get(name)) is Step and inner:
            return inner[0]
    return dict[str, Any]


def _pointer(location: tuple[int | str, ...]) -> str:
    return "/" + "/".join(map(str, location))
