"""Words as a search sees them: folded, without endings, and weighed by how rare they are."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD: Final = re.compile(r"[^\W_]+")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ENDINGS: Final = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("er", ""), ("ly", ""), ("s", ""))
_SHORTEST_STEM: Final = 3
_LITTLE: Final = (
    "a an and are as at be been but by can could did do does for from give had has have her his how i if in "
    "is it its list me name of on or our show tell that the their there these they this those to us was we "
    "were what when where which who whom whose why will with would you your "
    "aus bei das dem den der des die ein eine einem einen einer ist im in mit nach oder sind und von wann "
    "war was welche welcher welches wer werden wie wird wo zu zum zur"
)
_STOP: Final = frozenset(_LITTLE.split())


def words(text: str) -> list[str]:
    """The stems of a text's words; scripts without spaces give pairs of characters."""
    found: list[str] = []
    for match in _WORD.finditer(text.casefold()):
        word = match.group()
        if _UNSPACED.search(word):
            found.extend(word[at : at + 2] for at in range(max(len(word) - 1, 1)))
        else:
            found.append(_stem(word))
    return found


def telling(question: str) -> frozenset[str]:
    """The words of a question that say what it is about; all of them if it has no other."""
    plain = frozenset(words(question))
    return frozenset(word for word in plain if word not in _STEMMED_STOP) or plain


def _stem(word: str) -> str:
    """A word without its ending: rough, but the same for question and text."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_STEM else word


_STEMMED_STOP: Final = _STOP | frozenset(map(_stem, _STOP))


class Index:
    """Which texts hold which words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        self._where: dict[str, array[int]] = {}
        for number, text in enumerate(texts):
            for word in set(words(text)):
                self._where.setdefault(word, array("l")).append(number)

    def weight(self, word: str) -> float:
        """How much a word says; a word that no text holds says as much as the rarest one."""
        held = len(self._where.get(word, ())) or 1
        return math.log(1.0 + (self._count + 1) / held)

    def shares(self, asked: frozenset[str]) -> NDArray[np.float32]:
        """For every text, how much of what was asked for is in it: 0 to 1."""
        import numpy as np  # noqa: PLC0415 - comes with an extra

        shares = np.zeros(self._count, dtype=np.float32)
        for word in asked:
            if word in self._where:
                shares[np.asarray(self._where[word])] += self.weight(word)
        whole = sum(map(self.weight, asked))
        return shares / np.float32(whole) if whole else shares

    def share(self, asked: frozenset[str], held: Iterable[str]) -> float:
        """The same for one text that need not be in the index."""
        whole = sum(map(self.weight, asked))
        return sum(map(self.weight, asked.intersection(held))) / whole if whole else 0.0
