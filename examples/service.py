"""A platform service in the standard library alone: it counts the words of a text file.

LUCIUS_URL=http://127.0.0.1:8700 python3 examples/service.py

LUCIUS_API_KEY is the key, if Lucius asks for one. MEMORY is the file that remembers finished attempts;
without it a restart forgets them. The payload may say `pause_seconds`, to see heartbeats.
"""

import json
import os
import signal
import sqlite3
import sys
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from threading import Event, Thread
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

LUCIUS = os.environ.get("LUCIUS_URL", "http://127.0.0.1:8700")
KEY = os.environ.get("LUCIUS_API_KEY")
ATTEMPT = ("jobId", "stepId", "tenant_id", "attempt_no", "lease_id")
TEXTS = ("jobId", "stepId", "tenant_id", "lease_id", "step_type", "callback_token")
OBJECTS = ("payload", "input_ref", "workspace_ref", "callback_urls")
SERVER_ERROR = 500
LOST = ("stale_lease", "after_terminal", "conflict", "unknown")
done = sqlite3.connect(os.environ.get("MEMORY", ":memory:"), isolation_level=None)
done.execute("CREATE TABLE IF NOT EXISTS done (attempt TEXT PRIMARY KEY, result TEXT NOT NULL)")
idle, stopping = Event(), Event()


def post(url, body, token):
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=60) as answer:
        return json.load(answer)


def insist(url, body, token):
    while True:  # 5xx and broken connections pass; send the same again
        try:
            return post(url, body, token)
        except OSError as error:
            if isinstance(error, HTTPError) and error.code < SERVER_ERROR:
                raise
            time.sleep(1)


def about(directive, **said):
    ids = {name: directive[name] for name in ATTEMPT}
    return {**ids, **said, "timestamp": datetime.now(timezone.utc).isoformat()}


def beat(directive, over, stop):
    ends = datetime.fromisoformat(directive["lease_expires_at"].replace("Z", "+00:00"))  # noqa: FURB162 - for 3.10
    rhythm = max((ends - datetime.now(timezone.utc)).total_seconds() / 3, 0.1)
    while not over.wait(rhythm):
        with suppress(OSError):
            url, token = directive["callback_urls"]["heartbeat"], directive["callback_token"]
            heard = post(url, about(directive), token)
            if heard["verdict"] in LOST or heard["cancel_requested"]:
                stop.append(heard["verdict"])
                over.set()


def count_words(directive, over):
    source, workspace = (
        Path(unquote(urlsplit(directive[name]["uri"]).path)) for name in ("input_ref", "workspace_ref")
    )
    over.wait(float(directive["payload"].get("pause_seconds", 0)))
    target = workspace / directive["step_type"] / str(directive["attempt_no"]) / "count.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps({"words": len(source.read_text().split())}))
    return {"uri": target.as_uri()}


def failure(status, code, error):
    return {"status": status, "error": {"code": code, "message": str(error)}}


def work(directive):
    over, stop = Event(), []
    pulse = Thread(target=beat, args=(directive, over, stop), daemon=True)
    pulse.start()
    try:
        result = {"status": "SUCCEEDED", "output_ref": count_words(directive, over)}
    except (TypeError, ValueError) as error:
        result = failure("FAILED_FINAL", "INVALID_PAYLOAD", error)
    except FileNotFoundError as error:  # it will not be there next time either
        result = failure("FAILED_FINAL", "INPUT_MISSING", error)
    except OSError as error:  # this may pass: Lucius waits and makes another attempt
        result = failure("FAILED_RETRY", "INPUT_UNREADABLE", error)
    over.set()
    pulse.join()
    if stop:
        return None if stop[0] in LOST else failure("FAILED_FINAL", "CANCELLED", "The job was cancelled.")
    return result


def settle(lent, outcome):
    settled = {"lock_token": lent["lock_token"], "outcome": outcome}
    insist(f"{LUCIUS}/v1/directives:settle", {"settlements": [settled]}, KEY)


def readable(directive):
    return (
        isinstance(directive, dict)
        and all(isinstance(directive.get(name), str) for name in TEXTS)
        and all(isinstance(directive.get(name), dict) for name in OBJECTS)
        and isinstance(directive.get("attempt_no"), int)
    )


def serve(lent):
    directive = lent["directive"]
    if not readable(directive):
        settle(lent, "dead_letter")
        return
    urls, token = directive["callback_urls"], directive["callback_token"]
    insist(urls["ack"], about(directive), token)
    settle(lent, "complete")
    attempt = json.dumps([directive[name] for name in ATTEMPT])
    found = done.execute("SELECT result FROM done WHERE attempt = ?", (attempt,)).fetchone()
    result = json.loads(found[0]) if found else work(directive)
    if result is None:  # the lease is lost: somebody else does it
        return
    if not found:  # an attempt may come twice: work once, report as often as asked
        done.execute("INSERT INTO done VALUES (?, ?)", (attempt, json.dumps(result)))
    verdict = insist(urls["result"], about(directive, **result), token)["verdict"]
    print(directive["jobId"], result["status"], verdict, flush=True)


def stop(*_):
    stopping.set()
    if idle.is_set():  # nothing is under way but a long poll
        sys.exit(0)


def main():
    signal.signal(signal.SIGTERM, stop)
    wanted = {"step_types": ["WORD_COUNT"], "max": 1, "wait_seconds": 20}
    while not stopping.is_set():
        idle.set()
        try:
            found = post(f"{LUCIUS}/v1/directives:receive", wanted, KEY)["directives"]
        except OSError as error:
            print("trying again:", error, flush=True)
            time.sleep(1)
            continue
        idle.clear()
        for lent in found:
            serve(lent)


if __name__ == "__main__":
    main()
