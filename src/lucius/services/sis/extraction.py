"""Picking values out of the passages that fit a question, by the prompt's patterns or its kind.

First the best chunks are searched; only if there is nothing in them, the rest of the document, up to a bound.
Patterns go to a child process with a time limit (`lucius.services.text.patterns`); kinds are our own.

How it fails, finally: `INVALID_PATTERN` and `PATTERN_TOO_SLOW`, both naming the prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from lucius.sdk.serving import outcomes
from lucius.sdk.serving.step import Step
from lucius.services.sis.answers import Answer
from lucius.services.sis.corpus import Corpus
from lucius.services.sis.kinds import values
from lucius.services.sis.picking import Raw, answer, kept
from lucius.services.sis.prompts import Prompt
from lucius.services.sis.retrieval import TOP, Ranked
from lucius.services.text import patterns

PATTERN_SECONDS: Final = 2.0
"""Processor time for all patterns of a prompt set in one search, and a little more for long texts."""
_CHARACTERS_A_SECOND: Final = 2_000_000
_MOST_SECONDS: Final = 20.0
_PATIENCE: Final = 60.0
"""On the clock, where the timer in the child does not work."""
_MOST_TEXT: Final = 4_000_000


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt and the chunks to look in."""

    prompt: Prompt
    ranked: Sequence[Ranked]

    def near(self) -> Sequence[Ranked]:
        """The best chunks; none where nothing was asked in words, for then all are as good."""
        return self.ranked[: self.prompt.top or TOP] if self.prompt.question.strip() else ()

    def far(self) -> Sequence[Ranked]:
        """As much of the document as is searched at all, from its beginning."""
        room, found = _MOST_TEXT, []
        for one in sorted(self.ranked, key=lambda one: (one.chunk.page, one.chunk.start)):
            room -= len(one.chunk.text)
            if room < 0:
                break
            found.append(one)
        return found


async def by_patterns(step: Step[Any], corpus: Corpus, wanted: Sequence[Wanted]) -> dict[str, Answer]:
    """Answers, by prompt id, for those prompts whose patterns fit something."""
    asked = [one for one in wanted if one.prompt.expressions]
    answers: dict[str, Answer] = {}
    for places in (Wanted.near, Wanted.far):
        left = [one for one in asked if one.prompt.id not in answers]
        searched = [(one, places(one)) for one in left]
        hits = await _search(step, corpus, searched) if left else []
        for (one, ranked), spans in zip(searched, hits, strict=True):
            raw: list[Raw] = [(at, start, end, None) for at, start, end in spans]
            found = kept(corpus, one.prompt, ranked, raw)
            if found:
                near = places is Wanted.near
                answers[one.prompt.id] = answer(corpus, one.prompt, found, "pattern", near=near)
    return answers


def by_kind(corpus: Corpus, wanted: Wanted) -> Answer | None:
    """An answer made of the values of the prompt's kind, if there are any."""
    kind = wanted.prompt.kind or ""
    places: Callable[[Wanted], Sequence[Ranked]]
    for places in (Wanted.near, Wanted.far):
        ranked = places(wanted)
        raw: list[Raw] = [
            (at, value.start, value.end, value.plain)
            for at, each in enumerate(ranked)
            for value in values(kind, corpus.window(each.chunk)[1])
        ]
        found = kept(corpus, wanted.prompt, ranked, raw)
        if found:
            return answer(corpus, wanted.prompt, found, f"kind:{kind}", near=places is Wanted.near)
    return None


async def _search(
    step: Step[Any], corpus: Corpus, searched: Sequence[tuple[Wanted, Sequence[Ranked]]]
) -> list[list[patterns.Hit]]:
    """The hits of every prompt; each text goes to the child once, however many prompts want it."""
    places = {id(each.chunk): each.chunk for _, ranked in searched for each in ranked}
    number = {place: at for at, place in enumerate(places)}
    texts = [corpus.window(chunk)[1] for chunk in places.values()]
    jobs = [(one.prompt.expressions, [number[id(each.chunk)] for each in ranked]) for one, ranked in searched]
    work = sum(len(expressions) * sum(len(texts[at]) for at in numbers) for expressions, numbers in jobs)
    seconds = min(PATTERN_SECONDS + work / _CHARACTERS_A_SECOND, _MOST_SECONDS)
    await step.in_process(patterns.search, [], [], seconds)  # the child starts before the clock does
    try:
        async with asyncio.timeout(_PATIENCE):
            state, at, why, hits = await step.in_process(patterns.search, texts, jobs, seconds)
    except TimeoutError:
        raise outcomes.Final("PATTERN_TOO_SLOW", "A pattern of the prompt set takes too long.") from None
    if state == "ok":
        return hits
    name = searched[at][0].prompt.id
    if state == "slow":
        raise outcomes.Final(
            "PATTERN_TOO_SLOW", f"A pattern of the prompt {name!r} takes too long ({why}); make it simpler."
        )
    raise outcomes.Final("INVALID_PATTERN", f"A pattern of the prompt {name!r} is not valid: {why}.")
