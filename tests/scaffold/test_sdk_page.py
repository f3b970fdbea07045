from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lucius import sdk
from lucius.sdk.serving.meter import Meter
from tests.docs.pages import ROOT, blocks

SDK = ROOT / "docs" / "sdk.md"
SERVICES = ROOT / "docs" / "services.md"
CLIENT = {"AsyncClient", "Call", "Client", "Patience", "admin", "commands", "jobs", "lifebook"}
"""The other half of `lucius.sdk`, which has pages of its own."""


def code(page: Path) -> dict[str, Any]:
    """Everything that the Python on a page defines."""
    names: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page):
        if block.info == "python":
            exec(block.text, names)  # noqa: S102 - our own page
    return names


async def test_the_short_service_works(tmp_path: Path) -> None:
    """The first service a reader sees counts words."""
    execute = code(SERVICES)["execute"]
    tried = await sdk.trial(execute, document="to be or not", directory=tmp_path)
    assert tried.json() == {"words": 4}
    with pytest.raises(sdk.Final, match="EMPTY_DOCUMENT"):
        await sdk.trial(execute, directory=tmp_path)


async def test_the_services_on_the_reference_page_work(tmp_path: Path) -> None:
    """Function, class, several artifacts and failures do what the page says about them."""
    names = code(SDK)
    await names["test_words_are_counted"](tmp_path / "count")
    said = await sdk.trial(names["Sentiment"](), document="all is well", directory=tmp_path / "sentiment")
    assert said.json() == {"good": 1 / 3}
    found = await sdk.trial(names["find_digits"], document="a1\fb22", directory=tmp_path / "digits")
    assert (found.json(), found.text("pages.csv")) == ({"digits": 3}, "1\n2")
    assert [message for _, message in found.progress] == ["page 1 of 2", "page 2 of 2"]
    (tmp_path / "x.pdf").touch()
    with pytest.raises(sdk.Final, match="WRONG_MEDIA_TYPE"):
        await sdk.trial(names["parse"], document=tmp_path / "x.pdf", directory=tmp_path / "parse")


def test_the_page_names_everything_there_is() -> None:
    """What a service may use is on the page: exports, what a step has, metrics."""
    page = SDK.read_text("utf-8")
    exports = set(sdk.__all__) - CLIENT
    step = {name for name in vars(sdk.Step) if name[0] != "_"}
    offered = {
        name for kind in (sdk.Source, sdk.Workspace, sdk.Service) for name in vars(kind) if name[0] != "_"
    }
    metrics = set(re.findall(rb"^# TYPE (\w+)", Meter("X").exposition(), re.MULTILINE))
    assert len(metrics) > 5
    wanted = exports | step | offered | {name.decode() for name in metrics}
    missing = {name for name in wanted - {"read_payload"} if not re.search(rf"\b{name}", page)}
    assert missing == set()
