"""Lifebook runs: one record, one message, one worker that runs all steps of a workflow in order.

    create ──▶ record (pending) ──▶ message ──▶ queued ──▶ running ──▶ completed
                   │ lost send: the sweeper sends again     │  ▲ └─▶ dead (attempts, poison) ─▶ dead letters
                   └────────── cancel ──▶ canceled          ▼  │
                                                          failed (backoff)

The record decides, the queue only wakes. Every change is one conditional write on the version that was read;
a worker holds a run by a token with an expiry, so one that was taken for dead can change nothing. The cursor
moves by one with each step that is done; after a crash the step in flight runs again, the ones before do not.
The write that ends a run also settles its credits and leaves its one event.

    core/       records, the table of legal moves, `decide`   workflows.py  steps, and what they are given
    ports/      store, queue, analytics                       worker/       one delivery; poller; heartbeat
    usecases/   create, cancel, retry, look                   duties/       sweeper, dead letters, events
    adapters/   sqlite (embedded), aws (DynamoDB, SQS)        triggers/     schedule, webhook, file_drop
"""

from __future__ import annotations

from typing import Any


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """The entry point of the AWS Lambda `lifebook-orchestrator-worker`."""
    from lucius.runtime.lifebook_lambda import handle  # noqa: PLC0415 - only there is powertools installed

    return handle(event, context)


def duties_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """The entry point of the AWS Lambda that does the duties, once a minute."""
    from lucius.runtime.lifebook_lambda import duties  # noqa: PLC0415 - as above

    return duties(event, context)


def drop_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """The entry point of the AWS Lambda that hears of new objects in a bucket."""
    from lucius.runtime.lifebook_lambda import drop  # noqa: PLC0415 - as above

    return drop(event, context)
