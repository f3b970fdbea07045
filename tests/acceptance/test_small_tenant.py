"""L6: a tenant with a mountain of work does not hold up another tenant's one job. Counted, not timed."""

from __future__ import annotations

from pathlib import Path

from lucius.testing.processes import Caller, Server
from tests.acceptance.jobs import command, submit
from tests.acceptance.service import receive, serve

WAITING = 10_000
BATCH = 8
TYPES = ("OCR", "EMBEDDING", "SIS")


def served_until_done(caller: Caller, job_id: str) -> int:
    """Serve what comes, a batch at a time of each step type, until that job is over; how many that took."""
    served = 0
    for _ in range(100):
        for step_type in TYPES:
            for lent in receive(caller, BATCH, step_type, wait=0):
                served += 1
                serve(caller, lent)
                if caller.get(f"/v1/jobs/{job_id}")[1]["state"] == "SUCCEEDED":
                    return served
    raise AssertionError(f"{served} directives were served, and {job_id} is not done")


def flood(caller: Caller) -> None:
    """10,000 jobs of one tenant."""
    for start in range(0, WAITING, 100):
        items = [command(f"flood-{start + number}", tenant="large") for number in range(100)]
        status, answer = caller.post("/v1/orchestrate:batch", {"items": items})
        assert (status, answer["accepted"]) == (200, 100)


def test_a_small_tenant_is_served_among_10_000_jobs_of_a_large_one(tmp_path: Path) -> None:
    """With 10,000 jobs waiting, another tenant's job needs at most twice its own directives plus a batch."""
    with Server(tmp_path, "--services", "none") as server:
        server.start()
        with server.calling() as caller:
            alone = served_until_done(caller, submit(caller, command("alone", tenant="small")))
            flood(caller)
            among = served_until_done(caller, submit(caller, command("among", tenant="small")))
        # A batch of each service may be under way when the job comes to it.
        assert among <= 2 * alone + len(TYPES) * BATCH, f"{among} served, {alone} alone"


def test_a_receiver_of_many_step_types_starves_none(tmp_path: Path) -> None:
    """One receiver of every type, and a mountain of the first: a job that needs the others goes on too."""
    with Server(tmp_path, "--services", "none") as server:
        server.start()
        with server.calling() as caller:
            flood(caller)
            wanted = submit(caller, command("other", tenant="small", kind="EMBEDDING_SIS"))
            served = 0
            while caller.get(f"/v1/jobs/{wanted}")[1]["state"] != "SUCCEEDED":
                assert served <= 2 * 2 + len(TYPES) * BATCH, "the job waits behind the mountain"
                for lent in receive(caller, BATCH, *TYPES, wait=0):
                    served += 1
                    serve(caller, lent)
