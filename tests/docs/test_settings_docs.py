from __future__ import annotations

import re

from docs.make_settings_table import END, PAGE, START, tables
from lucius.runtime.settings import Settings
from tests.docs.pages import PAGES

_OTHERS = {"LUCIUS_URL", "LUCIUS_API_KEY", "LUCIUS_TENANT", "LUCIUS_EXAMPLES"}


def test_the_settings_table_is_current() -> None:
    """The page shows the settings as they are; `python docs/make_settings_table.py` renews it."""
    found = re.search(f"{START}\n(.*)\n{END}", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    assert found[1] == tables()


def test_every_setting_is_on_the_page_with_words() -> None:
    """No setting goes without a row and a meaning."""
    rows = {
        row.split("|")[1].strip(): row.split("|")[-2].strip()
        for row in tables().splitlines()
        if "`LUCIUS_" in row
    }
    assert set(rows) == {f"`LUCIUS_{name.upper()}`" for name in Settings.model_fields}
    assert all(rows.values())


def test_pages_name_only_settings_there_are() -> None:
    """A variable that a page tells people to set does something."""
    known = {f"LUCIUS_{name.upper()}" for name in Settings.model_fields} | _OTHERS
    named = {name for page in PAGES for name in re.findall(r"\bLUCIUS_[A-Z_]+\b", page.read_text("utf-8"))}
    assert named - known == set()
