"""`python -m lucius.entrypoints.cli`: the same as `lucius`, for when it is not on the path."""

from __future__ import annotations

from lucius.entrypoints.cli import main

main()
