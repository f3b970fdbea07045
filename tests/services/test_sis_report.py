"""Questions about a made-up report of four pages, asked the way people ask."""

from __future__ import annotations

import pytest

from lucius.sdk.serving.trial import trial
from lucius.services.embedding import EmbeddingService
from lucius.services.sis import SisService, SisSettings

PAGES = (
    """Harbour Lights Cooperative
Annual Report 2030

The cooperative runs eleven lighthouses along the northern coast and keeps them open for visitors. In 2030
membership grew to 4,812 people, the highest number since the foundation in 1987. The general assembly met
in Tarnwick on 14 March 2030 and elected Marta Oldenburg as chairwoman for three years.

Volunteers gave more than 21,000 hours of their time. Most of them painted towers, guided school classes or
answered letters. We thank every one of them.
""",
    """Finances

Income from entrance tickets came to EUR 612,400, which is 8.5 % more than in the year before. Donations
added EUR 148,050. The regional government paid a grant of EUR 90,000 for the new fog horn.

Spending on repairs was EUR 455,900. Salaries of the four employees cost EUR 203,700. The year closed with
a surplus of EUR 41,250, which goes into the reserve for storm damage.

Total income: EUR 850,450
Total expenses: EUR 809,200
""",
    """Buildings and repairs

The spiral staircase of the Gannet Rock tower was replaced after an inspector found rust in the lower steps.
The work took nine weeks and was finished on 2 September 2030. During that time the tower was closed.

Solar panels now power the lamp at Sable Point. The batteries last for three nights without sun. A storm in
November tore two windows out of the keeper's house at Cape Merrow; they were boarded up and will be
replaced in spring.
""",
    """Outlook and contact

Next year the cooperative wants to open a small museum about shipwrecks in the old boathouse. Opening is
planned for 1 June 2031. Children under twelve will enter free of charge.

Questions about membership are answered by the office: members@harbourlights.example, telephone
+44 20 7946 0321. The annual fee is EUR 35 per person. Donations are welcome on the account
DE89 3704 0044 0532 0130 00 with the North Coast Bank.
""",
)
REPORT = "\f".join(PAGES)

QUESTIONS = [
    ("Who was elected to lead the cooperative?", 1, "Marta Oldenburg"),
    ("How many hours did volunteers work?", 1, "21,000"),
    ("How much money came from entrance tickets?", 2, "612,400"),
    ("What did the repairs cost?", 2, "455,900"),
    ("What happens with the surplus?", 2, "reserve for storm damage"),
    ("Why was the staircase replaced?", 3, "rust"),
    ("How is the lamp at Sable Point powered?", 3, "Solar panels"),
    ("Which damage did the storm do to the keeper's house?", 3, "two windows"),
    ("What will the museum be about?", 4, "shipwrecks"),
    ("How much is the annual membership fee?", 4, "EUR 35"),
]


@pytest.fixture
def sis():
    """The service as it is without settings."""
    return SisService(SisSettings())


async def test_each_question_finds_its_page_and_its_sentence(sis):
    """Ten questions in other words than the report's: the right page is first, the fact is in the answer."""
    embedded = await trial(EmbeddingService(), document=REPORT, payload={"chunk_size": 400})
    answered = await trial(
        sis,
        document=REPORT,
        inputs={"ocr": REPORT, "embedding": embedded.output.artifacts[0]},
        payload={"prompt_set": [question for question, _, _ in QUESTIONS]},
    )
    answers = answered.json()["answers"]
    for (question, page, fact), answer in zip(QUESTIONS, answers, strict=True):
        assert answer["question"] == question
        assert (answer["how"], answer["evidence"][0]["page"]) == ("retrieval", page), answer
        assert page in answer["pages"], answer
        assert fact in answer["answer"], answer


async def test_a_question_the_report_does_not_speak_about_is_not_answered(sis):
    """No answer is better than a wrong one: nothing found, no pages, and the file says so."""
    done = await trial(sis, document=REPORT, payload={"prompt_set": ["What is the capital of Mongolia?"]})
    (answer,) = done.json()["answers"]
    assert (answer["answer"], answer["how"], answer["pages"]) == (None, "not found", [])
    assert "Not found in the document." in done.text("answers.md")


