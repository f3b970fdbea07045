from __future__ import annotations

import re

from docs.make_settings_table import (
    END,
    PAGE,
    SERVICE_END,
    SERVICE_START,
    SERVICES,
    START,
    service_tables,
    tables,
    variable,
)
from lucius.runtime.settings import Settings
from tests.docs.pages import PAGES

_OTHERS = {"LUCIUS_URL", "LUCIUS_API_KEY", "LUCIUS_TENANT", "LUCIUS_EXAMPLES"}


def test_the_settings_table_is_current() -> None:
    """The page shows the settings as they are; `python docs/make_settings_table.py` renews it."""
    for start, end, made in ((START, END, tables()), (SERVICE_START, SERVICE_END, service_tables())):
        found = re.search(f"{start}\n(.*)\n{end}", PAGE.read_text("utf-8"), re.DOTALL)
        assert found is not None
        assert found[1] == made


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
    known |= {variable(settings, name) for settings in SERVICES.values() for name in settings.model_fields}
    named = {name for page in PAGES for name in re.findall(r"\bLUCIUS_[A-Z_]+\b", page.read_text("utf-8"))}
    assert named - known == set()
