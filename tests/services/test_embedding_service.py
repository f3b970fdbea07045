import io
import logging
import tracemalloc

import numpy as np
import pytest

from lucius.sdk.serving.cancel import CancelToken
from lucius.sdk.serving.outcomes import Cancelled, Final
from lucius.sdk.serving.trial import trial
from lucius.services.embedding import EmbeddingService
from lucius.services.text.vectors import DIMENSIONS, MODEL, embedder

TWO_PAGES = "The cat sat on the mat. It purred.\fShares fell sharply on Monday."


async def test_it_writes_chunks_and_vectors_that_fit_each_other():
    """`vectors.json` and `vectors.npy` say the same, chunk by chunk, and the JSON names the binary."""
    done = await trial(EmbeddingService(), document=TWO_PAGES, payload={"chunk_size": 30, "chunk_overlap": 5})
    read = done.json("vectors.json")
    rows = np.load(io.BytesIO(done.read("vectors.npy")), allow_pickle=False)
    assert done.output.output is not None
    assert done.output.output.name == "vectors.json"
    assert [one.name for one in done.output.artifacts] == ["vectors.json", "vectors.npy"]
    assert read["binary"]["sha256"] == done.output.artifacts[1].sha256
    assert (read["model"], read["dimensions"]) == (MODEL, 256)
    assert read["chunking"]["unit"] == "characters"
    assert rows.dtype == np.float32
    assert np.array_equal(np.asarray(read["vectors"], dtype=np.float32), rows)
    assert rows.shape == (len(read["chunks"]), 256)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    pages = TWO_PAGES.split("\f")
    assert {chunk["page"] for chunk in read["chunks"]} == {1, 2}
    assert all(pages[c["page"] - 1][c["start"] : c["end"]] == c["text"] for c in read["chunks"])


async def test_the_text_of_an_earlier_step_goes_before_the_document():
    """After OCR the document is a PDF and the text is what OCR wrote."""
    done = await trial(EmbeddingService(), document=b"%PDF-1.7 \xff", inputs={"ocr": "\fonly page two"})
    assert [(c["page"], c["text"]) for c in done.json()["chunks"]] == [(2, "only page two")]


async def test_a_blank_scan_gives_an_empty_list_of_vectors():
    """Pages without a word are a result of OCR, so the job goes on with nothing in its hands."""
    done = await trial(EmbeddingService(), inputs={"ocr": "\f \f\n"}, payload={"dimensions": 64})
    assert (done.json()["chunks"], done.json()["vectors"]) == ([], [])
    assert np.load(io.BytesIO(done.read("vectors.npy"))).shape == (0, 64)


@pytest.mark.parametrize(
    ("document", "payload", "code", "says"),
    [
        (b"", {}, "NO_TEXT", "empty"),
        (b"\f\f \n", {}, "NO_TEXT", "empty"),
        (b"%PDF-1.4\n%\xe2\xe3", {}, "NOT_TEXT", "a PDF"),
        (b"\x89PNG\r\n\x1a\n", {}, "NOT_TEXT", "a PNG image"),
        (b"caf\xe9", {}, "NOT_TEXT", "UTF-8"),
        (b"a\x00b", {}, "NOT_TEXT", "UTF-8"),
        (b"text", {"model": "text-embedding-3-large"}, "UNKNOWN_MODEL", MODEL),
        (b"text", {"dimensions": 100}, "INVALID_PAYLOAD", "64, 128 or 256"),
        (b"text", {"chunk_size": 10, "chunk_overlap": 10}, "INVALID_PAYLOAD", "smaller than chunk_size"),
        (b"text", {"chunk_size": 0}, "INVALID_PAYLOAD", "chunk_size"),
        (b"a" * (16 * 1024 * 1024 + 1), {}, "TEXT_TOO_LONG", "16 MiB"),
    ],
)
async def test_what_cannot_be_embedded_ends_with_a_code_a_person_understands(document, payload, code, says):
    """The job fails at once, finally, and the message says what is wrong."""
    with pytest.raises(Final, match=says) as failed:
        await trial(EmbeddingService(), document=document, payload=payload)
    assert failed.value.code == code


@pytest.mark.parametrize("raw", ["\ufeffgrün".encode(), "grün".encode("utf-16")])
async def test_a_byte_order_mark_is_no_part_of_the_text(raw):
    """UTF-8 and UTF-16 with their marks are read as what they say they are."""
    done = await trial(EmbeddingService(), document=raw)
    assert done.json()["chunks"][0]["text"] == "grün"


async def test_the_same_text_has_the_same_vector_in_any_company():
    """A vector depends on its text alone: not on the batch, the position or the run."""
    model = embedder()
    alone = model.embed(["Lighthouses guide ships."], 256)[0]
    among = model.embed(["x" * 5000, "Lighthouses guide ships.", ""], 256)
    assert np.array_equal(alone, among[1])
    assert not among[2].any()


@pytest.mark.parametrize("dimensions", DIMENSIONS)
async def test_like_is_nearer_than_unlike_at_every_length(dimensions):
    """Sentences about one thing are closer than sentences about two."""
    cat, kitten, shares = embedder().embed(
        ["The cat sleeps on the sofa.", "A kitten naps on the couch.", "The bank raised its interest rates."],
        dimensions,
    )
    assert cat @ kitten > cat @ shares + 0.1


async def test_the_vectors_are_those_of_wordllama():
    """Our pooling, which keeps memory flat, gives what the library's own gives."""
    from pathlib import Path

    import wordllama

    library = wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent, disable_download=True, trunc_dim=128
    )
    texts = ["The cat sleeps.", "Interest rates rose by two points in March."]
    assert np.allclose(embedder().embed(texts, 128), library.embed(texts, norm=True), atol=1e-6)


def test_loading_the_model_leaves_the_logging_of_the_process_alone():
    """The library sets up logging when it is imported; a service's logs stay as they were."""
    import subprocess
    import sys

    program = (
        "import logging; from lucius.services.text.vectors import embedder; embedder();"
        "root = logging.getLogger(); print(len(root.handlers), root.level)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["0", str(logging.WARNING)]
    assert said.stderr == ""


async def test_a_long_text_goes_through_in_batches():
    """A megabyte: progress is told again and again, and every chunk has its vector."""
    document = "\f".join(f"Page {number}. The keeper lit the lamp again. " * 50 for number in range(520))
    assert len(document) > 1_000_000
    done = await trial(EmbeddingService(), document=document)
    fractions = [fraction for fraction, _ in done.progress]
    assert len(fractions) > 10
    assert fractions == sorted(fractions)
    assert len(done.json()["chunks"]) == len(done.json()["vectors"]) > 1_000


def test_a_long_chunk_needs_no_more_memory_than_its_tokens():
    """The vectors of all tokens of a chunk are never in memory at the same time."""
    model = embedder()
    tracemalloc.start()
    try:
        model.embed(["lamp " * 20_000], 256)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000  # 20,000 tokens of 256 numbers would be 20 MB


async def test_a_cancelled_job_stops_between_batches():
    """Cancellation is seen before the next batch, and nothing is written."""
    token = CancelToken()
    token.request("no longer wanted")
    with pytest.raises(Cancelled, match="no longer wanted"):
        await trial(EmbeddingService(), document="text", cancel=token)
