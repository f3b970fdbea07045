"""Regenerate every page that is made from code: `python -m docs.generate`, or `make docs`.

Each `make_*.py` beside this file writes its part and is run; nothing has to be registered.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def main() -> None:
    """Run every generator."""
    for path in sorted(Path(__file__).parent.glob("make_*.py")):
        import_module(f"docs.{path.stem}").main()


if __name__ == "__main__":
    main()
