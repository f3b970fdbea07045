"""Bugs on purpose in lifebook runs: what a queue, a record and a purse do to each other when nobody watches.

Found by seeds of `lucius.testing.lifebook.simulation`, by the grid of moves, or by one test of a worker or a
repair, whichever is quickest.
"""

from __future__ import annotations

from tests.planted.catalogue import Plant, suite

LIFEBOOK = ("-m", "lucius.testing.lifebook.simulation", "--first", "--schedules", "150")
BOOK = "lifebook/"
DECIDE, WORKER, CREATE = BOOK + "core/decide.py", BOOK + "worker/worker.py", BOOK + "usecases/create.py"
SWEEPER, LETTERS, CONTROL = (
    BOOK + "duties/sweeper.py",
    BOOK + "duties/dead_letters.py",
    BOOK + "usecases/control.py",
)
STORE = BOOK + "adapters/sqlite/runs.py"
GRID = suite("lifebook/test_run_moves.py::test_every_command_in_every_status")
WRITE = "                connection.execute(_LEAVE, values)\n\n        await self._file.write(work)\n"
RETRY_KEY = '                key=f"retry:{run.job_id}",\n                space=KeySpace.RETRY,\n'
TELL = "            await self._analytics.tell(event)\n"
NOTE = "            await self._store.told(event, self._clock())\n"
WAKE = "        if run.status is Status.QUEUED:\n            # Handed on"


def near(seed: int) -> tuple[str, ...]:
    """Seeds from here on: near one that is known to find it."""
    return (*LIFEBOOK[:2], "--seed", str(seed), *LIFEBOOK[2:])


def repair(test: str) -> tuple[str, ...]:
    """One test of what puts runs right."""
    return suite(f"lifebook/test_run_repair.py::test_{test}")


def work(test: str) -> tuple[str, ...]:
    """One test of a worker."""
    return suite(f"lifebook/test_run_worker.py::test_{test}")


def bad_call(which: str) -> tuple[str, ...]:
    """One call after another fails."""
    return suite(f"lifebook/test_lifebook_simulation.py::test_one_bad_call_costs_no_attempt[{which}]")


def plant(trap: str, what: str, file: str, old: str, new: str, *, by: tuple[str, ...] = LIFEBOOK) -> Plant:
    """A bug that `by` must find; seeds of the simulation unless told otherwise."""
    return Plant(trap, what, file, old, new, by)


CREATION = (
    plant(
        "A3", "nobody looks for a run that was never sent", CREATE,
        "return msgspec.structs.replace(run, due_at=due_at(run, now, self._policy))", "return run",
        by=repair("a_message_that_was_never_sent_is_sent_by_the_sweeper"),
    ),
    plant(
        "A4", "a key answers with its run whatever was asked", CREATE,
        "if created.run.fingerprint != run.fingerprint:", "if False:", by=repair("a_key_means_one_request"),
    ),
    plant(
        "F6", "what must be unique is a random id", CREATE,
        "unique_id=unique_id(request.workspace_id, space, key)",
        "unique_id=unique_id(request.workspace_id, space, job_id)", by=repair("one_key_is_one_run"),
    ),
    plant(
        "A9", "a retry is the run that died", CONTROL,
        RETRY_KEY, "                key=run.idempotency_key,\n                space=KeySpace.OWN,\n",
        by=repair("redrive_is_a_new_run_once"),
    ),
    plant(
        "A9", "every redrive is one more run", CONTROL,
        RETRY_KEY, "                key=None,\n", by=repair("redrive_is_a_new_run_once"),
    ),
)  # fmt: skip

MESSAGES = (
    plant(
        "F1", "an overdue run is noted, and not sent again", SWEEPER,
        "await self._create.send(changed.run)", "pass",
    ),
    plant(
        "B7", "an overdue run is sent again with every sweep", DECIDE,
        "max(run.lock.expires_at, now)", "run.lock.expires_at",
    ),
    plant(
        "F2", "what lands among the dead letters stays open", LETTERS,
        "changed = await self._changes.apply(run.job_id, _bury(letter.delivery))\n"
        "                buried += changed.acted",
        "buried += 0", by=repair("receives_that_run_out_before_attempts_end_the_run"),
    ),
    plant(
        "F3", "the message of a dead run is deleted", WORKER,
        "return True if run.status is not Status.DEAD else await self._again(delivery, 0)", "return True",
    ),
    plant(
        "F3", "the message of a dead run is not let go", WORKER,
        "return True if run.status is not Status.DEAD else await self._again(delivery, 0)",
        "return run.status is not Status.DEAD", by=work("attempts_run_out"),
    ),
    plant(
        "F2", "an older message buries a healthy run", DECIDE,
        "    if is_leftover(run, command.send_no):", "    if False:", by=GRID,
    ),
    plant(
        "B1", "a continuation without a message is left alone", WORKER,
        WAKE, WAKE.replace("if run.status is Status.QUEUED", "if False"),
        by=bad_call("work-refused-handed on"),
    ),
)  # fmt: skip

