"""One request to the invoker: its headers, its body, the id in its path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from lucius.entrypoints.http.incoming import Receive, Scope, json_answer, whole_body
from lucius.entrypoints.http.problems import Answer
from lucius.entrypoints.http.strict import WRAPPED_DEPTH, invalid
from lucius.entrypoints.invoker.services import InvokerServices
from lucius.wire.internal import MAX_INTERNAL_BYTES
from lucius.wire.strict_json import check_content_type, parse

T = TypeVar("T")


class Call:
    """One request."""

    __slots__ = ("headers", "job_id", "receive", "services")

    def __init__(self, services: InvokerServices, scope: Scope, receive: Receive, job_id: str = "") -> None:
        self.services = services
        self.receive = receive
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.job_id = job_id
        """Of the path, where it names a job."""

    def header(self, name: bytes) -> str:
        """A header by its lower-case name; empty if it did not come."""
        return self.headers.get(name, b"").decode("latin-1")

    async def asked(self, shape: type[T]) -> T:
        """The body as a record; raises `Invalid` with a pointer.

        It is judged as strict JSON first and decoded from its bytes then, so that what a record keeps raw
        is what was sent.
        """
        check_content_type(self.header(b"content-type"))
        raw = await whole_body(self.headers, self.receive, MAX_INTERNAL_BYTES)
        parse(raw, max_bytes=MAX_INTERNAL_BYTES, max_depth=WRAPPED_DEPTH)
        try:
            return msgspec.json.decode(raw, type=shape)
        except msgspec.DecodeError as error:
            raise invalid(str(error)) from error


Handler = Callable[[Call], Awaitable[Answer]]


def said(record: object, status: int = 200) -> Answer:
    """A record as the answer."""
    return json_answer(status, msgspec.json.encode(record))
