"""A platform service in the standard library alone: it counts the words of a text file.

LUCIUS_URL=http://127.0.0.1:8700 python3 examples/service.py    (and LUCIUS_API_KEY, if Lucius asks for one)
"""

import json
import os
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from threading import Event, Thread
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

LUCIUS = os.environ.get("LUCIUS_URL", "http://127.0.0.1:8700")
KEY = os.environ.get("LUCIUS_API_KEY")
ATTEMPT = ("jobId", "stepId", "tenant_id", "attempt_no", "lease_id")
done = {}  # attempt -> its result; a real service keeps it where a restart finds it


def post(url, body, token):
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=60) as answer:
        return json.load(answer)


def reply(directive, kind, **said):
    said |= {name: directive[name] for name in ATTEMPT}
    said["timestamp"] = datetime.now(timezone.utc).isoformat()
    return post(directive["callback_urls"][kind], said, directive["callback_token"])


def beat(directive, over):
    while not over.wait(60):  # well below the lease of the step
        with suppress(OSError):
            reply(directive, "heartbeat")


def count_words(directive):
    source, workspace = (
        Path(unquote(urlsplit(directive[name]["uri"]).path)) for name in ("input_ref", "workspace_ref")
    )
    target = workspace / directive["step_type"] / str(directive["attempt_no"]) / "count.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps({"words": len(source.read_text().split())}))
    return {"uri": target.as_uri()}


def work(directive, over):
    try:
        return {"status": "SUCCEEDED", "output_ref": count_words(directive)}
    except FileNotFoundError as error:  # it will not be there next time either
        return {"status": "FAILED_FINAL", "error": {"code": "INPUT_MISSING", "message": str(error)}}
    except OSError as error:  # this may pass: Lucius waits and makes another attempt
        return {"status": "FAILED_RETRY", "error": {"code": "INPUT_UNREADABLE", "message": str(error)}}
    finally:
        over.set()


def serve(lent):
    directive, over = lent["directive"], Event()
    attempt = tuple(directive[name] for name in ATTEMPT)
    reply(directive, "ack")
    settled = {"lock_token": lent["lock_token"], "outcome": "complete"}
    post(f"{LUCIUS}/v1/directives:settle", {"settlements": [settled]}, KEY)
    if attempt not in done:  # an attempt may come twice: work once, report as often as asked
        Thread(target=beat, args=(directive, over), daemon=True).start()
        done[attempt] = work(directive, over)
    verdict = reply(directive, "result", **done[attempt])["verdict"]
    print(directive["jobId"], done[attempt]["status"], verdict, flush=True)


def main():
    wanted = {"step_types": ["WORD_COUNT"], "max": 1, "wait_seconds": 20}
    while True:
        try:
            for lent in post(f"{LUCIUS}/v1/directives:receive", wanted, KEY)["directives"]:
                serve(lent)
        except OSError as error:
            print("trying again:", error, flush=True)
            time.sleep(1)


if __name__ == "__main__":
    main()
