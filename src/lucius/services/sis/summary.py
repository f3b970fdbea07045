"""A summary in the document's own words: the sentences nearest to the middle of everything that is said.

Of a long document only the most central chunks are looked at, so the work stays bounded. Each sentence that
is taken makes those that say the same less wanted.
"""

from __future__ import annotations

from typing import Final

import msgspec

from lucius.services.sis.answers import Answer
from lucius.services.sis.corpus import Corpus
from lucius.services.sis.prompts import Prompt
from lucius.services.sis.retrieval import Ranked, evidence
from lucius.services.text.vectors import embedder

SENTENCES: Final = 5
_CHUNKS: Final = 60
_WORDS: Final = range(6, 60)
_SAMENESS: Final = 0.3
_BEGINNING: Final = 800


def central(corpus: Corpus) -> list[Ranked]:
    """All chunks, the most central first."""
    import numpy as np  # noqa: PLC0415 - comes with an extra

    if not corpus.chunks:
        return []
    scores = corpus.vectors @ corpus.vectors.mean(axis=0)
    order = np.argsort(-scores, kind="stable")
    return [Ranked(chunk=corpus.chunks[at], score=round(float(scores[at]), 4)) for at in order]


def _standing(text: str, spans: list[tuple[int, int, int]], at: int) -> float:
    """What else speaks for a sentence: the beginning of a page does, figures, marks and addresses do not."""
    figures = sum(1 for each in text if not (each.isalpha() or each.isspace())) / len(text)
    contact = "@" in text or "://" in text
    begins = 1.0 - min(spans[at][1] / _BEGINNING, 1.0)
    first = spans[at][0] == spans[0][0]
    return (0.25 if first else 0.15) * begins - 0.8 * figures - (0.3 if contact else 0.0)


def summarise(corpus: Corpus, prompt: Prompt) -> Answer:
    """The most central sentences, in the order of the document."""
    import numpy as np  # noqa: PLC0415 - comes with an extra

    asked = Answer(id=prompt.id, question=prompt.question)
    ranked = central(corpus)
    looked_at = ranked[:_CHUNKS]
    spans = sorted({(one.chunk.page, *span) for one in looked_at for span in corpus.sentences(one.chunk)})
    texts = [" ".join(corpus.pages[page][start:end].split()) for page, start, end in spans]
    whole = [at for at, text in enumerate(texts) if len(text.split()) in _WORDS] or list(range(len(texts)))
    if not whole:
        return asked
    vectors = embedder().embed([texts[at] for at in whole], corpus.vectors.shape[1])
    middle = vectors.mean(axis=0)
    scores = vectors @ (middle / max(float(np.linalg.norm(middle)), 1e-9))
    scores += np.asarray([_standing(texts[at], spans, at) for at in whole], dtype=np.float32)
    said = np.zeros(len(whole), dtype=np.float32)
    chosen: list[int] = []
    for _ in range(min(prompt.top or SENTENCES, len(whole))):
        wanted = scores - _SAMENESS * said
        wanted[chosen] = -np.inf
        chosen.append(int(np.argmax(wanted)))
        said = np.maximum(said, vectors @ vectors[chosen[-1]])
    picked = sorted(chosen)
    return msgspec.structs.replace(
        asked,
        answer=" ".join(dict.fromkeys(texts[whole[at]] for at in picked)),
        how="kind:summary",
        pages=tuple(sorted({spans[whole[at]][0] for at in picked})),
        confidence=round(min(max(float(scores[picked].mean()), 0.0), 1.0), 3),
        evidence=evidence(ranked[:3]),
    )
