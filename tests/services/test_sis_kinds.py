import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.services.sis.kinds import decimal, values
from lucius.services.sis.prompts import KINDS

PICKED = [kind for kind in KINDS if kind != "summary"]


@pytest.mark.parametrize(
    ("kind", "text", "plain"),
    [
        (
            "amount",
            "pay € 1.234,50 now, or $2 million, or 3'000 CHF.",
            ["1234.50 EUR", "2e6 USD", "3000 CHF"],
        ),
        ("amount", "EUR 1,234,567.89 and 12 eur; USD5", ["1234567.89 EUR", "12 EUR", "5 USD"]),
        ("amount", "12 apples, version 3.11, EUR-zone", []),
        ("date", "on 2031-05-04, 4.5.2031, 4 May 2031 and May 4th, 2031", ["2031-05-04"] * 4),
        ("date", "am 4. Mai 2031, im März 2031", ["2031-05-04", "2031-03"]),
        ("date", "Date:4 May2031, 4May 2031, May 4,2031, May4, 2031", ["2031-05-04"] * 4),
        ("date", "31/12/2031, 12/31/2031, 3/4/2031", ["2031-12-31", "2031-12-31", "3/4/2031"]),
        ("date", "31.02.2031 and 2031-13-01 and 1.2.3.4", []),
        ("email", "Ask a.b+c@mail.example.org, or <x@y.example>.", ["a.b+c@mail.example.org", "x@y.example"]),
        ("email", "a@b, @you, a@b..example", []),
        ("percentage", "up 8.5 %, down -3,2%, 10 per cent", ["8.5%", "-3.2%", "10%"]),
        (
            "phone",
            "+44 20 7946 0321, (030) 123-4567, 555-123-4567",
            ["+442079460321", "0301234567", "5551234567"],
        ),
        ("phone", "born 12.05.1999, item 1234567, 2031-05-04", []),
        ("iban", "DE89 3704 0044 0532 0130 00 THANK YOU", ["DE89370400440532013000"]),
        ("iban", "GB82WEST12345698765432, DE00 3704 0044 0532 0130 00", ["GB82WEST12345698765432"]),
        (
            "url",
            "see https://example.org/a?b=c. (www.example.com)",
            ["https://example.org/a?b=c", "www.example.com"],
        ),
        ("number", "1,234.5 and -7 in 2031", ["1234.5", "-7", "2031"]),
        ("time", "from 9:30 to 17:05:59, not 25:00", ["9:30", "17:05:59"]),
    ],
)
def test_a_kind_is_read_as_people_write_it(kind, text, plain):
    """Values come out in a plain form, and what only looks like one is left alone."""
    found = list(values(kind, text))
    assert [one.plain for one in found] == plain


@given(text=st.text(alphabet=st.sampled_from("0123456789.,-/+@:()€$ %AEeRUm\n'w"), max_size=200))
def test_a_value_always_lies_in_the_text(text):
    """Whatever stands there: offsets are inside, in order, and nothing is raised."""
    for kind in PICKED:
        reached = 0
        for one in values(kind, text):
            assert reached <= one.start < one.end <= len(text)
            assert one.plain
            reached = one.end


@pytest.mark.parametrize("kind", PICKED)
@pytest.mark.parametrize(
    "piece", ["1", "1.", "1,234", "a.", "a@", "DE89 ", "+1 ", "http://", "1 1 ", "EUR 1", "-", "May "]
)
def test_hostile_text_costs_no_more_than_its_length(kind, piece):
    """Text made to look like a value everywhere is read to its end."""
    text = piece * (60_000 // len(piece))
    assert sum(one.end - one.start for one in values(kind, text)) <= len(text)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("1.234,50", "1234.50"),
        ("1,234.50", "1234.50"),
        ("1 234", "1234"),
        ("12,5", "12.5"),
        ("1.234", "1234"),
        ("0.125", "0.125"),
    ],
)
def test_points_and_commas_are_told_apart(written, plain):
    """Either half of the world's way of writing a number gives the same value."""
    assert decimal(written) == plain
