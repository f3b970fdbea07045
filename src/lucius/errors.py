"""The one error tree.

    LuciusError
    ├── Invalid            the request is wrong; the sender must change it       400 / 422
    ├── Unauthenticated    no or bad credential                                  401
    ├── Forbidden          the credential does not allow this                    403
    ├── NotFound           unknown, or somebody else's: the two look the same    404
    ├── Refused            the job's state does not allow this now               409
    ├── Saturated          a limit is reached; try again later                   429 / 503
    ├── Unavailable        a part we need is away; try again later               503
    └── Broken             a promise was about to be broken; stop and look       500

Every error has a stable `code`, says whether trying again can help, and may point at the
places in the input that are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with an input, and where."""

    pointer: str
    code: str
    message: str


class LuciusError(Exception):
    """Base of everything Lucius raises on purpose."""

    code = "INTERNAL"
    status = 500
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        problems: tuple[Problem, ...] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.status = status or type(self).status
        self.problems = problems
        self.retry_after = retry_after


class Invalid(LuciusError):
    """The request is wrong and stays wrong until its sender changes it."""

    code = "INVALID_REQUEST"
    status = 422


class Unauthenticated(LuciusError):
    """No credential, or one that does not verify."""

    code = "UNAUTHENTICATED"
    status = 401


class Forbidden(LuciusError):
    """The credential is good but does not allow this."""

    code = "FORBIDDEN"
    status = 403


class NotFound(LuciusError):
    """Nothing of that id that this caller may see."""

    code = "NOT_FOUND"
    status = 404


class Refused(LuciusError):
    """The object's state does not allow what was asked."""

    code = "INVALID_STATE"
    status = 409


class Saturated(LuciusError):
    """A limit is reached; the same request may pass later."""

    code = "TENANT_SATURATED"
    status = 429
    retryable = True


class Unavailable(LuciusError):
    """A part Lucius needs is away."""

    code = "UNAVAILABLE"
    status = 503
    retryable = True


class Broken(LuciusError):
    """An invariant does not hold. Nothing was written; somebody must look."""

    code = "BROKEN_INVARIANT"
    status = 500
