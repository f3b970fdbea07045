from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from lucius.services.documents import image_pdf, text_pdf
from lucius.testing.processes import Caller, Server, await_that
from lucius.testing.service_processes import ServiceProcess
from tests.acceptance.jobs import Ledger, submit

THREE = ("ocr", "embedding", "sis")
PAGE = "Invoice number {n} of the water works. The total amount is {n}.50 EUR, due on 2031-05-04."


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The shipped recipe with short leases and pauses, so that a test sees them pass."""
    steps = "".join(
        f"  - {{step_id: {name}, step_type: {name.upper()}, service: {name}-service, lease: 6s, "
        "execution_backoff: [50ms], ack_timeout: 20s}\n"
        for name in THREE
    )
    place = tmp_path / "config" / "protocols"
    place.mkdir(parents=True)
    (place / "three.yaml").write_text(f"request_type: OCR_EMBEDDING_SIS\nversion: 2\nsteps:\n{steps}")
    return tmp_path / "config"


@pytest.fixture
def server(tmp_path: Path, config: Path) -> Iterator[Server]:
    """A Lucius without services."""
    options = ("--services", "none", "--config", str(config), "--files", str(tmp_path))
    with Server(tmp_path, *options) as server:
        server.start()
        yield server


def url_of(server: Server) -> str:
    """Where a service finds it."""
    return f"http://127.0.0.1:{server.port}"


def path_of(ref: dict[str, Any]) -> Path:
    """The file a reference names."""
    return Path(unquote(urlsplit(ref["uri"]).path))


def command(document: Path, tenant: str = "acme") -> dict[str, Any]:
    """All three steps for a document, and one question."""
    return {
        "tenant_id": tenant,
        "request_type": "OCR_EMBEDDING_SIS",
        "input_ref": {"uri": document.as_uri()},
        "output_ref": {"uri": f"{document.as_uri()}.out/"},
        "payload": {"sis": {"prompt_set": [{"id": "total", "question": "What is the total amount?"}]}},
        "schema_version": "1",
    }


def job_of(caller: Caller, job_id: str) -> dict[str, Any]:
    """The job as it stands."""
    status, job = caller.get(f"/v1/jobs/{job_id}")
    assert status == 200, job
    return dict(job)


def events_of(caller: Caller, job_id: str) -> list[dict[str, Any]]:
    """Its story."""
    status, answer = caller.get(f"/v1/jobs/{job_id}/events?limit=500")
    assert status == 200, answer
    return list(answer["events"])


def test_a_service_killed_in_the_middle_of_a_page_costs_one_attempt(server: Server, tmp_path: Path) -> None:
    """Kill -9 of OCR while it reads: the job succeeds once, and the dead attempt's files are not in it."""
    document = image_pdf([PAGE.format(n=n) for n in range(1, 9)], tmp_path / "eight.pdf")
    with ExitStack() as stack, server.calling() as caller:
        others = [stack.enter_context(ServiceProcess(name, url_of(server), tmp_path)) for name in THREE[1:]]
        with ServiceProcess("ocr", url_of(server), tmp_path) as doomed:
            job_id = submit(caller, command(document))

            def reading() -> bool:
                step = job_of(caller, job_id)["steps"][0]
                # Progress is told once a second: on a quick machine not every page is heard of.
                return re.match("page [2-6] of 8", step.get("progress_message") or "") is not None

            await_that(reading, "a page in the middle being read")
            doomed.kill()
        stack.enter_context(ServiceProcess("ocr", url_of(server), tmp_path))
        await_that(lambda: job_of(caller, job_id)["state"] in {"SUCCEEDED", "FAILED_FINAL"}, "the end")
        job, events = job_of(caller, job_id), events_of(caller, job_id)
        assert job["state"] == "SUCCEEDED", events[-3:]
        assert [service.terminate() for service in others] == [0, 0]
    assert [event["type"] for event in events].count("job.succeeded") == 1
    ocr = job["steps"][0]
    assert ocr["attempt_no"] == 2
    refs = [ocr["result_ref"], *ocr["artifacts"]]
    assert [ref["uri"].rpartition("/OCR/")[2] for ref in refs] == [
        "2/output.txt",
        "2/output.txt",
        "2/pages.json",
    ]
    assert all(path_of(ref).is_file() for ref in refs)
    crashed = [event for event in events if "SERVICE_CRASHED" in json.dumps(event)]
    assert crashed
    text = path_of(ocr["result_ref"]).read_text()
    assert all(f"Invoice number {n}" in page for n, page in enumerate(text.split("\f"), 1))
    assert server.terminate() == 0
    assert Ledger(server.data).breaches() == []


def test_a_hundred_documents_through_three_service_processes(server: Server, tmp_path: Path) -> None:
    """Progress is seen, no heartbeat is late while the processors are busy, and the ledger is clean after."""
    documents = []
    for number in range(100):
        pages = [PAGE.format(n=number), PAGE.format(n=number + 1000)]
        make = image_pdf if number % 10 == 0 else text_pdf
        documents.append(make(pages, tmp_path / f"{number}.pdf"))
    with ExitStack() as stack:
        services = [stack.enter_context(ServiceProcess(name, url_of(server), tmp_path)) for name in THREE]
        for service in services:
            service.await_ready()
        with server.calling() as caller:
            ids = [submit(caller, command(each, f"tenant{n % 3}")) for n, each in enumerate(documents)]
        ledger = Ledger(server.data)
        await_that(lambda: ledger.open_jobs() == 0, "a hundred documents", within=600)
        late = [service.metric("lucius_service_heartbeats_late_total") for service in services]
        beats = services[0].metric("lucius_service_heartbeats_total")
        with server.calling() as caller:
            told = [event["type"] for job_id in ids[:11] for event in events_of(caller, job_id)]
            answers = [path_of(job_of(caller, job_id)["final_output"]) for job_id in ids]
        assert [service.terminate() for service in services] == [0, 0, 0]
    assert ledger.states() == {"SUCCEEDED": 100}
    assert late == [0, 0, 0]
    assert beats >= 1
    assert told.count("step.heartbeat") >= 1
    assert not {"step.lease_expired", "step.failed_retry"} & set(told)
    for number, answer in enumerate(answers):
        (found,) = json.loads(answer.read_text())["answers"]
        assert f"{number}.50" in found["answer"] or f"{number + 1000}.50" in found["answer"], found
    assert server.terminate() == 0
    assert ledger.breaches() == []
