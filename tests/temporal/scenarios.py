"""Jobs whose histories are kept: what workflows of earlier releases may have behind them.

Each plays one job on a real server and says which runs of its workflow to keep.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from lucius.core import commands as cmd
from lucius.core.job import Job
from lucius.core.states import JobState, StepState
from lucius.testing.jobs import lost, protocol, recipe
from tests.temporal.world import LiveWorld, quick

Scenario = Callable[[LiveWorld], Awaitable[Job]]


async def three_steps(world: LiveWorld) -> Job:
    """The plain case."""
    job = await world.opened()
    await world.serve(job)
    return job


async def retry(world: LiveWorld) -> Job:
    """A service fails once, another time for good."""
    job = await world.opened(steps=protocol(quick("ocr", lease=60_000), quick("sis", lease=60_000)))
    await world.report(await world.take(), lost())
    await world.report(await world.take())
    await world.report(await world.take(), lost("BROKEN", final=True))
    await world.ended(job)
    return job


async def ack_timeout(world: LiveWorld) -> Job:
    """Nobody answers the first directive; the lease of the second runs out; the third is answered."""
    job = await world.opened(steps=protocol(quick("ocr", ack_timeout=300)))
    await world.take()
    await world.acked(await world.take())
    await world.until(job, lambda job: job.steps[0].state is StepState.FAILED_RETRY)
    await world.report(await world.take())
    await world.ended(job)
    return job


async def pause_resume(world: LiveWorld) -> Job:
    """Paused with a step in flight, at rest between two steps, and resumed."""
    job = await world.opened(steps=protocol("ocr", "sis"))
    directive = await world.take()
    await world.acked(directive)
    await world.control(job, cmd.Pause())
    await world.report(directive)
    await world.until(job, lambda job: job.state is JobState.PAUSED)
    await world.control(job, cmd.Resume())
    await world.serve(job)
    return job


async def cancel_in_flight(world: LiveWorld) -> Job:
    """Cancelled while a service is at work, which is awaited."""
    job = await world.opened(steps=protocol("ocr", "sis"))
    directive = await world.take()
    await world.acked(directive)
    await world.control(job, cmd.Cancel(reason="not needed any more"))
    await world.report(directive)
    await world.ended(job)
    return job


async def force_cancel(world: LiveWorld) -> Job:
    """Cancelled without waiting."""
    job = await world.opened(steps=protocol("ocr", "sis"))
    await world.acked(await world.take())
    await world.control(job, cmd.Cancel(force=True))
    await world.ended(job)
    return job


async def native_cancel(world: LiveWorld) -> Job:
    """Cancelled by Temporal's own means, with a step in flight."""
    job = await world.opened(steps=protocol("ocr", "sis"))
    directive = await world.take()
    await world.acked(directive)
    await world.run(job).cancel()
    await world.until(job, lambda job: job.state is JobState.CANCELLING)
    await world.report(directive)
    await world.ended(job)
    return job


async def parallel_group(world: LiveWorld) -> Job:
    """Two steps side by side, the second one done first, and one after them."""
    pair = protocol(recipe("left", group="g"), recipe("right", group="g"), "last")
    job = await world.opened(steps=pair)
    both = [await world.take(), await world.take()]
    for directive in reversed(both):
        await world.acked(directive)
        await world.report(directive)
    await world.serve(job)
    return job


async def nudged(world: LiveWorld) -> Job:
    """Signals that say nothing, or nothing that can be read."""
    job = await world.opened(steps=protocol("ocr"))
    directive = await world.take()
    await world.signals.nudge(job.job_id)
    await world.run(job).signal("step_result", "rubbish")
    await world.report(directive)
    await world.ended(job)
    return job


async def fresh_runs(world: LiveWorld) -> Job:
    """So long that it goes on in fresh runs."""
    job = await world.opened(steps=protocol("a", "b", "c", "d", "e"))
    await world.serve(job)
    return job


SCENARIOS: dict[str, Scenario] = {
    "three-steps": three_steps,
    "retry": retry,
    "ack-timeout": ack_timeout,
    "pause-resume": pause_resume,
    "cancel-in-flight": cancel_in_flight,
    "force-cancel": force_cancel,
    "native-cancel": native_cancel,
    "parallel-group": parallel_group,
    "nudged": nudged,
}
FRESH = "continue-as-new"
"""Of this one each run is kept, numbered: the first, one in the middle, the last."""
