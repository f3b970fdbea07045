"""The command line: `lucius`.

A thin shell round two things: the HTTP client in `lucius.sdk` for everything a server does, and
`lucius.runtime` for what needs no server (`up`, `keys`, `verify`, `doctor`). No rules live here.

How it fails: every expected error is one sentence on stderr that says what to do next, and an exit
code of `endings`. Nothing but the answer goes to stdout. Modules are loaded when a command needs
them, so that `lucius --help` and completion stay quick.
"""

from __future__ import annotations

import contextlib
import os
import sys


def main() -> None:
    """The `lucius` program."""
    from lucius.entrypoints.cli.app import run

    code = run(sys.argv[1:])
    if "obstore" in sys.modules:
        # Its threads let go of Python objects a moment after the last answer; an interpreter that shuts
        # down just then is aborted (exit code -6). Everything of ours is closed by now.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)
