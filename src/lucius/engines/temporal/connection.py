"""A client of Temporal: where, as whom, with our records and our traces. It connects when first used."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from temporalio.client import Client
from temporalio.service import TLSConfig

from lucius.engines.temporal.converter import DATA_CONVERTER
from lucius.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from temporalio.client import Interceptor
    from temporalio.runtime import Runtime


class Whereabouts(msgspec.Struct, frozen=True, kw_only=True):
    """Where Temporal is and how to be let in."""

    address: str
    namespace: str = "default"
    api_key: str | None = None
    tls: bool = False
    client_certificate: bytes | None = None
    client_key: bytes | None = None
    server_ca: bytes | None = None

    def __repr__(self) -> str:
        """Without credentials."""
        return f"Whereabouts({self.namespace} at {self.address})"


_QUOTED = re.compile(r'"([^"]+)"')


@contextmanager
def reachable() -> Iterator[None]:
    """A client that has not reached its server yet says so by a `RuntimeError`; here it is `Unavailable`."""
    try:
        yield
    except RuntimeError as error:
        message = f"Temporal does not answer ({in_words(error)})."
        raise Unavailable(message, code="TEMPORAL_UNAVAILABLE") from error


def in_words(error: RuntimeError) -> str:
    """What a client says that has no connection, without the names of the library's own types."""
    said = str(error)
    if "InvalidContentType" in said:
        return "what answers there does not speak TLS"
    return ": ".join(_QUOTED.findall(said)) or said


async def connect(
    where: Whereabouts,
    *,
    interceptors: Sequence[Interceptor] = (),
    runtime: Runtime | None = None,
    lazy: bool = True,
) -> Client:
    """A client. A lazy one needs no server yet, and cannot have a worker."""
    return await Client.connect(
        where.address,
        namespace=where.namespace,
        api_key=where.api_key,
        tls=_tls(where),
        data_converter=DATA_CONVERTER,
        interceptors=interceptors,
        runtime=runtime,
        lazy=lazy,
    )


def _tls(where: Whereabouts) -> TLSConfig | bool:
    if where.client_certificate or where.server_ca:
        return TLSConfig(
            server_root_ca_cert=where.server_ca,
            client_cert=where.client_certificate,
            client_private_key=where.client_key,
        )
    return where.tls
