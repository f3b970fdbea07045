"""A client that sends one command and never reads the answer: `client.py PORT BODY`. Killed by its test."""

from __future__ import annotations

import signal
import socket
import sys


def main() -> None:
    """Send, say so, and wait to be killed."""
    port, body = int(sys.argv[1]), sys.argv[2].encode()
    head = (
        f"POST /v1/orchestrate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head.encode() + body)
        sys.stdout.write("sent\n")
        sys.stdout.flush()
        signal.pause()


main()
