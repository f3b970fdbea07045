"""A workflow that would betray whatever it is given, if anybody listened to it."""

from __future__ import annotations

import structlog

from lucius.lifebook.workflows import Registry, Step, StepContext, StepError, Workflow

CUSTOMER = "canary-customer-4711"
ARTIFACT = "canary-artifact-4712"
PASSWORD = "canary-password-4713"
CANARIES = (CUSTOMER, ARTIFACT, PASSWORD)


async def fetch(_context: StepContext) -> str:
    """Makes a reference that nobody else needs to see."""
    return f"s3://{ARTIFACT}/page"


async def charge(context: StepContext) -> None:
    """Fails twice: with an error that repeats the input, and with one that has a password in it."""
    if context.attempt == 1:
        raise LookupError(f"no account of {context.input['customer']}")
    if context.attempt == 2:
        raise StepError(f"login failed, password={context.input['password']}", code="LOGIN_FAILED")


def publish(context: StepContext) -> None:
    """Runs in a thread, and writes a line."""
    structlog.get_logger("flow").info("published", parts=len(context.artifacts))


registry = Registry(
    [Workflow("leaky", (Step("fetch", fetch, 100), Step("charge", charge, 50), Step("publish", publish)))]
)
