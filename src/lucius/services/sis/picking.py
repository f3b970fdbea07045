"""From places in a document to one answer: each value once, with its pages and the words around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from lucius.services.sis.answers import Answer, Evidence, Match
from lucius.services.sis.corpus import Corpus
from lucius.services.sis.prompts import Prompt
from lucius.services.sis.retrieval import Ranked
from lucius.services.text import patterns
from lucius.services.text.words import telling, words

Raw = tuple[int, int, int, str | None]
"""Which of the chunks, where in its window, and the plain value if it has one."""
_MOST_MATCHES: Final = 100
_SPELLED_OUT: Final = 20
_BEFORE: Final = 200
_AFTER: Final = 100


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A value where it stands."""

    text: str
    value: str
    ranked: Ranked
    start: int
    fit: float
    """How much of the question stands on its line or the one before."""


def kept(corpus: Corpus, prompt: Prompt, ranked: Sequence[Ranked], raw: list[Raw]) -> list[Found]:
    """What lies in the chunk itself and not inside something longer that was found before."""
    asked = telling(prompt.question) if prompt.question.strip() else frozenset()
    taken: dict[int, list[tuple[int, int]]] = {}
    kept: list[Found] = []
    for at, start, end, plain in raw:
        chunk = ranked[at].chunk
        begin, window = corpus.window(chunk)
        span = (begin + start, begin + end)
        others = taken.setdefault(chunk.page, [])
        outside = span[1] <= chunk.start or span[0] >= chunk.end
        if outside or any(a <= span[0] and span[1] <= b for a, b in others):
            continue
        others.append(span)
        text = " ".join(window[start:end].split())[:500]
        fit = _fit(corpus, asked, window, start, end) if asked else 0.0
        kept.append(Found(text=text, value=plain or text, ranked=ranked[at], start=span[0], fit=fit))
        if len(kept) == patterns.MAX_HITS:
            break
    return kept


def _fit(corpus: Corpus, asked: frozenset[str], window: str, start: int, end: int) -> float:
    """Words on the same line count most, those on the line before a little."""
    line = window.rfind("\n", 0, start) + 1
    above = window.rfind("\n", 0, max(line - 1, 0)) + 1
    close = window.find("\n", end)
    same = window[max(line, start - _BEFORE) : min(close if close >= 0 else len(window), end + _AFTER)]
    before = window[max(above, line - _BEFORE) : line]
    here = set(words(same))
    share = corpus.index.share
    return 0.75 * share(asked, here) + 0.25 * share(asked, here.union(words(before)))


def answer(corpus: Corpus, prompt: Prompt, found: list[Found], how: str, *, near: bool) -> Answer:
    """One answer from all that was found; each value once."""
    best = max(found, key=lambda one: (one.fit, one.ranked.score))
    ordered = sorted(found, key=lambda one: (one.ranked.chunk.page, one.start))
    matches = _distinct([best] if prompt.take == "one" else ordered)
    shown = [one.text for one in matches[:_SPELLED_OUT]]
    more = len(matches) - len(shown)
    passages: dict[str, Found] = {}
    for one in sorted(found, key=lambda one: (one.fit, one.ranked.score), reverse=True):
        passages.setdefault(one.ranked.chunk.id, one)
    return Answer(
        id=prompt.id,
        question=prompt.question,
        answer="; ".join(shown) + (f"; and {more} more" if more else ""),
        how=how,
        pages=tuple(sorted({page for one in matches for page in one.pages})),
        confidence=_confidence(prompt, best, near=near),
        evidence=tuple(_passage(corpus, one) for one in list(passages.values())[:3]),
        matches=tuple(_distinct(ordered)[:_MOST_MATCHES]),
    )


def _confidence(prompt: Prompt, best: Found, *, near: bool) -> float:
    """A rule of thumb: where it was found, and how much of the question stands beside it."""
    if not prompt.question.strip():
        return 0.8  # all values were asked for, so none can be the wrong one
    return round(min(1.0, (0.6 if near else 0.4) + 0.4 * best.fit), 3)


def _distinct(found: Sequence[Found]) -> list[Match]:
    held: dict[str, Match] = {}
    for one in found:
        key = one.value.casefold()
        before = held.get(key)
        pages = {one.ranked.chunk.page, *(before.pages if before else ())}
        text, value = (before.text, before.value) if before else (one.text, one.value)
        held[key] = Match(text=text, value=value, pages=tuple(sorted(pages)))
    return list(held.values())


def _passage(corpus: Corpus, one: Found) -> Evidence:
    chunk = one.ranked.chunk
    around = corpus.pages[chunk.page][max(0, one.start - _BEFORE) : one.start + len(one.text) + _AFTER]
    return Evidence(page=chunk.page, chunk=chunk.id, score=one.ranked.score, text=" ".join(around.split()))
