from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lucius.sdk.serving.ahead import Ahead
from lucius.sdk.serving.scratch import PREFIX, SETTLED, Scratch, sweep


def test_a_directory_nobody_asks_for_is_not_made(tmp_path: Path) -> None:
    """Work without temporary files pays for none."""
    with Scratch(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_everybody_gets_the_same_directory_and_it_is_gone_afterwards(tmp_path: Path) -> None:
    """Threads that ask at once share one, and nothing of it stays."""
    with Scratch(tmp_path) as scratch, ThreadPoolExecutor(4) as threads:
        found = set(threads.map(lambda _: scratch.path(), range(40)))
        (only,) = found
        (only / "file").write_text("much")
        assert list(tmp_path.iterdir()) == [only]
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    """Old directories that nobody holds go, with the documents in them; those in use and new ones stay."""
    left, fresh, other = (tmp_path / name for name in (f"{PREFIX}left", f"{PREFIX}fresh", "other"))
    for directory in (left, fresh, other):
        directory.mkdir()
        (directory / "document").write_text("confidential")
    (tmp_path / f"{PREFIX}link").symlink_to(other)
    with Scratch(tmp_path) as scratch:
        used = scratch.path()
        for directory in (left, used):
            os.utime(directory, (0, 0))
        assert sweep(tmp_path, now=fresh.stat().st_mtime + SETTLED / 2) == 1
        assert not left.exists()
        assert sorted(tmp_path.iterdir()) == sorted([fresh, other, tmp_path / f"{PREFIX}link", used])
    assert not used.exists()


def test_a_line_that_is_half_full_is_filled_at_once() -> None:
    """Short work asks for many directives now and then, not for each one by itself."""
    ahead = Ahead(4, 16)
    assert ahead.room(0, 0) == 4
    ahead.took(0.01)
    assert [ahead.room(4, held) for held in (16, 9, 8, 0)] == [0, 0, 8, 16]
    assert ahead.room(3, 9) == 8
