"""A service of the standard library that counts words, rightly; `SIN` in the environment breaks one rule.

State: the results of finished attempts lie in the directory `MEMORY`, one JSON file each; what is under
way is known to the process alone. SIGTERM ends the asking, and the process when its work is reported.
"""

# ruff: noqa: D103 - the names say it; whoever reads it looks for the sins
from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

LUCIUS, KEY, SIN = os.environ["LUCIUS_URL"], os.environ["LUCIUS_API_KEY"], os.environ.get("SIN", "")
MEMORY = Path(os.environ["MEMORY"])
IDS = ("jobId", "stepId", "tenant_id", "attempt_no", "lease_id")
SHAPE: dict[str, type] = {
    "jobId": str, "stepId": str, "tenant_id": str, "attempt_no": int, "lease_id": str, "step_type": str,
    "callback_token": str, "callback_urls": dict, "payload": dict, "input_ref": dict, "workspace_ref": dict,
}  # fmt: skip
KNOWN = {
    *SHAPE, "type", "protocol_id", "schema_version", "inputs", "output_ref", "mode", "lane",
    "routing_key_used", "correlation_id", "traceparent", "lease_expires_at",
}  # fmt: skip
LOST = {"stale_lease", "after_terminal", "conflict", "unknown"}

stopping = threading.Event()
guard = threading.Lock()
running: set[tuple[Any, ...]] = set()
first_of_job: dict[str, dict[str, Any]] = {}
remembered: dict[Path, bytes] = {}
opener = build_opener(ProxyHandler({}))


class Final(Exception):  # noqa: N818
    """The work will never succeed."""


def post(url: str, body: object, **headers: str) -> Any:
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})  # noqa: S310
    with opener.open(request, timeout=60) as answer:
        return json.load(answer)


def persistently(url: str, body: object, **headers: str) -> Any:
    """Repeat what is answered 5xx, or not at all."""
    while True:
        try:
            return post(url, body, **headers)
        except HTTPError as error:
            if error.code < 500 or SIN == "gives_up":
                raise
        except OSError:
            pass
        time.sleep(0.1)


def reply(directive: dict[str, Any], kind: str, **said: Any) -> Any:
    spoken_of = directive
    if SIN == "mixes_leases":
        spoken_of = first_of_job.setdefault(directive["jobId"], directive)
    said |= {name: spoken_of[name] for name in IDS}
    if SIN != "no_timestamp":
        said["timestamp"] = datetime.now(UTC).isoformat()
    headers = {"Authorization": f"Bearer {directive['callback_token']}"}
    if SIN == "leaks_key":
        headers["X-API-Key"] = KEY
    if SIN == "drops_unacknowledged" and kind == "ack":
        return post(directive["callback_urls"][kind], said, **headers)
    return persistently(directive["callback_urls"][kind], said, **headers)


def settle(lent: dict[str, Any], outcome: str) -> None:
    if SIN == "unsettled":
        return
    items = [{"lock_token": lent["lock_token"], "outcome": outcome}]
    url = f"{LUCIUS}/v1/directives:settle"
    persistently(url, {"settlements": items}, Authorization=f"Bearer {KEY}")


def readable(directive: Any) -> bool:
    if not isinstance(directive, dict):
        return False
    if SIN == "strict_fields" and set(directive) - KNOWN:
        return False
    return all(type(directive.get(name)) is kind for name, kind in SHAPE.items())


def path_of(ref: dict[str, Any]) -> Path:
    return Path(unquote(urlsplit(ref["uri"]).path))


def beat(directive: dict[str, Any], over: threading.Event, lost: threading.Event) -> None:
    ends = datetime.fromisoformat(directive["lease_expires_at"])
    rhythm = max(0.05, (ends - datetime.now(UTC)).total_seconds() / 3)
    while not over.wait(rhythm):
        if SIN == "no_heartbeats":
            continue
        heard = reply(directive, "heartbeat", progress=0.5)
        if heard["verdict"] in LOST and SIN != "ignores_stale_lease":
            lost.set()
        if heard["cancel_requested"]:
            while SIN == "hangs_on_cancel" and not stopping.wait(0.1):
                pass


