"""A receiver of webhooks that believes only what is signed: python3 examples/webhook_receiver.py SECRET PORT.

Standard library only. Prints one line for each event that is genuine, whole, fresh and new.
"""

import base64
import hashlib
import hmac
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 300
seen = set()  # ids of events already taken; a real receiver keeps them in its database


def genuine(secret, headers, body):
    """Whether the message carries our signature and is not an old one sent again."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    signed = f"{message_id}.{timestamp}.".encode() + body
    ours = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    fits = any(hmac.compare_digest(ours, theirs) for theirs in headers.get("webhook-signature", "").split())
    return fits and timestamp.isdigit() and abs(time.time() - int(timestamp)) <= TOLERANCE_SECONDS


class Receiver(BaseHTTPRequestHandler):
    """Answers 204 to what it took, 401 to what is not genuine."""

    def do_POST(self):
        """Take one event."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        good = genuine(sys.argv[1], self.headers, body)
        self.send_response(204 if good else 401)
        self.end_headers()
        if good and self.headers["webhook-id"] not in seen:  # delivery is at least once
            seen.add(self.headers["webhook-id"])
            event = json.loads(body)
            print(event["type"], event["data"]["jobId"], event["data"]["state"], flush=True)

    def log_message(self, *_):
        """Keep quiet about the rest."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Receiver).serve_forever()
