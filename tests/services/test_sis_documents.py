import json

import pytest

from lucius.sdk.serving.outcomes import Final
from lucius.sdk.serving.trial import trial
from lucius.services.embedding import EmbeddingService
from lucius.services.sis import SisService, SisSettings


@pytest.fixture
def sis():
    """The service as it is without settings."""
    return SisService(SisSettings())


def vectors(chunks, rows, **more):
    """A vectors.json as somebody else may have written it."""
    return json.dumps({"model": "wordllama", "chunks": chunks, "vectors": rows, **more})


async def test_a_blank_scan_has_no_answers_and_is_no_failure(sis):
    """OCR found nothing, EMBEDDING embedded nothing, SIS says that nothing was found."""
    embedded = await trial(EmbeddingService(), inputs={"ocr": "\f\f"})
    done = await trial(
        sis,
        inputs={"ocr": "\f\f", "embedding": embedded.output.artifacts[0]},
        payload={"prompt_set": "invoice"},
    )
    assert {answer["how"] for answer in done.json()["answers"]} == {"not found"}


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (b"", "NO_TEXT"),
        (b" \f ", "NO_TEXT"),
        (b"%PDF-1.7", "NOT_TEXT"),
        (b'{"chunks": [], "vectors": 7}', "INVALID_VECTORS"),
        (vectors([{"text": "a"}], []).encode(), "INVALID_VECTORS"),
        (vectors([{"text": "a"}, {"text": "b"}], [[1.0], [1.0, 2.0]]).encode(), "INVALID_VECTORS"),
        (vectors([{"page": 1}], [[1.0]]).encode(), "INVALID_VECTORS"),
    ],
)
async def test_a_document_that_is_none_ends_with_its_code(sis, document, code):
    """SIS alone reads text or vectors; anything else is refused."""
    with pytest.raises(Final) as failed:
        await trial(sis, document=document)
    assert failed.value.code == code


async def test_vectors_of_another_model_are_made_again(sis):
    """Chunks of a strange service are embedded by us, so questions and chunks can be compared."""
    chunks = [{"text": "The ferry leaves at noon."}, {"text": "Bread is baked at night.", "page": 2}]
    strange = vectors(chunks, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], model="somebody/else")
    done = await trial(sis, inputs={"embedding": strange}, payload={"prompt_set": ["When is bread baked?"]})
    (answer,) = done.json()["answers"]
    assert (answer["answer"], answer["pages"]) == ("Bread is baked at night.", [2])


async def test_offsets_and_numbers_that_cannot_be_true_do_no_harm(sis):
    """Places far outside, wrong lengths, huge numbers and wild pages: the text alone counts then."""
    chunks = [
        {"text": "The ferry leaves at noon.", "page": -3, "start": 10**15, "end": 10**15 + 25},
        {"text": "Write to a@b.example today.", "page": 10**12, "start": 5, "end": 6},
    ]
    wild = vectors(chunks, [[1e300] * 64, [0.0] * 64])
    done = await trial(
        sis,
        inputs={"embedding": wild},
        payload={"prompt_set": [{"id": "mail", "kind": "email"}, "When does the ferry leave?"]},
    )
    mail, ferry = done.json()["answers"]
    assert (mail["answer"], mail["pages"]) == ("a@b.example", [10**12])
    assert ferry["answer"] == "The ferry leaves at noon."


async def test_a_value_cut_in_two_by_chunks_is_found_whole(sis):
    """Chunks may end anywhere; values are read from the page."""
    text = "Write to somebody.with.a.long.name@mail.example for more."
    embedded = await trial(EmbeddingService(), document=text, payload={"chunk_size": 20, "chunk_overlap": 0})
    assert not any(
        "@mail.example" in c["text"] and "somebody" in c["text"] for c in embedded.json()["chunks"]
    )
    done = await trial(
        sis, inputs={"embedding": embedded.output.artifacts[0]}, payload={"prompt_set": [{"kind": "email"}]}
    )
    (answer,) = done.json()["answers"]
    assert [match["text"] for match in answer["matches"]] == ["somebody.with.a.long.name@mail.example"]


async def test_document_text_stays_text_in_the_readable_answers(sis):
    """Marks of HTML and Markdown in a document are escaped in answers.md."""
    done = await trial(
        sis,
        document="The <script>alert(1)</script> [link](javascript:x) is here.",
        payload={"prompt_set": ["script link"]},
    )
    told = done.text("answers.md")
    assert "alert(1)" in told
    assert "<script" not in told
    assert "[link](" not in told


async def test_a_long_document_is_answered_with_progress(sis):
    """A megabyte of text, with one fact on one page: it is found, and the evidence stays short."""
    filler = "The keeper lit the lamp and wrote the hour into the book. " * 40
    pages = [filler] * 450
    pages[321] += "\n\nThe treasure chest was buried beneath the third oak. Reward: EUR 12,345."
    document = "\f".join(pages)
    assert len(document) > 1_000_000
    asked = [
        {"question": "Where is the treasure chest buried?"},
        {"kind": "amount"},
        {"pattern": r"the (\w+) oak"},
        {"kind": "summary"},
    ]
    done = await trial(sis, document=document, payload={"prompt_set": asked})
    chest, amount, oak, _ = done.json()["answers"]
    assert "beneath the third oak" in chest["answer"]
    assert (chest["pages"], amount["pages"], oak["pages"]) == ([322], [322], [322])
    assert (amount["matches"][0]["value"], oak["answer"]) == ("12345 EUR", "third")
    assert len(done.progress) > 10
    assert len(done.read()) < 20_000
