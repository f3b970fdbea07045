"""What a job found out: answers with their pages, or whatever else its output is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.json import JSON
from rich.text import Text

from lucius.entrypoints.cli.show.job import indented, plain_table

Document = dict[str, Any]
_NONE = "–"


def is_answers(content: Any) -> bool:
    """Whether this is what SIS puts out: a list of answered questions."""
    answers = content.get("answers") if isinstance(content, dict) else None
    return isinstance(answers, list) and all(isinstance(one, dict) and "question" in one for one in answers)


def answers(content: Document) -> RenderableType:
    """One line a question: what was asked, the answer, where it stands, and how it was found."""
    table = plain_table("question", "answer", "page", "how")
    table.columns[0].ratio, table.columns[1].ratio = 2, 3
    table.columns[2].no_wrap = table.columns[3].no_wrap = True
    for one in content["answers"]:
        answer = one.get("answer")
        found = (
            Text(_said(answer), style="bold") if answer not in (None, "", []) else Text(_NONE, style="dim")
        )
        table.add_row(
            _said(one.get("question") or one.get("id")),  # a prompt may be a kind of value, without words
            found,
            pages(one.get("pages")),
            Text(_said(one.get("how")), style="dim"),
        )
    by = content.get("answered_by")
    told = (
        "answered from the document alone"
        if by == "document"
        else f"answered by {_said(by).replace('model:', 'the model ', 1)}"
    )
    return Group(indented(table), *([indented(Text(f"\n{told}", style="dim"))] if by else []))


def pages(found: Any) -> str:
    """`1`, `2, 5`; a dash where no page was named."""
    listed = found if isinstance(found, Sequence) and not isinstance(found, str) else []
    return ", ".join(str(page) for page in listed) or _NONE


def content_sheet(content: Any) -> RenderableType:
    """Any output, the way it reads best."""
    if is_answers(content):
        return answers(content)
    if isinstance(content, str):
        return Text(content)
    return JSON.from_data(content, highlight=False)


def _said(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return _NONE
    if isinstance(value, list):
        return ", ".join(_said(one) for one in value)
    return str(value)
