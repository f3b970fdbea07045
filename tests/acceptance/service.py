"""A platform service in a process of its own, over HTTP: `service.py PORT`. Killed by its test.

It acknowledges, reports, and settles last: whatever it had in hand when it died is lent to the next one.
"""

from __future__ import annotations

import sys
from typing import Any

from lucius.testing.processes import Caller

AT = "2026-01-27T10:00:00Z"
NAMES = ("jobId", "stepId", "tenant_id", "attempt_no", "lease_id")


def reply(directive: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What every reply says."""
    named = {name: directive[name] for name in NAMES}
    return named | {"callback_token": directive["callback_token"], "timestamp": AT} | more


def serve(caller: Caller, lent: dict[str, Any]) -> str:
    """Do one directive; its job."""
    directive = lent["directive"]
    assert caller.post("/v1/callbacks/ack", reply(directive))[0] == 200
    output = {"uri": f"s3://space/{directive['jobId']}/{directive['stepId']}/{directive['attempt_no']}/out"}
    done = reply(directive, status="SUCCEEDED", output_ref=output)
    assert caller.post("/v1/callbacks/result", done)[0] == 200
    settlement = {"lock_token": lent["lock_token"], "outcome": "complete"}
    assert caller.post("/v1/directives:settle", {"settlements": [settlement]})[0] == 200
    return str(directive["jobId"])


def receive(caller: Caller, most: int, *types: str, wait: float = 5) -> list[dict[str, Any]]:
    """Take directives."""
    asked = {"step_types": list(types), "max": most, "wait_seconds": wait}
    status, answer = caller.post("/v1/directives:receive", asked)
    assert status == 200, answer
    return list(answer["directives"])


def main() -> None:
    """Serve for ever."""
    with Caller(int(sys.argv[1])) as caller:
        while True:
            for lent in receive(caller, 8, "OCR", "EMBEDDING", "SIS"):
                serve(caller, lent)


if __name__ == "__main__":
    main()
