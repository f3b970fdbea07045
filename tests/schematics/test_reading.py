import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.adapters.schematics.reading import MAX_BYTES, Unreadable, read_document
from lucius.adapters.schematics.scalars import milliseconds, spoken

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=20)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 2, "\t"]))
def test_json_means_what_json_says(value, indent):
    """A .json file is read as the JSON parser would read it, whatever its layout."""
    text = json.dumps({"it": value}, indent=indent)
    assert read_document("x.json", text.encode()).value == {"it": value}


def test_every_value_knows_its_place():
    """Values and keys are found by pointer, with 1-based line and column."""
    document = read_document("x.yaml", b"a:\n  b/c: [1, two]\n")
    assert document.value == {"a": {"b/c": [1, "two"]}}
    assert document.places["/a/b~1c/1"] == (2, 12)
    assert document.keys["/a/b~1c"] == (2, 3)


def test_words_are_not_booleans():
    """`no` and `on` stay words and a version in quotes stays a text, as in YAML 1.2."""
    document = read_document("x.yaml", b"a: no\nb: 'true'\nc: true\nd: 0x10\ne: 1e3\nf:\n")
    assert document.value == {"a": "no", "b": "true", "c": True, "d": 16, "e": 1000.0, "f": None}


def test_an_empty_file_is_an_empty_mapping():
    """A file with nothing but comments configures nothing."""
    assert read_document("x.yaml", b"# nothing yet\n").value == {}


BOMB = b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("raw", "said", "place"),
    [
        (b"a: 1\nb: 2\na: 3\n", "written twice", (3, 1)),
        (BOMB, "is an anchor", (1, 4)),
        (b"a: *x\n", "is an alias", (1, 4)),
        (b"a: !!python/object:os.system x\n", "is a YAML tag", (1, 4)),
        (b"a: ! x\n", "is a YAML tag", (1, 4)),
        (b"a: 1\n---\nb: 2\n", "second document", (2, 1)),
        (b"a: [1\nb: 2\n", "this is not YAML", (2, 2)),
        (b"a: \x00\n", "U+0000 is not printable", (1, 4)),
        (b"a: b\nc: \xff\n", "not UTF-8", (2, 4)),
        (b"a: .nan\n", "not a finite number", (1, 4)),
        (b"a: 1e999\n", "not a finite number", (1, 4)),
        (b"a: 9007199254740993\n", "beyond 2^53", (1, 4)),
        (b"a: " + b"9" * 5000, "too long for a number", (1, 4)),
        (b"a: \n  ? [b]\n  : c\n", "used as a key", (2, 5)),
        (b"[" * 100_000, "nested deeper", (1, 65)),
        (b"- a\n" * 200_000, "more than 20000 values", (20_000, 3)),
        (b" " * (MAX_BYTES + 1), "bytes", (1, 1)),
    ],
)
def test_what_is_not_one_plain_document_is_refused_with_its_place(raw, said, place):
    """Duplicates, anchors, tags, bombs and broken text are refused where they stand."""
    with pytest.raises(Unreadable) as caught:
        read_document("x.yaml", raw)
    problem = caught.value.problem
    assert said in problem.message
    assert (problem.line, problem.column) == place
    assert problem.remedy


def test_broken_json_is_judged_as_json():
    """YAML's leniency does not reach .json files."""
    with pytest.raises(Unreadable) as caught:
        read_document("x.json", b'{"a": 1,\n "b": two}')
    assert caught.value.problem.message.startswith("this is not JSON")
    assert (caught.value.problem.line, caught.value.problem.column) == (2, 7)


@pytest.mark.parametrize(
    ("written", "span"),
    [
        (30, 30_000),
        (0.5, 500),
        ("30s", 30_000),
        ("15m", 900_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
        ("250ms", 250),
        ("1.5h", 5_400_000),
        (" 30s ", 30_000),
    ],
)
def test_durations_are_seconds_or_have_a_unit(written, span):
    """Numbers are seconds; strings carry their unit."""
    assert milliseconds(written) == span


@pytest.mark.parametrize("written", ["30", "s", "-1s", "1h30m", "15 minutes", True, None, [], "٣s"])
def test_anything_else_is_no_duration(written):
    """A text without a known unit is never guessed at."""
    assert milliseconds(written) is None


@given(st.integers(1, 10**9))
def test_a_spoken_duration_reads_back(span):
    """What a message suggests can be written into the file."""
    assert milliseconds(spoken(span)) == span
