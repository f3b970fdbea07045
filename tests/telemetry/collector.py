"""An OTLP collector on a real socket: it keeps what it is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One span."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str


class Collector:
    """What came in."""

    def __init__(self) -> None:
        self.endpoint = ""
        self.spans: list[Seen] = []

    def take(self, body: bytes) -> None:
        """One export."""
        for batch in ExportTraceServiceRequest.FromString(body).resource_spans:
            attributes = {each.key: each.value.string_value for each in batch.resource.attributes}
            self.spans += [
                Seen(
                    service=attributes["service.name"], name=span.name, trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(), parent_id=span.parent_span_id.hex(),
                )
                for scope in batch.scope_spans
                for span in scope.spans
            ]  # fmt: skip

    def names(self) -> Counter[str]:
        """How many spans there are of each name."""
        return Counter(span.name for span in self.spans)

    def parents(self, name: str) -> set[str]:
        """The names of the spans above those of a name; `-`: a span that nobody sent."""
        by_id = {span.span_id: span.name for span in self.spans}
        return {by_id.get(span.parent_id, "-") for span in self.spans if span.name == name}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector for a block."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    collector.endpoint = f"http://127.0.0.1:{server.server_port}/v1/traces"
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