LOCKS = (
    plant(
        "F4", "a lock never ends", DECIDE,
        "if lost and lock is not None and lock.expires_at > now:", "if lost and lock is not None:",
        by=work("a_crashed_worker_is_replaced"),
    ),
    plant(
        "C4", "anybody writes as the holder", DECIDE,
        "run.lock is not None and run.lock.token == token:", "run.lock is not None:", by=near(40),
    ),
    plant(
        "F4", "a lock that holds is taken over", DECIDE,
        "if lost and lock is not None and lock.expires_at > now:", "if False:",
    ),
    plant(
        "C4", "the last of two writers wins", STORE,
        '" WHERE job_id = ? AND version = ?"', '" WHERE job_id = ? AND ? > 0"',
    ),
    plant(
        "C4", "an ended run is asked what it has answered", DECIDE,
        "if run.terminal and not", "if False and not", by=GRID,
    ),
    plant(
        "B1", "a lost answer of a taking is a lock of somebody else", DECIDE,
        "    if lock is not None and lock.token == command.token:\n", "    if False:\n",
        by=bad_call("store-unheard-at once"),
    ),
    plant(
        "B1", "a lost answer of a checkpoint is a lost run", DECIDE,
        "    if command.cursor == run.step_cursor - 1:\n", "    if False:\n",
        by=bad_call("store-unheard-at once"),
    ),
    plant(
        "D3", "a run at work cannot be canceled", DECIDE,
        "    # At once, also while",
        '    if run.lock is not None:\n        return Refusal(code="LOCKED", message="held")\n'
        "    # At once, also while",
    ),
)  # fmt: skip

COUNTING = (
    plant(
        "F5", "any checkpoint moves the cursor", DECIDE,
        "if command.cursor != run.step_cursor:", "if False:", by=GRID,
    ),
    plant(
        "F5", "the cursor moves by two", DECIDE,
        "    done = run.step_cursor + 1\n", "    done = min(run.step_cursor + 2, run.steps_total)\n",
    ),
    plant(
        "S7", "a lost worker is not counted", DECIDE,
        "run.crashes + 1 if lost else run.crashes", "run.crashes",
    ),
    plant(
        "S7", "a run that was taken over keeps its attempt", DECIDE,
        "run.attempts if run.continued else", "run.attempts if run.continued or lost else",
    ),
    plant(
        "S7", "a continuation costs an attempt", DECIDE,
        "run.attempts if run.continued else run.attempts + 1", "run.attempts + 1",
        by=work("a_run_is_handed_on_before_time_is_over"),
    ),
    plant(
        "S7", "a run is tried again at once", DECIDE,
        "if waits is not None and waits > now:", "if False:", by=near(44),
    ),
)  # fmt: skip

CREDITS = (
    plant(
        "F7", "what a dead run held is not given back", DECIDE,
        "released=before.credits_reserved,", "released=before.credits_reserved if after.step_cursor else 0,",
    ),
    plant(
        "F7", "what a canceled run held is not given back", STORE,
        "if decision.settlement is not None:", 'if decision.settlement and run.status.value != "canceled":',
    ),
    plant(
        "F7", "a checkpoint that comes again is charged again", DECIDE,
        "        return Decision(run=run)  # the holder has said so before",
        "        return Decision(run=_replace(run, credits_spent=run.credits_spent + command.credits))  #",
        by=bad_call("store-unheard-at once"),
    ),
    plant(
        "F8", "the event is not written", STORE,
        "            if event is not None:\n", "            if False:\n",
    ),
    plant(
        "F8", "the event is written beside the run", STORE, WRITE,
        "                pass\n\n        await self._file.write(work)\n        if event is not None:\n"
        "            values = (event.event_id, event.completed_at, _encode(event))\n"
        "            await self._file.write(lambda connection: connection.execute(_LEAVE, values))\n",
    ),
    plant(
        "F8", "an event is noted before it is told", BOOK + "duties/telling.py",
        TELL + NOTE, NOTE + TELL,
    ),
)  # fmt: skip

LIFEBOOK_CATALOGUE = CREATION + MESSAGES + LOCKS + COUNTING + CREDITS
