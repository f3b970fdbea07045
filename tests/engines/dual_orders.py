"""Orders of any shape for the dual run."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from lucius.core.job import Order
from lucius.testing.jobs import done, order, protocol, recipe

TENANTS = ("acme", "bolt", "core")


def draw_order(random: Random, number: int, now: int, *, grouped: bool) -> Order:
    """One to three steps, parallel ones if `grouped`; small budgets; late, urgent or retried at times.

    Without jitter, which is each engine's own to draw, so that all times can be compared. Clocks of steps
    never run out in the same millisecond, and no two jobs have a type of step in common, so that nothing
    depends on which step or job is looked at first.
    """
    pick = random.choice
    groups: Sequence[str | None] = pick(((None,), (None, None), (None, None, None)))
    if grouped:
        groups = pick((groups, ("g", "g"), ("g", "g", "g"), ("g", "g", None), (None, "g", "g")))
    shared = random.random() < 0.5
    steps = [
        recipe(
            f"s{index}",
            step_type=f"J{number}" if shared else f"J{number}S{index}",
            group=group,
            ack_timeout=30_000 + 101 * index,
            lease=900_000 + 103 * index,
            ack_backoff=(60_000 + 1_009 * index, 300_000 + 1_013 * index),
            execution_backoff=(30_000 + 1_019 * index, 120_000 + 1_021 * index),
            max_dispatch_attempts=pick((1, 2, 3)),
            max_execution_attempts=pick((1, 2, 3)),
            dispatch_deadline=pick((45_000, 3_600_000)),
        )
        for index, group in enumerate(groups)
    ]
    inherited = pick((0,) * 8 + (1, len(steps)))
    return order(
        accepted_at=now,
        tenant=pick(TENANTS),
        mode=pick(("DEFAULT", "BURST")),
        steps=protocol(*steps, deadline=pick((None, None, None, 600_007, 7_200_007))),
        not_before=pick((None, None, None, now - 1, now + 60_000)),
        priority=pick((0, 0, 5)),
        start_index=inherited,
        inherited=tuple(done(f"s3://space/old-{index}.json") for index in range(inherited)),
        ancestor_id="ancestor" if inherited else None,
    )


def described(of: Order) -> str:
    """What matters about an order, on one line."""
    steps = [
        f"{step.step_id}{f' in {step.group}' if step.group else ''} "
        f"({step.max_dispatch_attempts}/{step.max_execution_attempts}, {step.dispatch_deadline})"
        for step in of.protocol.steps
    ]
    later = f", in {of.not_before - of.accepted_at} ms" if of.not_before is not None else ""
    limit = f", deadline {of.protocol.deadline}" if of.protocol.deadline else ""
    return f"{'; '.join(steps)}{later}{limit}{f', from step {of.start_index}' if of.start_index else ''}"
