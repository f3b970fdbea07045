"""Endpoints on loopback, a certificate authority of our own, a log in SQLite's memory, and jobs."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lucius.adapters.ledgers.sqlite.batch import DELIVERIES
from lucius.adapters.ledgers.sqlite.deliveries import DDL, SqliteDeliveries, insert_row
from lucius.core.job import Job, Order, Routing
from lucius.core.protocol import Protocol, StepRecipe
from lucius.core.states import JobState
from lucius.ports.deliveries import NewDelivery

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass
class Request:
    """What an endpoint saw."""

    line: str
    headers: dict[str, str]
    body: bytes
    peer: str


@dataclass
class Endpoint:
    """A real HTTP server that answers from a script and then with 200."""

    port: int = 0
    script: list[bytes] = field(default_factory=list)
    seen: list[Request] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    endless: bool = False
    before_answer: Callable[[Request], Awaitable[None]] | None = None

    serve_with: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]] | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request, answer it, close."""
        if self.serve_with is not None:
            await self.serve_with(reader, writer)
            return
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            request = Request(head[0], headers, body, writer.get_extra_info("peername")[0])
            self.seen.append(request)
            if self.before_answer is not None:
                await self.before_answer(request)
            writer.write(self.script.pop(0) if self.script else OK)
            await writer.drain()
            while self.endless:
                writer.write(b"x" * 65_536)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[Endpoint]]]:
    """Start endpoints; they are gone after the test."""
    async with AsyncExitStack() as stack:

        async def start(*script: bytes, tls: ssl.SSLContext | None = None) -> Endpoint:
            endpoint = Endpoint(script=list(script))
            if tls is not None:
                tls.sni_callback = lambda _sock, name, _context: endpoint.names.append(name)
            server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0, ssl=tls)
            stack.callback(server.close)
            endpoint.port = server.sockets[0].getsockname()[1]
            return endpoint

        yield start


@dataclass
class Authority:
    """A certificate authority that exists for one run."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    cert: x509.Certificate

    def server(self, name: str) -> ssl.SSLContext:
        """A server's side of TLS with a certificate for this name."""
        key = ec.generate_private_key(ec.SECP256R1())
        cert = _certificate(name, key, issuer=self.cert.subject, signer=self.key)
        file = self.folder / f"{name}.pem"
        file.write_bytes(cert.public_bytes(serialization.Encoding.PEM) + _pem(key))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def client(self) -> ssl.SSLContext:
        """A client's side of TLS that trusts nobody else."""
        text = self.cert.public_bytes(serialization.Encoding.PEM).decode()
        return ssl.create_default_context(cadata=text)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """One authority for all TLS tests."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Lucius test authority")])
    cert = _certificate(None, key, issuer=name, signer=key)
    return Authority(tmp_path_factory.mktemp("tls"), key, cert)


def _certificate(
    name: str | None,
    key: ec.EllipticCurvePrivateKey,
    *,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    now = datetime.now(UTC)
    subject = issuer if name is None else x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=name is None, path_length=None), critical=True)
    )
    if name is not None:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    return builder.sign(signer, hashes.SHA256())


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@dataclass
class Store:
    """The log and a way to put rows in, as the ledger would."""

    db: apsw.Connection
    log: SqliteDeliveries

    def insert(self, *rows: NewDelivery) -> None:
        """Insert all with the ledger's own statement."""
        self.db.executemany(DELIVERIES, [insert_row(row) for row in rows])


@pytest.fixture
def store() -> Store:
    """A delivery log in memory."""
    db = apsw.Connection(":memory:")
    db.execute(DDL)

    async def write(sql: str, values: tuple[Any, ...]) -> None:
        db.execute(sql, values)

    return Store(db, SqliteDeliveries(lambda sql, values: list(db.execute(sql, values)), write))


@pytest.fixture
def make_job() -> Callable[..., Job]:
    """Jobs with a given state and given URLs."""

    def make(*urls: str, state: JobState = JobState.QUEUED, job_id: str = "j1", **order: Any) -> Job:
        recipe = StepRecipe(step_id="ocr", step_type="OCR", service="ocr")
        routing = Routing(
            mode="DEFAULT",
            lane=15,
            routing_key_used="tenant_a",
            topic="global-bus-p15",
            reply_topic="global-bus-replies-p15",
            decision_source="GLOBAL_CONFIG",
            decision_reason="default",
        )
        given: dict[str, Any] = {
            "job_id": job_id,
            "tenant_id": "tenant_a",
            "request_type": "OCR",
            "protocol": Protocol(protocol_id="ocr", version="1", request_type="OCR", steps=(recipe,)),
            "routing": routing,
            "input_ref": {"uri": "s3://b/in"},
            "output_ref": {"uri": "s3://b/out"},
            "workspace_ref": {"uri": "s3://b/w"},
            "payload": {},
            "schema_version": "1.0",
            "accepted_at": 1,
            "idempotency_hash": "h",
            "callback_urls": urls,
        }
        return Job(order=Order(**given | order), state=state, steps=(), version=1, updated_at=1)

    return make


@pytest.fixture
def make_row() -> Callable[..., NewDelivery]:
    """Rows as `deliveries_for` makes them."""

    def make(job_id: str, seq: int, url: str, *, url_no: int = 0, tenant_id: str = "tenant_a") -> NewDelivery:
        return NewDelivery(
            delivery_id=f"{job_id}.{seq}.{url_no}",
            job_id=job_id,
            tenant_id=tenant_id,
            seq=seq,
            url_no=url_no,
            url=url,
            shown_url=url,
            host=url.split("/")[2],
            event_type="lucius.job.accepted",
            body=f'{{"job":"{job_id}","seq":{seq}}}'.encode(),
            created_at=1_000,
        )

    return make
