"""Schedules and hooks for people, and how a hook is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from lucius.entrypoints.cli.show.job import plain_table
from lucius.entrypoints.cli.show.lifebook import WIDE
from lucius.entrypoints.cli.show.words import ago, clock

Document = dict[str, Any]

_CALL = """\
python3 - <<'END'
import base64, hmac, time, urllib.request, uuid
url = "{url}"
secret = "{secret}"
body = b'{{"file": "report.pdf"}}'  # becomes "payload" of the run's input
message, now = str(uuid.uuid4()), str(int(time.time()))  # the same message is the same run
key = base64.b64decode(secret.removeprefix("whsec_"))
signed = hmac.digest(key, f"{{message}}.{{now}}.".encode() + body, "sha256")
headers = {{
    "content-type": "application/json",
    "webhook-id": message,
    "webhook-timestamp": now,
    "webhook-signature": "v1," + base64.b64encode(signed).decode(),
}}
asked = urllib.request.Request(url, body, headers)
print(urllib.request.urlopen(asked).read().decode())
END"""


def schedules(found: Sequence[Document], now: int, width: int) -> Table:
    """The schedules of a workspace; a narrow terminal shows what matters most."""
    wide = width >= WIDE
    table = plain_table("schedule", "workflow", "cron (UTC)", "next", *(("user",) if wide else ()))
    table.columns[0].no_wrap = table.columns[3].no_wrap = True
    for one in found:
        table.add_row(
            str(one.get("schedule_id", "")),
            str(one.get("workflow_id", "")),
            str(one.get("cron", "")),
            due(one, now, wide=wide),
            *((str(one.get("user_id", "")),) if wide else ()),
        )
    return table


def due(schedule: Document, now: int, *, wide: bool = True) -> Text:
    """When it starts a run next; a paused one does not."""
    if not schedule.get("enabled"):
        return Text("‖ paused", style="yellow")
    left = ago(schedule.get("next_at"), now)
    return Text(f"{clock(schedule.get('next_at'))} ({left})" if wide else left)


def hooks(found: Sequence[Document], now: int) -> Table:
    """The hooks of a workspace, without their secrets."""
    table = plain_table("hook", "workflow", "user", "made")
    table.columns[0].no_wrap = True
    for one in found:
        table.add_row(
            str(one.get("hook_id", "")),
            str(one.get("workflow_id", "")),
            str(one.get("user_id", "")),
            ago(one.get("created_at"), now),
        )
    return table


def new_hook(hook: Document, url: str) -> Text:
    """A hook that was made now, with what its callers must know; not to be wrapped, but copied."""
    return Text.assemble(
        ("✓ ", "green"), ("hook ", "bold"), str(hook.get("hook_id", "")), "\n",
        ("  call    ", "dim"), url + str(hook.get("path", "")), "\n",
        ("  secret  ", "dim"), (str(hook.get("secret", "")), "bold"), "\n",
        ("  This is the only time the secret is shown; keep it safe.\n", "yellow"),
        ("\nA signed request (Standard Webhooks) starts a run:\n", "bold"),
    )  # fmt: skip


def signed_call(hook: Document, url: str) -> str:
    """A program that calls the hook, to be pasted into a shell."""
    return _CALL.format(url=url + str(hook.get("path", "")), secret=hook.get("secret", ""))
