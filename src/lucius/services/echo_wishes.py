"""How a step's payload steers the echo service.

    {"echo": {"delay_ms": 500, "fail": "retry", "fail_attempts": 2}}

`fail`: `retry` and `final` report a failure, `silent` acknowledges and never reports, `no_ack` takes
the directive and says nothing. With `fail_attempts` only that many first attempts fail.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from lucius.wire.messages import DirectiveMessage

Outcome = Literal["succeed", "retry", "final", "silent", "no_ack", "unreadable"]


class _Switches(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    delay_ms: Annotated[int, msgspec.Meta(ge=0)] | None = None
    fail: Literal["retry", "final", "silent", "no_ack"] | None = None
    fail_attempts: Annotated[int, msgspec.Meta(ge=0)] | None = None


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What one directive asks of the service; None: whatever the service does by itself."""

    delay_ms: int | None = None
    outcome: Outcome | None = None
    why: str = ""


_NOTHING = Wish()


def wish_of(directive: DirectiveMessage) -> Wish:
    """What the payload of a directive asks for."""
    section = directive.payload.get("echo")
    if section is None:
        return _NOTHING
    try:
        switches = msgspec.convert(section, _Switches)
    except msgspec.ValidationError as error:
        return Wish(outcome="unreadable", why=str(error))
    outcome: Outcome | None = switches.fail
    if outcome and switches.fail_attempts is not None and directive.attempt_no > switches.fail_attempts:
        outcome = "succeed"
    return Wish(delay_ms=switches.delay_ms, outcome=outcome)
