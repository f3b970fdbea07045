"""A real AWS for tests, by ministack: DynamoDB, SQS, EventBridge and Lambda on one socket of the loopback.

    with ministack() as aws:
        clients = await connect(endpoint=aws.endpoint, …)
        boto3.client("dynamodb", **aws.arguments())

State: a process and a temporary directory, which is its home and the place of everything it writes; nothing
outlives the block. It listens on one port of the loopback only: its other listeners are off, and it is shown
no Docker. Any credentials do. `Ministack` can be stopped and started again, then it is empty.

How it fails: one that ends, or does not answer in time, raises with its last words.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lucius.testing.processes import HOST, POLL, free_port

REGION = "us-east-1"
READY_WITHIN = 90.0
"""Seconds after which a start counts as hung; generous, for machines that do much else."""
STARTS = 3
"""Somebody else may take a free port before the part does; then it ends, and others are tried."""
GOODBYE = 5.0
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}  # opens nothing


class Ministack:
    """One that can be started and stopped. Its methods block: on an event loop, use a thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self.log = directory / "ministack.log"
        self.port = free_port()

    @property
    def endpoint(self) -> str:
        """Where it answers, for every service."""
        return f"http://{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None, "this ministack does not run"
        return self._process.pid

    def arguments(self) -> dict[str, str]:
        """What the clients of boto3 and aiobotocore take."""
        return {
            "endpoint_url": self.endpoint,
            "region_name": REGION,
            "aws_access_key_id": _CREDENTIALS["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": _CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        }

    def environment(self) -> dict[str, str]:
        """The variables that lead a process here."""
        return {**_CREDENTIALS, "AWS_REGION": REGION, "AWS_ENDPOINT_URL": self.endpoint}

    def start(self) -> None:
        """Start a process, and wait until it answers. After a first start, always on the same port."""
        assert self._process is None, "a process of this ministack still runs"
        tries = 1 if self.log.exists() else STARTS
        for _ in range(tries):
            self._begin()
            if self._answers():
                return
            self.stop()
            if tries > 1:
                self.port = free_port()
        raise RuntimeError(f"ministack did not start:\n{self.log.read_text(errors='replace')[-2000:]}")

    def stop(self) -> None:
        """End its process and those that it started; nothing happens if none runs."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # with its Lambdas; nothing is worth a goodbye
        self._process.wait(GOODBYE)
        self._process = None

    def _begin(self) -> None:
        # No workers: everything happens in the one process that we know.
        command = [
            sys.executable,
            "-m",
            "hypercorn",
            "ministack.app:app",
            "-w",
            "0",
            "-b",
            f"{HOST}:{self.port}",
        ]
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - a part that the lock file names
                command,
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=self._variables(),
                start_new_session=True,
            )

    def _variables(self) -> dict[str, str]:
        own = str(self._directory)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return inherited | _CREDENTIALS | {
            "GATEWAY_PORT": str(self.port),
            "MINISTACK_HOST": HOST,
            "HOME": own,
            "TMPDIR": own,
            "STATE_DIR": f"{own}/state",
            "S3_DATA_DIR": f"{own}/s3",
            "LOG_LEVEL": "WARNING",
            "DOCKER_HOST": f"unix://{own}/no-docker.sock",
            "SFTP_ENABLED": "0",
            "IOT_MTLS_ENABLED": "0",
        }  # fmt: skip

    def _answers(self) -> bool:
        assert self._process is not None
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline and self._process.poll() is None:
            if _healthy(self.port):
                return True
            time.sleep(POLL)
        return False


@contextlib.contextmanager
def ministack() -> Iterator[Ministack]:
    """An empty one, for a block."""
    with tempfile.TemporaryDirectory(prefix="ministack-", ignore_cleanup_errors=True) as directory:
        server = Ministack(Path(directory))
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=5.0)
    try:
        connection.request("GET", "/_ministack/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
