"""Runs, wallets, dead letters and workflows as everybody may see them: no lock tokens, no secrets. Pure."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from lucius.entrypoints.api.lifebook import shapes
from lucius.entrypoints.api.lifebook.why import why
from lucius.lifebook.core.run import Lock, Run, Summary
from lucius.lifebook.core.states import Status
from lucius.lifebook.core.wallet import PER_CREDIT, Wallet
from lucius.lifebook.duties.dead_letters import DeadLetter
from lucius.lifebook.item import item_of
from lucius.lifebook.workflows import Workflow
from lucius.security.redaction import redact, redact_text
from lucius.wire.timestamps import iso
from lucius.wire.views import moment

_EXCERPT = 500
#: The step at the cursor, by the status of its run; those behind it wait, or are left out.
_HERE: dict[Status, shapes.StepState] = {
    Status.RUNNING: "running",
    Status.FAILED: "failed",
    Status.DEAD: "failed",
    Status.CANCELED: "skipped",
}


def run_view(run: Run, now: int) -> shapes.LifebookRun:
    """One run, with the reason for where it stands."""
    item = item_of(run)
    contract: dict[str, Any] = {
        name: _plain(item.get(name)) for name in shapes.LifebookItem.__struct_fields__
    }
    contract |= {
        "last_error_code": redact(run.last_error_code),
        "last_error_message": redact(run.last_error_message),
    }
    return shapes.LifebookRun(
        **contract,
        why=why(run, now),
        steps=_steps(run),
        input=redact(run.input),
        artifacts={name: redact_text(reference) for name, reference in run.artifacts.items()},
        lock=_lock(run.lock),
        next_attempt_at=moment(run.next_attempt_at),
        retry_of=run.retry_of,
        trace_id=run.trace_id,
    )


def summary_view(summary: Summary) -> shapes.LifebookSummary:
    """A run for a list."""
    return shapes.LifebookSummary(
        job_id=summary.job_id,
        workspace_id=summary.workspace_id,
        created_at=iso(summary.created_at),
        status=summary.status,
        workflow_id=summary.workflow_id,
        trigger_type=summary.trigger_type,
        credits_estimate=credits_shown(summary.credits_estimate),
    )


def wallet_view(wallet: Wallet) -> shapes.LifebookWallet:
    """The credits of a workspace."""
    return shapes.LifebookWallet(
        workspace_id=wallet.workspace_id,
        available=credits_shown(wallet.available),
        reserved=credits_shown(wallet.reserved),
        spent=credits_shown(wallet.spent),
        deposited=credits_shown(wallet.deposited),
    )


def letter_view(letter: DeadLetter) -> shapes.LifebookLetter:
    """A dead letter; of an unreadable one, how it begins."""
    delivery, envelope, run = letter.delivery, letter.envelope, letter.run
    return shapes.LifebookLetter(
        message_id=delivery.message_id,
        receives=delivery.receives,
        sent_at=iso(delivery.sent_at),
        job_id=None if envelope is None else envelope.job_id,
        workspace_id=None if envelope is None else envelope.workspace_id,
        workflow_id=None if run is None else run.workflow_id,
        status=None if run is None else run.status,
        last_error_code=None if run is None else redact(run.last_error_code),
        last_error_message=None if run is None else redact(run.last_error_message),
        body=None
        if envelope is not None
        else redact_text(delivery.body.decode("utf-8", "replace"), _EXCERPT),
    )


def workflow_view(workflow: Workflow) -> shapes.LifebookWorkflow:
    """A workflow with its steps."""
    return shapes.LifebookWorkflow(
        workflow_id=workflow.workflow_id,
        max_attempts=workflow.max_attempts,
        credits_estimate=credits_shown(sum(step.credits for step in workflow.steps)),
        steps=[
            shapes.LifebookPlannedStep(
                name=step.name, credits=credits_shown(step.credits), timeout_seconds=step.timeout_seconds
            )
            for step in workflow.steps
        ],
    )


def credits_shown(hundredths: int) -> float:
    """Hundredths as a number of credits; exact in JSON, because amounts are far below 2**53."""
    whole, rest = divmod(hundredths, PER_CREDIT)
    return hundredths / PER_CREDIT if rest else whole


def _plain(value: Any) -> Any:
    return credits_shown(int(value.scaleb(2))) if isinstance(value, Decimal) else value


def _lock(lock: Lock | None) -> shapes.LifebookLock | None:
    """The token stays with its worker: whoever has it can write to the run."""
    if lock is None:
        return None
    return shapes.LifebookLock(owner=redact_text(lock.owner), expires_at=iso(lock.expires_at))


def _steps(run: Run) -> list[shapes.LifebookStep]:
    after: shapes.StepState = "skipped" if run.terminal else "waiting"
    here = _HERE.get(run.status, after) if run.attempts else after
    return [
        shapes.LifebookStep(
            name=step.name,
            state="done" if index < run.step_cursor else here if index == run.step_cursor else after,
            credits=credits_shown(step.credits),
        )
        for index, step in enumerate(run.steps)
    ]
