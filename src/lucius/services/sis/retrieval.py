"""Finding the passages that speak about a question: nearness of vectors, blended with shared words.

Vectors find what is said in other words, words find names and numbers; either alone is often wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from lucius.services.sis.answers import Answer, Evidence
from lucius.services.sis.corpus import Corpus
from lucius.services.sis.hints import expected, holds
from lucius.services.sis.prompts import Prompt
from lucius.services.text.chunks import Chunk
from lucius.services.text.vectors import embedder
from lucius.services.text.words import telling, words

if TYPE_CHECKING:
    from lucius.services.text.vectors import Matrix

TOP: Final = 3
_NEARNESS: Final = 0.55
_LEAST: Final = 0.16
"""Below this nothing speaks about the question."""
_ALSO: Final = 0.9
"""A second sentence is given too if it is nearly as good as the best."""
_BEFORE: Final = 0.5
"""What the sentence before counts: `It costs …` speaks of what was named there."""
_HINT: Final = 1.25
"""A sentence that holds the kind of value the question expects is this much better."""
_HEADING_WORDS: Final = 6
_SHOWN: Final = 600


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk and how well it fits a question."""

    chunk: Chunk
    score: float


def rank(corpus: Corpus, prompt: Prompt) -> list[Ranked]:
    """All chunks, best first; in the order of the document where nothing was asked in words."""
    import numpy as np  # noqa: PLC0415 - comes with an extra

    if not prompt.question.strip() or not corpus.chunks:
        return [Ranked(chunk=chunk, score=0.0) for chunk in corpus.chunks]
    query = embedder().embed([prompt.question], corpus.vectors.shape[1])[0]
    shares = corpus.index.shares(telling(prompt.question))
    scores = _NEARNESS * np.maximum(corpus.vectors @ query, 0.0) + (1 - _NEARNESS) * shares
    order = np.argsort(-scores, kind="stable")
    return [Ranked(chunk=corpus.chunks[at], score=round(float(scores[at]), 4)) for at in order]


def evidence(ranked: list[Ranked]) -> tuple[Evidence, ...]:
    """Passages as an answer shows them."""
    return tuple(
        Evidence(page=one.chunk.page, chunk=one.chunk.id, score=one.score, text=one.chunk.text[:_SHOWN])
        for one in ranked
    )


def best_sentences(corpus: Corpus, prompt: Prompt, ranked: list[Ranked]) -> Answer:
    """The sentence (or two) of the best chunks that fits the question best."""
    best = ranked[: prompt.top or TOP]
    asked = Answer(id=prompt.id, question=prompt.question)
    spans = sorted({(one.chunk.page, *span) for one in best for span in corpus.sentences(one.chunk)})
    if not spans or best[0].score < _LEAST:
        return asked
    texts = [corpus.pages[page][start:end] for page, start, end in spans]
    scores = _sentence_scores(corpus, prompt.question, texts, spans)
    order = sorted(range(len(spans)), key=lambda at: -scores[at])[:2]
    if scores[order[0]] < _LEAST:
        return asked
    chosen = sorted({order[0], *(at for at in order[1:] if _adds(spans, texts, scores, order[0], at))})
    said = [spoken(corpus, *spans[at]) for at in chosen]
    return msgspec.structs.replace(
        asked,
        answer=" ".join(dict.fromkeys(said)),
        how="retrieval",
        pages=tuple(sorted({spans[at][0] for at in chosen})),
        confidence=round(min(1.0, scores[order[0]]), 3),
        evidence=evidence(best),
    )


def _sentence_scores(
    corpus: Corpus, question: str, texts: list[str], spans: list[tuple[int, int, int]]
) -> list[float]:
    """How well each sentence fits; one under a heading that fits shares a little of its score."""
    vectors: Matrix = embedder().embed([question, *texts], corpus.vectors.shape[1])
    near = vectors[1:] @ vectors[0]
    asked, kinds = telling(question), expected(question)
    held = [set(words(text)) for text in texts]
    scores: list[float] = []
    for at, text in enumerate(texts):
        before = held[at - 1] if at and spans[at][0] == spans[at - 1][0] else set[str]()
        alone, together = corpus.index.share(asked, held[at]), corpus.index.share(asked, held[at] | before)
        shared = alone + _BEFORE * (together - alone)
        score = _NEARNESS * max(float(near[at]), 0.0) + (1 - _NEARNESS) * shared
        scores.append(score * _HINT if kinds and holds(kinds, text) else score)
    own = list(scores)
    for at, text in enumerate(texts):
        if _heading(text):  # it names the matter; what is said about it comes after
            scores[at] *= 0.75
        elif at and spans[at][0] == spans[at - 1][0] and _heading(texts[at - 1]):
            scores[at] += 0.25 * own[at - 1]
    return scores


def _adds(
    spans: list[tuple[int, int, int]], texts: list[str], scores: list[float], best: int, other: int
) -> bool:
    """Whether a second sentence belongs to the answer: nearly as good, on the same page, and no heading."""
    as_good = scores[other] >= _ALSO * scores[best]
    return as_good and spans[other][0] == spans[best][0] and not _heading(texts[other])


def spoken(corpus: Corpus, page: int, start: int, end: int) -> str:
    """A sentence on one line; a heading or a label with what it stands over."""
    text = corpus.pages[page][start:end]
    following = corpus.after(page, end) if _heading(text) else None
    if following is not None:
        text = f"{text} {corpus.pages[page][slice(*following)]}"
    return " ".join(text.split())


def _heading(text: str) -> bool:
    return (
        len(text.split()) <= _HEADING_WORDS
        and not text.rstrip().endswith((".", "!", "?", "。"))
        and (text.rstrip().endswith(":") or not any(map(str.isdigit, text)))
    )
