"""How work ends: with artifacts, or with a failure that says whether trying again may help.

Whatever else a service raises is a bug of the service; it is reported as retryable, with its type as code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from lucius.core.job import Ref


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file the work wrote, with what is needed to read it and to trust it."""

    name: str
    uri: str
    content_type: str
    size: int
    sha256: str

    def ref(self) -> Ref:
        """As it stands in a RESULT and in the `inputs` of later steps."""
        return {
            "uri": self.uri,
            "name": self.name,
            "content_type": self.content_type,
            "size": self.size,
            "sha256": self.sha256,
        }


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What a step hands on: the one file the next step reads, and whatever else it wrote."""

    output: Artifact | None = None
    artifacts: tuple[Artifact, ...] = ()
    """All files, the output among them."""


Returned = Output | Artifact | Sequence[Artifact] | None
"""What `execute` may return. Of a sequence the first is the output."""


class StepFailure(Exception):  # noqa: N818 - its two children say what happened
    """The work failed. `code` is for programs (UPPER_SNAKE), `message` for people."""

    retryable: bool = True

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(code, message)
        # Often a number or another exception is given; what cannot be told would end the process.
        self.code = str(code)
        self.message = str(message) or self.code.replace("_", " ").capitalize() + "."

    def __reduce__(self) -> tuple[Any, ...]:
        """So that it comes back from another process, whatever arguments a child class takes."""
        return _again, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def _again(kind: type[StepFailure], arguments: tuple[Any, ...], fields: dict[str, Any]) -> StepFailure:
    failure = kind.__new__(kind, *arguments)
    failure.__dict__.update(fields)
    return failure


class Retryable(StepFailure):
    """It may work later: Lucius waits and makes another attempt."""


class Final(StepFailure):
    """It will not work later either: the job fails now."""

    retryable = False


class Cancelled(Final):
    """The job was cancelled and the work stopped."""

    def __init__(self, message: str = "The job was cancelled, so the work was stopped.") -> None:
        super().__init__("CANCELLED", message)


def output_of(returned: Returned) -> Output:
    """What `execute` returned, in its full form; `TypeError` for anything else."""
    if returned is None:
        return Output()
    if isinstance(returned, Output):
        return returned
    artifacts: Any = (returned,) if isinstance(returned, Artifact) else returned
    if not isinstance(artifacts, Sequence) or not all(isinstance(one, Artifact) for one in artifacts):
        raise TypeError("execute() must return artifacts (what workspace.write gave back), or None")
    return Output(output=artifacts[0] if artifacts else None, artifacts=tuple(artifacts))