async def test_facts_are_picked_out_with_their_pages(sis):
    """Every amount, date, address and account of the report, once, with the page it stands on."""
    done = await trial(sis, document=REPORT, payload={"prompt_set": "facts"})
    found = {answer["id"]: answer for answer in done.json()["answers"]}
    dates = {match["value"]: match["pages"] for match in found["dates"]["matches"]}
    assert dates == {"2030-03-14": [1], "2030-09-02": [3], "2031-06-01": [4]}
    assert {"612400 EUR", "41250 EUR", "35 EUR"} <= {one["value"] for one in found["amounts"]["matches"]}
    assert found["amounts"]["pages"] == [2, 4]
    assert found["percentages"]["answer"] == "8.5 %"
    assert (found["emails"]["answer"], found["emails"]["pages"]) == ("members@harbourlights.example", [4])
    assert found["phones"]["matches"][0]["value"] == "+442079460321"
    assert found["ibans"]["matches"][0]["value"] == "DE89370400440532013000"
    assert (found["urls"]["answer"], found["urls"]["how"]) == (None, "not found")
    assert found["dates"]["how"] == "kind:date"


async def test_a_summary_is_made_of_the_reports_own_sentences(sis):
    """The default set: whole sentences of the document, in its order, from several pages."""
    done = await trial(sis, document=REPORT, payload={})
    read = done.json()
    summary = read["answers"][0]
    assert (read["prompt_set"], read["answered_by"], summary["how"]) == (
        "summary",
        "document",
        "kind:summary",
    )
    flat = " ".join(REPORT.split())
    said = summary["answer"].split(". ")
    places = [flat.index(sentence.rstrip(".")) for sentence in said]
    assert places == sorted(places)
    assert 3 <= len(said) <= 5
    assert len(summary["pages"]) >= 2


async def test_of_several_values_the_one_beside_the_questions_words_is_taken(sis):
    """`take: one` picks the line that speaks about the question; all values stay in `matches`."""
    asked = [
        {"id": "income", "question": "total income", "kind": "amount", "take": "one"},
        {"id": "expenses", "question": "total expenses", "kind": "amount", "take": "one"},
    ]
    done = await trial(sis, document=REPORT, payload={"prompt_set": asked})
    income, expenses = done.json()["answers"]
    assert (income["answer"], expenses["answer"]) == ("EUR 850,450", "EUR 809,200")
    assert len(income["matches"]) > 2
    assert income["evidence"][0]["page"] == 2


async def test_patterns_look_through_the_whole_document_if_they_must(sis):
    """A pattern without a question, and one whose question points elsewhere, still find their value."""
    asked = {
        "prompts": [
            {"id": "weeks", "pattern": r"took (\w+) weeks"},
            {"id": "tower", "question": "annual fee", "top": 1, "patterns": [r"(?P<value>Gannet \w+) tower"]},
            {"id": "none", "question": "annual fee", "pattern": "zebra"},
        ]
    }
    done = await trial(sis, document=REPORT, payload={"prompt_set": asked})
    weeks, tower, none = done.json()["answers"]
    assert (weeks["answer"], weeks["how"], weeks["pages"]) == ("nine", "pattern", [3])
    assert (tower["answer"], tower["pages"]) == ("Gannet Rock", [3])
    assert (none["answer"], none["how"]) == (None, "not found")


async def test_answers_do_not_depend_on_where_the_text_came_from(sis):
    """The document as text, the vectors alone, and vectors with the OCR's text give the same answers."""
    embedded = (await trial(EmbeddingService(), document=REPORT)).output.artifacts[0]
    asked = {"prompt_set": [QUESTIONS[0][0], {"id": "mail", "kind": "email"}]}
    results = [
        await trial(sis, document=REPORT, payload=asked),
        await trial(sis, document=embedded, payload=asked),
        await trial(sis, document=b"%PDF", inputs={"embedding": embedded}, payload=asked),
        await trial(sis, document=b"%PDF", inputs={"embedding": embedded, "ocr": REPORT}, payload=asked),
    ]
    told = [[(a["answer"], a["pages"], a["how"]) for a in one.json()["answers"]] for one in results]
    assert told[1:] == told[:-1]
    assert "Marta Oldenburg" in told[0][0][0]
