"""`answers.md`: the answers for people. What comes from the document is escaped, so it stays text."""

from __future__ import annotations

import re
from typing import Final

from lucius.services.sis.answers import Answer, Result

_MARKS: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")
_SHOWN: Final = 300


def markdown(result: Result) -> str:
    """All answers, one below the other."""
    who = "the document itself, without a model" if result.answered_by == "document" else result.answered_by
    lines = [f"# Answers: {_plain(result.prompt_set)}", "", f"Answered by {_plain(who)}.", ""]
    for answer in result.answers:
        lines += _one(answer)
    return "\n".join(lines).rstrip() + "\n"


def _one(answer: Answer) -> list[str]:
    lines = [f"## {_plain(answer.question or answer.id)}", ""]
    if answer.answer is None:
        return [*lines, "Not found in the document.", ""]
    pages = ", ".join(map(str, answer.pages))
    lines += [
        _plain(answer.answer),
        "",
        f"Page {pages} · {answer.how} · confidence {answer.confidence:.2f}",
        "",
    ]
    for passage in answer.evidence[:1]:
        lines += [f"> page {passage.page}: {_plain(passage.text[:_SHOWN])}", ""]
    return lines


def _plain(text: str) -> str:
    """One line without anything Markdown or HTML would act on."""
    return _MARKS.sub(r"\\\1", " ".join(text.split())).replace("\\<", "&lt;").replace("\\>", "&gt;")
