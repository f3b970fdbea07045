"""Addresses to listen on: looked at before the start, so that what cannot work is one sentence."""

from __future__ import annotations

from lucius.errors import Unavailable


def check_port(host: str, port: int, *, remedy: str = "--port") -> None:
    """Raise `Unavailable` unless this address can be listened on: better said now than after the start."""
    import socket

    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        message = f"{host} port {port} cannot be listened on: {error.strerror}; choose another with {remedy}."
        raise Unavailable(message, code="ADDRESS_UNUSABLE") from None


def free_port(host: str = "127.0.0.1") -> int:
    """A port nobody listens on right now."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def heed_eof() -> None:
    """Drain when stdin ends: whoever started this to show it is gone."""
    import os
    import signal
    import threading

    def watch() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()
