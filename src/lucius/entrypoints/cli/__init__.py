"""The command line: `lucius`.

A thin shell round two things: the HTTP client in `lucius.sdk` for everything a server does, and
`lucius.runtime` for what needs no server (`up`, `keys`, `verify`, `doctor`). No rules live here.

How it fails: every expected error is one sentence on stderr that says what to do next, and an exit
code of `endings`. Nothing but the answer goes to stdout. Modules are loaded when a command needs
them, so that `lucius --help` and completion stay quick.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The `lucius` program."""
    from lucius.entrypoints.cli.app import run

    sys.exit(run(sys.argv[1:]))
