import pytest

from lucius.sdk.serving.outcomes import Final
from lucius.sdk.serving.trial import trial
from lucius.services.sis import SisService, SisSettings
from lucius.services.sis.stored import places, stored
from lucius.services.text import patterns

INVOICE = """Blue Kettle Ltd
INVOICE
Invoice No: BK-2031-0047
Invoice date: 3 May 2031
Due date: 02.06.2031
Bill to: Harbour Lights Cooperative

Copper kettle        2    EUR 45.00
Subtotal                  EUR 164.00
VAT 20 %                  EUR 32.80
Total due                 EUR 196.80

Please pay to IBAN DE89 3704 0044 0532 0130 00.
Questions about the invoice: billing@bluekettle.example
"""


@pytest.fixture
def sis():
    """The service as it is without settings."""
    return SisService(SisSettings())


def test_every_shipped_prompt_set_can_be_read():
    """The four promised names are there, each with prompts that have ids."""
    assert set(places(None)) == {"contract", "facts", "invoice", "summary"}
    for name in places(None):
        prompts = stored(name, None).prompts
        assert len({prompt.id for prompt in prompts}) == len(prompts)


async def test_the_invoice_set_reads_an_invoice(sis):
    """Number, dates, total, tax and account of an invoice, each the right one of several."""
    done = await trial(sis, document=INVOICE, payload={"prompt_set": "invoice"})
    found = {answer["id"]: answer["answer"] for answer in done.json()["answers"]}
    assert found["invoice_number"] == "BK-2031-0047"
    assert (found["invoice_date"], found["due_date"]) == ("3 May 2031", "02.06.2031")
    assert (found["total"], found["tax"]) == ("EUR 196.80", "EUR 32.80")
    assert found["iban"] == "DE89 3704 0044 0532 0130 00"
    assert found["buyer"] == "Harbour Lights Cooperative"
    assert found["contact"] == "billing@bluekettle.example"


async def test_the_invoice_set_reads_what_was_recognised(sis):
    """Blanks that recognition lost, and the plain From and To, are no hindrance."""
    text = "INVOICE\nDate: 4 May2031\nDue date: 3 June 2031\nFrom: Oak Ltd\nTo: Harbour School\n"
    done = await trial(sis, document=text, payload={"prompt_set": "invoice"})
    found = {answer["id"]: answer["answer"] for answer in done.json()["answers"]}
    assert (found["invoice_date"], found["due_date"]) == ("4 May2031", "3 June 2031")
    assert (found["seller"], found["buyer"]) == ("Oak Ltd", "Harbour School")


async def test_an_operators_directory_adds_prompt_sets_and_replaces_shipped_ones(tmp_path, monkeypatch):
    """Sets are found by the settings, read when asked for, and named in the result."""
    (tmp_path / "kettles.yaml").write_text("prompts: [{id: vat, pattern: 'VAT (\\d+) %'}]")
    (tmp_path / "summary.yaml").write_text("- {id: own, kind: iban}")
    monkeypatch.setenv("LUCIUS_SIS_PROMPT_SETS", str(tmp_path))
    service = SisService()
    done = await trial(service, document=INVOICE, payload={"prompt_set": "kettles"})
    assert (done.json()["prompt_set"], done.json()["answers"][0]["answer"]) == ("kettles", "20")
    done = await trial(service, document=INVOICE)
    assert [answer["id"] for answer in done.json()["answers"]] == ["own"]
    await service.check()
    (tmp_path / "bad.yaml").write_text("prompts: [{id: x}]")
    with pytest.raises(Final, match=r"'bad' cannot be read: prompts/0: .* needs a question"):
        await service.check()


async def test_an_unknown_prompt_set_is_answered_with_the_names_there_are(sis):
    """A wrong name ends the job and helps to find the right one; a path is a wrong name."""
    for name in ("contracts", "../prompts", "/etc/passwd"):
        with pytest.raises(Final, match="there are: contract, facts, invoice, summary") as failed:
            await trial(sis, document="text", payload={"prompt_set": name})
        assert failed.value.code == "UNKNOWN_PROMPT_SET"


@pytest.mark.parametrize(
    ("prompt_set", "says"),
    [
        ("", "1 to 200 characters"),
        (7, "a prompt set is a name"),
        ([], "at least 1 item"),
        ({}, "a list of prompts is missing"),
        ({"prompts": "Who?"}, "a list of prompts is missing"),
        (["  "], "needs a question"),
        ([7], "prompts/0"),
        ([{"id": "x"}], "needs a question"),
        ([{"question": "Who?", "patern": "x"}], "prompts/0/patern"),
        ([{"kind": "colour"}], "'amount', 'date'"),
        ([{"pattern": "x" * 501}], "at most 500 characters"),
        ([{"patterns": ["x"] * 21}], "at most 20 items"),
        ([{"question": "x" * 2001}], "at most 2000 characters"),
        ([{"question": "Who?", "top": 51}], "less than or equal to 50"),
        ([{"id": "a", "kind": "date"}, {"id": "a", "kind": "url"}], "the same id"),
        (["Who?"] * 201, "at most 200 items"),
    ],
)
async def test_a_malformed_prompt_set_is_refused_with_the_place_of_the_mistake(sis, prompt_set, says):
    """Whatever a client sends, the answer is INVALID_PAYLOAD and names what is wrong."""
    with pytest.raises(Final, match=says) as failed:
        await trial(sis, document="text", payload={"prompt_set": prompt_set})
    assert failed.value.code == "INVALID_PAYLOAD"


async def test_prompts_without_an_id_get_one_of_their_own(sis):
    """Questions are numbered; an id that a client took is not given twice."""
    asked = ["One?", {"id": "q1", "kind": "date"}, {"kind": "url"}]
    done = await trial(sis, document="text", payload={"prompt_set": asked})
    assert [answer["id"] for answer in done.json()["answers"]] == ["q1_", "q1", "q3"]


async def test_a_hostile_pattern_ends_in_a_clear_failure(sis):
    """A pattern that would run for ever is stopped, and its prompt is named; the rest need not wait."""
    asked = [{"id": "good", "pattern": "a"}, {"id": "bomb", "pattern": "(a|a)*b"}]
    with pytest.raises(Final, match="'bomb' takes too long") as failed:
        await trial(sis, document="a" * 5_000, payload={"prompt_set": asked})
    assert failed.value.code == "PATTERN_TOO_SLOW"


@pytest.mark.parametrize(
    "pattern", ["(", "*", "(?P<value>x", "[b-a]", "(" * 500, "a{99999999999}", "(?<=a+)b"]
)
async def test_a_pattern_that_is_none_is_refused_by_name(sis, pattern):
    """Broken expressions are the client's mistake, told with the prompt they stand in."""
    with pytest.raises(Final, match="the prompt 'broken' is not valid") as failed:
        await trial(sis, document="text", payload={"prompt_set": [{"id": "broken", "pattern": pattern}]})
    assert failed.value.code == "INVALID_PATTERN"


def test_the_timer_also_stops_a_pattern_that_is_slow_to_compile():
    """Time counts from the first pattern on, whatever it is spent on, and hits are bounded."""
    slow = "".join(f"[\\U000000{number:02x}-\\U0010ffff]" for number in range(16, 32)) + "x"
    assert patterns.search(["y"], [([slow], [0])], 0.05)[0] == "slow"
    state, _, _, hits = patterns.search(["a" * 10_000], [(["a", "b?"], [0])], 5.0)
    assert (state, len(hits[0])) == ("ok", patterns.MAX_HITS)
