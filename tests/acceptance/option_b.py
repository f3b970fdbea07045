"""Option B as real processes, with a protocol of its own, services, a load, and the checks at the end.

The service is a process on the SDK over HTTP (`service`), or echo over the bus inside the API's process.
Payloads say how a job shall end, so the key of a job tells its outcome.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from contextlib import closing
from http.client import HTTPException
from itertools import count
from typing import TYPE_CHECKING, Any

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client, WorkflowExecutionStatus

from lucius.adapters.ledgers.sqlite.files import open_reader
from lucius.testing.processes import HOST, Caller, await_that, free_port
from lucius.testing.temporal_processes import LuciusProcess, TemporalProcesses
from tests.acceptance.jobs import ACCEPTED, Ledger, command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType
    from typing import Self

PATIENT = """\
request_type: TRIAL
version: 1
steps:
  - {step_id: one, step_type: TRIAL, service: trial, execution_backoff: [100ms]}
  - {step_id: two, step_type: TRIAL, service: trial, execution_backoff: [100ms]}
"""
"""The default times and budgets, but what fails on purpose is soon tried again."""
STRICT = """\
request_type: TRIAL
version: 1
steps:
  - {step_id: one, step_type: TRIAL, service: trial, ack_timeout: 4s, lease: 8s,
     max_dispatch_attempts: 1, max_execution_attempts: 1}
  - {step_id: two, step_type: TRIAL, service: trial, ack_timeout: 4s, lease: 8s,
     max_dispatch_attempts: 1, max_execution_attempts: 1}
"""
"""One attempt that is given up, and the job has failed."""
STEPS = 2
SERVICE = "service"
ENDINGS = {
    "SUCCEEDED": WorkflowExecutionStatus.COMPLETED,
    "FAILED_FINAL": WorkflowExecutionStatus.FAILED,
    "CANCELLED": WorkflowExecutionStatus.CANCELED,
}
PAUSE = 0.05
"""Seconds a client waits before it asks again: nobody answered, or not with 202."""


def payload(number: int) -> dict[str, Any]:
    """Most jobs succeed; some after a failure, few fail for good."""
    if number % 10 == 3:
        return {"fail": "retry"}
    return {"fail": "final"} if number % 17 == 5 else {}


def brief(number: int) -> dict[str, Any]:
    """Work that is over soon, or a little later: whenever something happens, jobs stand everywhere."""
    return {"seconds": (0.01, 0.2, 1.0)[number % 3]}


class OptionB(TemporalProcesses):
    """All processes, and the service's beside them."""

    def __init__(self, directory: Path, protocol: str = PATIENT, *, over_http: bool = True, invokers: int = 1,
                 environment: dict[str, str] | None = None) -> None:  # fmt: skip
        recipes = directory / "config" / "protocols"
        recipes.mkdir(parents=True)
        (recipes / "trial.yaml").write_text(protocol)
        told = {
            "LUCIUS_CONFIG": str(directory / "config"),
            "LUCIUS_ECHO_DELAY": "0.05",
            **(environment or {}),
        }
        plays = "none" if over_http else "echo"
        super().__init__(directory, invokers=invokers, api_options=("--services", plays), environment=told)
        self.ledger = Ledger(self.data)
        port = free_port()
        self.service: LuciusProcess | None = None
        if over_http:
            self.service = self._named[SERVICE] = LuciusProcess(
                directory / "service.log", SERVICE, "tests.acceptance.trial_service:trial",
                "--url", f"http://{HOST}:{self.port}", "--store", str(directory / "attempts.db"),
                "--health", f"{HOST}:{port}",
                port=port, environment={"LUCIUS_LOG_STYLE": "json"},
            )  # fmt: skip

    def terminate(self, name: str) -> int:
        """Ask one to stop; its exit code."""
        return self._named[name].terminate()

    def await_ready(self) -> None:
        """Wait until all that runs is ready."""
        for one in self._named.values():
            if one.process is not None:
                one.await_ready()

    def progress(self, steps: int = 20) -> None:
        """Wait for so many more steps."""
        goal = self.ledger.succeeded_steps() + steps
        self._await(lambda: self.ledger.succeeded_steps() >= goal, f"{goal} steps", 120.0)

    def settled(self, within: float = 120.0) -> None:
        """Wait until every job is over."""
        self._await(lambda: self.ledger.open_jobs() == 0, "the end of every job", within)

    def _await(self, condition: Callable[[], bool], what: str, within: float) -> None:
        """Wait, or fail with how everything stands."""
        try:
            await_that(condition, what, within)
        except TimeoutError as error:
            polled = asyncio.run(_pollers(self.server.address)) if self.server.running else ["no server"]
            raise AssertionError(f"{error}\n{polled}\n{self.open_steps()}\n{self.said()}") from error

    def open_steps(self) -> list[tuple[Any, ...]]:
        """How what is not over stands."""
        sql = (
            "SELECT s.job_id, j.state, s.step_id, s.state, s.attempt_no, s.dispatch_failures, "
            "s.execution_failures, j.due_at FROM steps s JOIN jobs j USING (job_id) "
            "WHERE j.completed_at IS NULL LIMIT 20"
        )
        return self._rows(sql)

    def attempts(self) -> Counter[tuple[Any, ...]]:
        """Steps by attempt number, failures to dispatch and failures to execute."""
        return Counter(self._rows("SELECT attempt_no, dispatch_failures, execution_failures FROM steps"))

    def states(self) -> dict[str, str]:
        """Every job's state."""
        return dict(self._rows("SELECT job_id, state FROM jobs"))

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(open_reader(str(self.data / "ledger.db"))) as connection:
            return list(connection.execute(sql))

    def disagreements(self, within: float = 30.0) -> list[str]:
        """Jobs whose workflow did not end as they did, or not at all; the last to end has a moment."""
        return asyncio.run(_disagreements(self.server.address, self.states(), within))


