"""One delivery, from the message to its end. The same for the local poller and for AWS Lambda.

    message ─▶ run? ─▶ ended? ─▶ take it ─▶ step, checkpoint, step, … ─▶ completed
                 │        │          │             └─▶ failed, dead, handed on, stopped
                 ▼        ▼          ▼
              dead     done or   older message: done
            letters  dead letters  newest: comes back when the run may be taken

`handle` answers whether the message is done with (delete it) or must come back; in the second case it is
hidden for as long as it should be. What is not ours to decide, the record decides: a lost answer, a doubled
or late delivery, a worker that was taken for dead all end in a refused write and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from lucius.errors import Unavailable
from lucius.lifebook.core.commands import Acquire
from lucius.lifebook.core.decide import Refusal
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.run import Run, is_leftover, read_envelope
from lucius.lifebook.core.states import Status
from lucius.lifebook.ports.queue import Delivery, RunQueue
from lucius.lifebook.ports.store import RunStore
from lucius.lifebook.ports.watching import UNWATCHED, Watch
from lucius.lifebook.usecases.change import Changed, Changes
from lucius.lifebook.worker.holding import BEATS_PER_LEASE, MARGIN_SECONDS, RETRY_SECONDS, Held
from lucius.lifebook.worker.lines import about_attempt, about_message
from lucius.lifebook.worker.stepping import Stepping, TimeLeft, plenty
from lucius.lifebook.workflows import Registry

_log = structlog.get_logger("lucius.lifebook")


class Worker:
    """Runs what messages name."""

    def __init__(
        self,
        store: RunStore,
        queue: RunQueue,
        changes: Changes,
        registry: Registry,
        *,
        owner: str,
        policy: Policy,
        clock: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]],
        new_id: Callable[[], str],
        spread: Callable[[], float],
        watch: Watch = UNWATCHED,
    ) -> None:
        """`owner` names this process for people; `new_id` makes tokens; `spread` is chance in [0, 1)."""
        self._store = store
        self._queue = queue
        self._changes = changes
        self._owner = owner
        self._policy = policy
        self._clock = clock
        self._sleep = sleep
        self._new_id = new_id
        self._watch = watch
        self._stepping = Stepping(queue, registry, spread=spread, watch=watch)
        self.hindered = False
        """Whether the store was away for the message that was seen last: better take no more of them."""

    def drain(self) -> None:
        """Hand every run on before its next step."""
        self._stepping.draining = True

    def abort(self) -> None:
        """Stop the steps in flight too; their runs are handed on, no attempt is lost."""
        self.drain()
        self._stepping.abort()

    async def handle(self, delivery: Delivery, *, time_left: TimeLeft = plenty) -> bool:
        """Whether the message is done with; if not, it is hidden until it should come back."""
        with about_message(delivery):
            try:
                done = await self._judge(delivery, time_left)
            except Unavailable as error:
                # Each receive counts: an outage is waited out with growing patience, not with receives.
                self.hindered = True
                wait = self._policy.put_off(delivery.receives)
                _log.warning("put off", code=error.code, reason=error.message, seconds=wait / 1000)
                return await self._again(delivery, wait)
            self.hindered = False
            return done

    async def _judge(self, delivery: Delivery, time_left: TimeLeft) -> bool:
        envelope = read_envelope(delivery.body)
        run = None if envelope is None else await self._store.get(envelope.job_id)
        if run is None or envelope is None or run.workspace_id != envelope.workspace_id:
            _log.error("poison message", message_id=delivery.message_id, receives=delivery.receives)
            return await self._again(delivery, 0)
        if run.terminal:
            return await self._ended(delivery, run)
        token = self._new_id()
        taken = await self._take(run, token)
        if taken.refused is not None:
            return await self._not_now(delivery, taken.run, taken.refused)
        if taken.run.terminal:  # nobody else tells: those who were lost in it cannot
            _log.warning("workers lost", code=taken.run.last_error_code, reason=taken.run.last_error_message)
            return await self._ended(delivery, taken.run)
        held = Held(
            taken.run, token, self._changes,
            lease=self._policy.lease, clock=self._clock, sleep=self._sleep, missed=self._watch.missed,
        )  # fmt: skip
        with about_attempt(held.run), self._watch.attempt(held.run) as ended:
            await self._again(delivery, self._policy.lease + MARGIN_SECONDS * 1000)
            try:
                handed_on = await self._stepping.go(held, delivery, time_left)
            finally:
                ended(held.run)
            return True if handed_on else await self._after(delivery, held.run)

    async def _take(self, run: Run, token: str) -> Changed:
        """Take the run. An answer that was lost is asked for again: the lock may be ours already."""
        until = self._clock() + self._policy.lease // BEATS_PER_LEASE
        while True:
            try:
                return await self._changes.apply(
                    run.job_id, Acquire(owner=self._owner, token=token), known=run
                )
            except Unavailable:
                if self._clock() >= until:
                    raise
            await self._sleep(RETRY_SECONDS)

    async def _after(self, delivery: Delivery, run: Run) -> bool:
        """The message of a run that this worker let go."""
        if run.terminal:
            return await self._ended(delivery, run)
        if run.status is Status.FAILED and run.next_attempt_at is not None:
            return await self._again(delivery, run.next_attempt_at - self._clock())
        if run.status is Status.QUEUED:
            # Handed on, but nobody knows whether its new message was sent: this one wakes somebody too.
            return await self._again(delivery, 0)
        # Lost to somebody else, or the store is away: whoever holds it, or the end of the lock, decides.
        until = run.lock.expires_at if run.lock is not None else self._clock()
        refused = Refusal(code="LOCK_LOST", message="", until=until)
        return await self._not_now(delivery, run, refused)

    async def _ended(self, delivery: Delivery, run: Run) -> bool:
        """Done, unless the run is dead: then its message goes on to the dead letters.

        An older one too: the newest may never have been sent, and a dead run without a letter is not seen.
        """
        return True if run.status is not Status.DEAD else await self._again(delivery, 0)

    async def _not_now(self, delivery: Delivery, run: Run, refused: Refusal) -> bool:
        if run.terminal:
            return await self._ended(delivery, run)
        if is_leftover(run, delivery.send_no):
            return True
        until = refused.until if refused.until is not None else self._clock()
        return await self._again(delivery, until - self._clock() + MARGIN_SECONDS * 1000)

    async def _again(self, delivery: Delivery, wait: float) -> bool:
        """It comes back in `wait` milliseconds; if the queue is away, when its loan ends."""
        try:
            await self._queue.hide(delivery, max(wait, 0) / 1000)
        except Unavailable as error:
            _log.warning("message not hidden", message_id=delivery.message_id, code=error.code)
        return False
