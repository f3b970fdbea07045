from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lucius.services.ocr.layout import as_text, in_reading_order
from lucius.services.ocr.records import Line

PROSE = "words that run on and on"


def box(text: str, left: float, top: float, *, width: float = 200, height: float = 12) -> Line:
    """A piece of text and where it was found."""
    return Line(text=text, box=(left, top, left + width, top + height), confidence=0.9)


def texts(lines: list[Line]) -> list[str]:
    """What the lines say."""
    return [line.text for line in lines]


def test_columns_are_read_one_after_the_other() -> None:
    """Two columns of running text are not shuffled line by line, and a title above stays above."""
    title = [box("A title over both columns", 120, 10, width=250)]
    left = [box(f"left {n} {PROSE}", 0, 40 + 16 * n) for n in range(6)]
    right = [box(f"right {n} {PROSE}", 250, 43 + 16 * n) for n in range(6)]
    mixed = sorted(title + left + right, key=lambda line: (line.box or (0,))[0] % 7)
    assert texts(in_reading_order(mixed)) == texts(title + left + right)


def test_a_table_stays_in_rows() -> None:
    """Short entries side by side are one line each: a label and its value belong together."""
    cells = [
        box(text, x, 20.0 * row, width=60)
        for row in range(5)
        for x, text in ((0, f"Item {row}"), (300, f"EUR {row}.50"))
    ]
    assert texts(in_reading_order(cells[::-1])) == [f"Item {row} EUR {row}.50" for row in range(5)]


def test_boxes_of_one_line_are_joined_left_to_right() -> None:
    """A line that was found in pieces is one line again, with a box around all of it."""
    (line,) = in_reading_order([box("there", 60, 3, width=50), box("hello", 0, 0, width=50)])
    assert line.text == "hello there"
    assert line.box == (0, 0, 110, 15)


def test_a_gap_becomes_a_blank_line() -> None:
    """Paragraphs are kept apart, lines within one are not."""
    lines = [box("Head", 0, 0), box("first line", 0, 32), box("second line", 0, 48), box("next", 0, 80)]
    assert as_text(lines) == "Head\n\nfirst line\nsecond line\n\nnext"


boxes = st.lists(
    st.builds(
        lambda n, x, y, w, h: box(f"t{n}", x, y, width=w, height=h),
        st.integers(0, 999),
        st.floats(0, 500),
        st.floats(0, 500),
        st.floats(1, 300),
        st.floats(1, 40),
    ),
    max_size=40,
)


@given(boxes)
def test_no_box_is_lost_or_read_twice(found: list[Line]) -> None:
    """Whatever lies where, each piece of text comes out once."""
    read = " ".join(texts(in_reading_order(found))).split()
    assert sorted(read) == sorted(texts(found))
