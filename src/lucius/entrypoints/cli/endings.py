"""How the program ends: exit codes, and errors as one sentence with what to do next."""

from __future__ import annotations

import sys
from enum import IntEnum

from lucius.errors import LuciusError


class Ending(IntEnum):
    """Exit codes. Stable: scripts depend on them."""

    OK = 0
    REFUSED = 1
    """The job failed or was cancelled, or what was asked for was refused."""
    USAGE = 2
    """The command line is wrong, or what it names (a file, an address, a setting) is."""
    UNREACHABLE = 3
    """No Lucius answers, or what answers is none."""
    STILL_RUNNING = 4
    """The time to wait was up before the job was over."""
    INTERRUPTED = 130


_USAGE = frozenset({
    "BAD_DESCRIPTION", "BAD_NAME", "BAD_STEP_TYPE",
    "BAD_ATTEMPTS_URL", "BAD_ENVELOPE", "BAD_JSON", "BAD_PAYLOAD", "BAD_SCOPE", "BAD_SETTINGS", "BAD_TARGET",
    "BAD_URL", "BAD_YAML", "BROKEN_MODULE", "DIRECTORY_UNUSABLE", "FILE_OUT_OF_REACH", "FILE_UNREADABLE",
    "KEY_FILE_UNREADABLE", "NOT_A_SERVICE", "NO_SUCH_FILE", "NO_SUCH_MODULE", "NO_SUCH_SERVICE",
    "TYPE_REQUIRED", "UNKNOWN_ROLE",
})  # fmt: skip
_UNREACHABLE = frozenset({"SERVER_UNREACHABLE", "ANSWER_LOST", "NOT_LUCIUS"})
_NEXT = {
    "SERVER_UNREACHABLE": "Start one with `lucius up`, or name another with --url or LUCIUS_URL.",
    "NOT_LUCIUS": "Name another with --url or LUCIUS_URL.",
    "UNAUTHENTICATED": "Give a key with --key-file or LUCIUS_API_KEY; `lucius keys create` makes one.",
    "TENANT_FORBIDDEN": "Name the credential's own tenant (--tenant or --workspace), or use another key.",
    "NOT_FOUND": "`lucius jobs` lists what there is.",
    "INVALID_STATE": "`lucius explain ID`, of a run `lucius lifebook show ID`, says where it stands.",
    "UNKNOWN_REQUEST_TYPE": "`lucius protocols list` shows them.",
    "INSUFFICIENT_CREDITS": "`lucius lifebook deposit W CREDITS` adds some.",
    "OUTPUT_UNREADABLE": "Echo services write nothing; real outputs are read from here, with your rights.",
    "IDEMPOTENCY_KEY_REUSED": "Use another --key, or send what was sent the first time.",
}
_FILES = "`lucius up --files DIR` lets file: references name what lies below DIR."


def tell(error: LuciusError) -> int:
    """Print an error on stderr and give the exit code it ends in."""
    lines = [f"lucius: {error.message.rstrip()} [{error.code}]"]
    if len(error.problems) > 1 or any(one.pointer for one in error.problems):
        lines += [_pointed(one.pointer, one.message) for one in error.problems if one.message not in lines[0]]
        lines += [f"  at {one.pointer}" for one in error.problems if one.pointer and one.message in lines[0]]
    if advice := _advice(error):
        lines.append(f"  {advice}")
    sys.stderr.write("\n".join(plain(line) for line in lines) + "\n")
    return ending_of(error)


def ending_of(error: LuciusError) -> Ending:
    """The exit code an error ends in."""
    if error.code in _USAGE:
        return Ending.USAGE
    return Ending.UNREACHABLE if error.code in _UNREACHABLE else Ending.REFUSED


def complain(message: str) -> None:
    """One sentence on stderr."""
    sys.stderr.write(f"lucius: {plain(message)}\n")


def plain(text: str) -> str:
    """Text from elsewhere without what a terminal would act on."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def _pointed(pointer: str, message: str) -> str:
    return f"  {pointer or '/'}: {message}"


def _advice(error: LuciusError) -> str | None:
    if error.retry_after is not None:
        return f"Try again in {error.retry_after} s."
    codes = {error.code, *(one.code for one in error.problems)}
    if codes & {"REF_SCHEME_NOT_ALLOWED", "REF_PATH_NOT_ALLOWED"}:
        return _FILES
    return _NEXT.get(error.code)