async def _pollers(address: str) -> list[str]:
    """Who asks for workflow tasks."""
    client = await Client.connect(address)
    asked = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name="lucius"),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, report_stats=True,
    )  # fmt: skip
    found = await client.workflow_service.describe_task_queue(asked)
    return [
        str(found.stats),
        *(f"{one.identity} at {one.last_access_time.ToJsonString()}" for one in found.pollers),
    ]


async def _disagreements(address: str, states: dict[str, str], within: float) -> list[str]:
    client = await Client.connect(address)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    while True:
        listed = {one.id: one.status async for one in client.list_workflows('WorkflowType = "LuciusJob"')}
        found = [
            f"{job_id} is {states.get(job_id)}, its workflow {listed.get(job_id)}"
            for job_id in states.keys() | listed.keys()
            if ENDINGS.get(states.get(job_id, "")) is not listed.get(job_id)
        ]
        if not found or loop.time() > deadline:
            return found
        await asyncio.sleep(0.2)


class Load:
    """Clients that submit all the time, each with keys of its own, and ask until they are answered.

    They keep `most` jobs open: that is load enough, and a slow machine has no more to catch up with.
    """

    def __init__(
        self, world: OptionB, *, clients: int = 3, most: int = 40,
        wish: Callable[[int], dict[str, Any]] = payload,
    ) -> None:  # fmt: skip
        self.acknowledged: dict[int, str] = {}
        self.answers: Counter[int] = Counter()
        """By status; 0: nobody answered."""
        self._world = world
        self._most = most
        self._wish = wish
        self._numbers = count()
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=self._submit, daemon=True) for _ in range(clients)]

    def allow(self, more: int) -> None:
        """Keep so many more jobs open."""
        self._most += more

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """No new keys; what was asked is asked until it is answered."""
        self._enough.set()
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive(), "a client was never answered"

    def expected(self) -> dict[str, str]:
        """How each answered job shall end."""
        return {
            job_id: "FAILED_FINAL" if self._wish(number).get("fail") == "final" else "SUCCEEDED"
            for number, job_id in self.acknowledged.items()
        }

    def _submit(self) -> None:
        with Caller(self._world.port, timeout=10.0) as caller:
            while not self._enough.wait(PAUSE / 5):
                if self._world.ledger.open_jobs() >= self._most:
                    continue
                number = next(self._numbers)
                section = self._wish(number)
                body = command(f"key-{number}", kind="TRIAL", payload={"one": section, "two": section})
                while (job_id := self._ask(caller, body)) is None:
                    threading.Event().wait(PAUSE)
                self.acknowledged[number] = job_id
                if number % 5 == 0 and (again := self._ask(caller, body)) is not None:
                    assert again == job_id, f"key-{number} is two jobs"

    def _ask(self, caller: Caller, body: dict[str, Any]) -> str | None:
        try:
            status, answer = caller.post("/v1/orchestrate", body)
        except (OSError, HTTPException, ValueError):
            self.answers[0] += 1
            return None
        self.answers[status] += 1
        return str(answer["jobId"]) if status == ACCEPTED else None


def proven(world: OptionB, load: Load, *others: str) -> None:
    """Nothing lost, nothing doubled, everything as it should be, and both sides say the same.

    `others`: jobs beside the load, which shall have succeeded.
    """
    assert load.acknowledged.keys() == set(range(len(load.acknowledged)))
    assert len(set(load.acknowledged.values())) == len(load.acknowledged)
    assert world.states() == load.expected() | dict.fromkeys(others, "SUCCEEDED")
    assert world.ledger.breaches() == []
    assert world.disagreements() == []
