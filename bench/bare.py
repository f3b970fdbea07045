"""The bare loop of a service: receive many, acknowledge all, settle all, report all. Standard library.

It remembers nothing, sends no heartbeat, tries nothing twice, and breaks at the first answer it does not
like. What the SDK takes longer is the price of its promises.

`python -m bench.bare PORT STEP_TYPE WRITE`: `write` for a file of one kilobyte a step, synced.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.worker import CONCURRENCY, TEXT

AT = "2026-01-27T10:00:00Z"
NAMES = ("jobId", "stepId", "tenant_id", "attempt_no", "lease_id", "callback_token")


class Wire:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer, which must be a good one."""
        head = {"Content-Type": "application/json"}
        self._connection.request("POST", path, json.dumps(body), head)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            message = f"{path} answered {answer.status}: {text[:500]!r}"
            raise RuntimeError(message)
        return json.loads(text)


def reply(directive: dict[str, Any], kind: str, **more: Any) -> dict[str, Any]:
    """What every reply says."""
    return {name: directive[name] for name in NAMES} | {"type": kind, "timestamp": AT} | more


def write(directive: dict[str, Any]) -> dict[str, Any]:
    """The file, safe on disk."""
    parts = (directive["step_type"], str(directive["attempt_no"]))
    folder = Path(urlsplit(directive["workspace_ref"]["uri"]).path).joinpath(*parts)
    folder.mkdir(parents=True)
    (folder / "out.txt").write_bytes(TEXT)
    for place in (folder / "out.txt", folder):
        handle = os.open(place, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
    return {"output_ref": {"uri": (folder / "out.txt").as_uri()}}


def main() -> None:
    """Serve for ever."""
    port, step_type, writes = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "write"
    wire = Wire(port)
    asked = {"step_types": [step_type], "max": CONCURRENCY, "wait_seconds": 20}
    while True:
        lents = wire.post("/v1/directives:receive", asked)["directives"]
        if not lents:
            continue
        directives = [lent["directive"] for lent in lents]
        wire.post("/v1/callbacks/batch", {"replies": [reply(each, "ACK") for each in directives]})
        settled = [{"lock_token": lent["lock_token"], "outcome": "complete"} for lent in lents]
        wire.post("/v1/directives:settle", {"settlements": settled})
        done = [write(each) if writes else {} for each in directives]
        results = [
            reply(each, "RESULT", status="SUCCEEDED", **more)
            for each, more in zip(directives, done, strict=True)
        ]
        wire.post("/v1/callbacks/batch", {"replies": results})


if __name__ == "__main__":
    main()
