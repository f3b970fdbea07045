"""A person's own PDF, from `submit` to `output`, through real services in worker processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lucius.services.documents import text_pdf
from tests.cli.conftest import Program, Server

PAGES = (
    "Invoice of the Harbour Bakery\n\nInvoice number: HB-77\nThe bread was delivered on 3 May 2031.",
    "Payment\n\nThe amount due is EUR 412.50. Please pay within thirty days.",
)
QUESTION = "What is the amount due?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One Lucius with the reference services for the tests of this module."""
    running = Server(tmp_path_factory.mktemp("lucius"), "--services", "reference")
    yield running
    assert running.stop() == 0, running.log()


@pytest.fixture(scope="module")
def answered(server: Server) -> dict[str, Any]:
    """A job that has read an invoice."""
    home = server.home / "answered"
    home.mkdir()
    text_pdf(PAGES, home / "invoice.pdf")
    done = Program(server.url, home).json("submit", "invoice.pdf", "--prompt", QUESTION, "--wait")
    assert done["state"] == "SUCCEEDED"
    return dict(done)


def test_a_document_needs_no_other_option(lucius: Program) -> None:
    """`lucius submit report.pdf --prompt … --wait` shows progress, then the answer with its page."""
    text_pdf(PAGES, lucius.home / "invoice of may.pdf")
    done = lucius("submit", "invoice of may.pdf", "--prompt", QUESTION, "--wait")
    assert done.stderr == ""
    assert done.stdout.count("picked up by a service") == 3
    (line,) = [line for line in done.stdout.splitlines() if QUESTION in line]
    assert "412.50" in line
    assert " 2 " in line.partition("412.50")[2]


def test_the_answers_of_a_job_are_shown_again(lucius: Program, answered: dict[str, Any]) -> None:
    """`output` shows question, answer, page and how; for programs it is one document."""
    shown = lucius("output", answered["jobId"])
    assert "412.50" in shown.stdout
    assert shown.stderr == ""
    document = lucius.json("output", answered["jobId"])
    assert document["ref"] == answered["final_output"]
    assert [one["pages"] for one in document["content"]["answers"]] == [[2]]
    assert document["saved"] == []


def test_files_are_saved_and_checked(lucius: Program, answered: dict[str, Any]) -> None:
    """`--save` copies every file of every step, byte for byte as the services wrote them."""
    document = lucius.json("output", answered["jobId"], "--save", "kept")
    saved = {Path(path).relative_to("kept").as_posix(): lucius.home / path for path in document["saved"]}
    assert {"ocr/output.txt", "ocr/pages.json", "embedding/vectors.json", "embedding/vectors.npy"} <= set(
        saved
    )
    assert saved["ocr/output.txt"].read_text().count("\f") == 1
    refs = [ref for step in answered["steps"] for ref in (step["result_ref"], *step["artifacts"])]
    sums = {hashlib.sha256(path.read_bytes()).hexdigest() for path in saved.values()}
    assert sums == {ref["sha256"] for ref in refs}


def test_text_is_put_out_as_itself(lucius: Program) -> None:
    """The output of OCR is its text, ready for a pipe."""
    text_pdf(PAGES, lucius.home / "invoice.pdf")
    job = lucius.json("submit", "invoice.pdf", "--type", "OCR", "--wait")
    shown = lucius("output", job["jobId"]).stdout
    first, second = shown.split("\f")
    assert "Invoice number: HB-77" in first
    assert "EUR 412.50" in second


def test_an_output_that_was_changed_is_not_shown(lucius: Program) -> None:
    """Bytes that are not those the service reported are refused, and not kept."""
    text_pdf(PAGES, lucius.home / "invoice.pdf")
    job = lucius.json("submit", "invoice.pdf", "--type", "OCR", "--wait")
    Path(job["final_output"]["uri"].removeprefix("file://")).write_text("Pay somebody else.")
    assert "[OUTPUT_DIFFERS]" in lucius("output", job["jobId"], code=1).stderr
    assert "[OUTPUT_DIFFERS]" in lucius("output", job["jobId"], "--save", "kept", code=1).stderr
    assert not (lucius.home / "kept" / "ocr" / "output.txt").exists()


def test_a_job_without_an_output_says_why(lucius: Program) -> None:
    """Not finished, failed, and gone are three different sentences."""
    waiting = lucius.json("submit", "s3://bucket/later.pdf", "--not-before", "2099-01-01T00:00:00Z")["jobId"]
    assert "has no output yet" in lucius("output", waiting, code=1).stderr
    (lucius.home / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing else")
    failed = lucius.json("submit", "broken.pdf", "--wait", code=1)
    told = lucius("output", failed["jobId"], code=1).stderr
    assert f"ended FAILED_FINAL ({failed['error_code']})" in told
    text_pdf(PAGES, lucius.home / "invoice.pdf")
    job = lucius.json("submit", "invoice.pdf", "--type", "OCR", "--wait")
    Path(job["final_output"]["uri"].removeprefix("file://")).unlink()
    assert "[OUTPUT_UNREADABLE]" in lucius("output", job["jobId"], code=1).stderr


@pytest.mark.parametrize("command", ["submit", "plan"])
def test_a_file_out_of_reach_is_one_sentence(lucius: Program, tmp_path: Path, command: str) -> None:
    """A file that the server may not hand to services is told with what to do about it."""
    outside = text_pdf(PAGES, tmp_path / "my invoice.pdf")
    told = lucius(command, str(outside), code=2).stderr
    assert told.count("\n") == 1
    assert f"lucius up --files {json.dumps(str(tmp_path))[1:-1]}" in told.replace("'", "")


def test_the_first_key_does_not_stop_the_services(tmp_path: Path) -> None:
    """A key that is made while Lucius runs ends open mode; the workers have a credential of their own."""
    running = Server(tmp_path, "--services", "reference")
    try:
        lucius = Program(running.url, tmp_path)
        made = lucius.json("keys", "create", "--data", str(tmp_path / "data"))
        (tmp_path / "key").write_text(made["key"])
        text_pdf(PAGES, tmp_path / "invoice.pdf")
        assert "[UNAUTHENTICATED]" in lucius("submit", "invoice.pdf", code=1).stderr
        job = lucius.json("submit", "invoice.pdf", "--wait", "--key-file", "key")
        assert job["state"] == "SUCCEEDED"
        assert [key["key_id"] for key in lucius.json("keys", "list", "--data", "data")["keys"]] == [
            made["key_id"]
        ]
    finally:
        assert running.stop() == 0
    assert "lk_" not in running.log()
