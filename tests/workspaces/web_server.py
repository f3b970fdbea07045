"""A web server with a certificate of its own, on the loopback."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.server
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DOCUMENT = b"%PDF on the web"


class Desk(http.server.BaseHTTPRequestHandler):
    """Answers with the status that the path names; `/cut` promises more than it sends."""

    def do_GET(self) -> None:
        """One document."""
        name = self.path.partition("?")[0].strip("/")
        status = int(name) if name.isdigit() else 200
        body = self.path.encode() if name == "echo" else DOCUMENT
        self.send_response(status)
        if status == 302:
            self.send_header("location", "/moved")
        self.send_header("content-length", str(len(body) + (5 if name == "cut" else 0)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base's
        """Say nothing."""


def certificate(directory: Path) -> Path:
    """A key and a certificate for 127.0.0.1, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = directory / "certificate.pem"
    path.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return path


@contextlib.contextmanager
def serving(directory: Path) -> Iterator[tuple[str, ssl.SSLContext]]:
    """The server's address, and whom to trust for it."""
    path = certificate(directory)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Desk)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}", ssl.create_default_context(cafile=str(path))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
