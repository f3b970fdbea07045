from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.sdk.serving.outcomes import Final
from lucius.services.text import chunks as chunking
from lucius.services.text.chunks import cut_pages, spans
from lucius.services.text.sentences import LONGEST, sentences

PROSE = st.lists(
    st.sampled_from(
        [
            "word",
            "Sentence.",
            "a",
            "\n",
            "\n\n",
            " ",
            "   ",
            "Dr.",
            "3.50",
            "Total:",
            "。",
            "x" * 40,
            "\t",
            "ü",
            "\u2028",
        ]
    ),
    max_size=80,
).map(" ".join)
TEXTS = st.one_of(PROSE, st.text(max_size=300))
SIZES = st.integers(1, 120).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


@given(text=TEXTS, sizes=SIZES)
def test_chunks_hold_every_printed_character_and_no_more_than_their_size(text, sizes):
    """Whatever the text and the sizes: it ends, nothing is lost, nothing is longer than asked for."""
    size, overlap = sizes
    found = list(spans(text, size=size, overlap=overlap))
    covered = {at for start, end in found for at in range(start, end)}
    assert all(at in covered for at, character in enumerate(text) if not character.isspace())
    for start, end in found:
        assert 0 < end - start <= size
        assert not text[start].isspace()
        assert not text[end - 1].isspace()


@given(text=TEXTS, sizes=SIZES)
def test_neighbours_go_forward_and_share_no_more_than_the_overlap(text, sizes):
    """Each chunk begins and ends after the one before it; no chunk lies inside another."""
    size, overlap = sizes
    for (start, end), (after, until) in pairwise(spans(text, size=size, overlap=overlap)):
        assert after > start
        assert until > end
        assert end - after <= overlap


@given(text=TEXTS)
def test_sentences_hold_every_printed_character_once(text):
    """Sentences lie one after the other, none is too long, and only white space is between them."""
    reached = 0
    for start, end in sentences(text):
        assert not text[reached:start].strip()
        assert 0 < end - start <= LONGEST
        reached = end
    assert not text[reached:].strip()


@given(pages=st.lists(TEXTS, max_size=4), sizes=SIZES)
def test_a_chunk_is_exactly_its_place_on_its_page(pages, sizes):
    """`page[start:end]` is the text, and ids are counted through."""
    size, overlap = sizes
    made = cut_pages(pages, size=size, overlap=overlap)
    assert [chunk.id for chunk in made] == [f"c{number}" for number in range(1, len(made) + 1)]
    assert all(pages[chunk.page - 1][chunk.start : chunk.end] == chunk.text for chunk in made)


def test_a_chunk_ends_with_a_paragraph_before_a_sentence_before_a_word():
    """The best seam in the second half of the room is taken."""
    text = "One two three. Four five.\n\nSix seven eight nine ten eleven."
    cut = [text[a:b] for a, b in spans(text, size=40, overlap=0)]
    assert cut == ["One two three. Four five.", "Six seven eight nine ten eleven."]
    start, end = next(spans(text, size=20, overlap=0))
    assert text[start:end] == "One two three."
    words = "alpha beta gamma"
    assert [words[a:b] for a, b in spans(words, size=13, overlap=0)] == ["alpha beta", "gamma"]


def test_an_overlap_begins_at_a_word():
    """What neighbours share is whole words where there are any."""
    text = "alpha beta gamma delta epsilon zeta"
    assert [text[a:b] for a, b in spans(text, size=17, overlap=8)] == [
        "alpha beta gamma",
        "gamma delta",
        "delta epsilon",
        "epsilon zeta",
    ]


def test_sentences_know_abbreviations_short_lines_and_wrapped_ones():
    """A form's lines stand alone; a wrapped line goes on; `Dr.` ends nothing."""
    text = (
        "Dr. Oldenburg paid 3.50 EUR. She left.\nTotal: 5 EUR\nDue: now\n"
        "This line of prose is long enough to have been wrapped by whoever\nset it. End"
    )
    assert [text[a:b] for a, b in sentences(text)] == [
        "Dr. Oldenburg paid 3.50 EUR.",
        "She left.",
        "Total: 5 EUR",
        "Due: now",
        "This line of prose is long enough to have been wrapped by whoever\nset it.",
        "End",
    ]


@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (5_000, 4_999)])
def test_too_many_chunks_end_in_a_clear_failure(monkeypatch, size, overlap):
    """Sizes that would make more chunks or more text than can be held are refused, not tried."""
    monkeypatch.setattr(chunking, "MAX_CHUNKS", 1_000)
    monkeypatch.setattr(chunking, "MAX_CHARACTERS", 300_000)
    with pytest.raises(Final, match="chunk_size") as failed:
        cut_pages(["word " * 20_000], size=size, overlap=overlap)
    assert failed.value.code == "TOO_MANY_CHUNKS"


@pytest.mark.parametrize("piece", [".", "\n", " ", "x", ". ", "\n ", "a\n"])
def test_monotonous_text_costs_no_more_than_its_length(piece):
    """The same character over and over is cut like anything else."""
    text = piece * (200_000 // len(piece))
    made = cut_pages([text], size=800, overlap=100)
    assert sum(len(chunk.text) for chunk in made) < 2 * len(text)
    assert not text.strip() or made[-1].end == len(text.rstrip())
