import numpy as np
import pytest

from lucius.services.sis.hints import expected, holds
from lucius.services.text.words import Index, telling, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("comes", "come"),
        ("pipes", "pipe"),
        ("studies", "study"),
        ("Payments", "payment"),
        ("closed", "close"),
    ],
)
def test_forms_of_a_word_are_the_same_to_a_search(one, other):
    """A question may use another form than the text."""
    assert words(one) == words(other)


def test_a_question_is_about_its_telling_words():
    """Little words fall away, unless there are no others; scripts without spaces give pairs."""
    assert telling("Where does the water come from?") == frozenset(words("water come"))
    assert telling("Who was it?") == frozenset(words("who was it"))
    assert words("東京都") == ["東京", "京都"]
    assert telling("???") == frozenset()


def test_rare_words_count_more_than_common_ones():
    """Of two texts that share one word with the question, the one with the rarer word is nearer."""
    index = Index(["water water", "water pump", "water zebra"])
    shares = index.shares(telling("water zebra"))
    assert np.argmax(shares) == 2
    assert shares[2] == pytest.approx(1.0)
    assert 0 < shares[0] < 0.5
    assert index.share(telling("unheard of"), words("water")) == 0.0
    assert not Index([]).shares(telling("water")).size


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How much is the fee?", "It is EUR 35."),
        ("When does it open?", "On 1 June 2031."),
        ("How many came?", "Some 4,812."),
    ],
)
def test_a_question_hints_at_the_kind_of_its_answer(question, text):
    """The hint fits the answer, and a sentence without a value does not have it."""
    assert holds(expected(question), text)
    assert not holds(expected(question), "Nobody knows.")
    assert expected("Why was it closed?") == ()