def count_words(directive: dict[str, Any], lost: threading.Event) -> dict[str, Any]:
    pause = directive["payload"].get("pause_seconds", 0)
    if type(pause) not in {int, float}:
        if SIN != "accepts_bad_payload":
            raise Final("INVALID_PAYLOAD")
        pause = 0
    if lost.wait(pause):
        return {}
    source = path_of(directive["input_ref"])
    while SIN == "waits_for_input" and not source.exists():
        time.sleep(0.1)
    if not source.exists():
        raise Final("INPUT_MISSING")
    text = json.dumps({"words": len(source.read_text().split())})
    folder = path_of(directive["workspace_ref"]) / directive["step_type"]
    folder = folder if SIN == "wrong_folder" else folder / str(directive["attempt_no"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "count.json").write_text(text)
    digest = hashlib.sha256(b"" if SIN == "wrong_digest" else text.encode()).hexdigest()
    return {"uri": (folder / "count.json").as_uri(), "size": len(text), "sha256": digest}


def work(directive: dict[str, Any]) -> dict[str, Any] | None:
    """The RESULT, or None when the lease was lost."""
    over, lost = threading.Event(), threading.Event()
    pulse = threading.Thread(target=beat, args=(directive, over, lost), daemon=True)
    pulse.start()
    try:
        ref = count_words(directive, lost)
        return None if lost.is_set() else {"status": "SUCCEEDED", "output_ref": ref, "artifacts": [ref]}
    except Final as error:
        return {"status": "FAILED_FINAL", "error": {"code": str(error), "message": "It cannot be done."}}
    finally:
        over.set()
        pulse.join()


def file_of(directive: dict[str, Any]) -> Path:
    names = ("jobId",) if SIN == "remembers_jobs" else ("jobId", "stepId", "attempt_no", "lease_id")
    return MEMORY / ("-".join(str(directive[name]) for name in names) + ".json")


def store(path: Path, result: dict[str, Any]) -> None:
    remembered[path] = json.dumps(result).encode()
    if SIN == "forgets":
        return
    temporary = path.with_suffix(f".{threading.get_ident()}")
    temporary.write_bytes(remembered[path])
    temporary.replace(path)


def stored(path: Path) -> dict[str, Any] | None:
    if SIN == "no_memory":
        return None
    if path in remembered:
        return dict(json.loads(remembered[path]))
    return json.loads(path.read_text()) if path.exists() else None


def attempt_at(directive: dict[str, Any], lent: dict[str, Any]) -> None:
    path = file_of(directive)
    found = stored(path)
    if SIN == "result_first":
        found = work(directive) or {}
        reply(directive, "result", **found)
    if SIN == "late_ack":
        stopping.wait(3)
    if SIN != "no_ack":
        reply(directive, "ack")
    settle(lent, "complete")
    if SIN == "claims_jobs":
        (MEMORY / directive["jobId"]).mkdir()  # left behind when the process is killed
    if found is None:
        found = work(directive)
        if found is None:
            return
        store(path, found)
    elif SIN == "no_reemission":
        return
    if SIN == "second_differs":
        found = found | {"artifacts": [], "output_ref": found["output_ref"] | {"at": str(time.time_ns())}}
    verdict = reply(directive, "result", **found)["verdict"]
    while SIN == "argues" and verdict in LOST:
        time.sleep(0.05)
        verdict = reply(directive, "result", **found)["verdict"]


def serve(lent: dict[str, Any]) -> None:
    directive = lent["directive"]
    if not readable(directive):
        if SIN == "dies_of_malformed":
            os._exit(1)
        settle(lent, "complete" if SIN == "swallows_malformed" else "dead_letter")
        return
    key = tuple(directive[name] for name in IDS)
    with guard:
        twice = key in running and SIN != "works_twice"
        running.add(key)
    if twice:
        settle(lent, "complete")
        return
    try:
        attempt_at(directive, lent)
    finally:
        with guard:
            running.discard(key)
        if SIN == "claims_jobs":
            (MEMORY / directive["jobId"]).rmdir()


def ask(workers: set[threading.Thread]) -> None:
    wanted: dict[str, Any] = {"step_types": ["WORD_COUNT"], "max": 4, "wait_seconds": 5}
    if SIN == "one_tenant":
        wanted["tenants"] = ["acme"]
    while not stopping.is_set() or SIN == "takes_more":
        try:
            url = f"{LUCIUS}/v1/directives:receive"
            found = post(url, wanted, Authorization=f"Bearer {KEY}")["directives"]
        except OSError:
            if SIN == "dies_of_503":
                os._exit(1)
            time.sleep(0.1)
            continue
        for lent in found[:1] if SIN == "first_only" else found:
            if stopping.is_set() and SIN != "takes_more":
                settle(lent, "abandon")
                continue
            worker = threading.Thread(target=serve, args=(lent,), daemon=True)
            workers.add(worker)
            worker.start()


def main() -> int:
    MEMORY.mkdir(parents=True, exist_ok=True)
    workers: set[threading.Thread] = set()
    heard = threading.Event() if SIN == "ignores_sigterm" else stopping
    signal.signal(signal.SIGTERM, lambda *_: heard.set())
    threading.Thread(target=ask, args=(workers,), daemon=True).start()
    while not stopping.wait(0.05):
        pass
    if SIN == "takes_more":
        time.sleep(1.5)
    if SIN != "drops_work":
        for worker in list(workers):
            worker.join()
    return 1 if SIN == "exits_1" else 0


if __name__ == "__main__":
    sys.exit(main())
