"""The ways to Lucius: HTTP, or a bus. Each is a `lucius.sdk.serving.ports.Transport`."""

from __future__ import annotations

from lucius.sdk.transports.bus import BusTransport
from lucius.sdk.transports.http import HttpTransport

__all__ = ["BusTransport", "HttpTransport"]
