"""Bugs on purpose in what runs a service: each breaks one of the promises a platform service makes.

The traps are numbered as the promises in `tests/serving/fault_watch.py`. Most are found by seeds of
`tests.serving.fault_world`: real runners against the real Lucius. The others are about answers and times
that a test must script.
"""

from __future__ import annotations

from tests.planted.catalogue import Plant, suite

SCHEDULES = ("-m", "tests.serving.fault_world", "--first", "--schedules", "400")
ATTEMPT, OVERDUE = "sdk/serving/attempt.py", "sdk/serving/overdue.py"
RUNNER, PULSE = "sdk/serving/runner.py", "sdk/serving/pulse.py"
STORE = "sdk/attempts/sqlite.py"


def one(file: str, test: str) -> tuple[str, ...]:
    """One test of the runner."""
    return suite(f"serving/test_runner_{file}.py::test_{test}")


FIRST_STANDS = one("hand_over", "a_result_that_another_process_stored_first_is_the_one_that_is_sent")
FINISHED = "        return stored(await self._finish(encode(result)))\n"

ORDER = (
    Plant(
        "R1", "the work begins before its ACK is heard", ATTEMPT,
        '                self._log.warning("ACK not heard yet, trying again", code=error.code)\n',
        "                return Heard()\n", SCHEDULES,
    ),
    Plant(
        "R1", "an attempt that is being worked on is begun again", ATTEMPT,
        "        if not found.claimed:\n", "        if not found.claimed and found.result is not None:\n",
        SCHEDULES,
    ),
    Plant(
        "R2", "a RESULT is sent before it is stored", ATTEMPT,
        FINISHED, "        await self.tell(result)\n" + FINISHED, SCHEDULES,
    ),
    Plant(
        "R2", "a RESULT is sent though the store could not keep it", ATTEMPT,
        "                await self._tools.sleep(STORE_PAUSE)\n", "                return result\n",
        SCHEDULES,
    ),
    Plant(
        "R2", "a process sends its own RESULT, not the one that stands", ATTEMPT,
        FINISHED, "        await self._finish(encode(result))\n        return result\n", FIRST_STANDS,
    ),
    Plant(
        "R2", "the last RESULT stored stands", STORE,
        '{_THIS} AND result IS NULL"', '{_THIS}"', FIRST_STANDS,
    ),
    Plant(
        "R2", "a crash is reported though a RESULT is stored", OVERDUE,
        "one.result or await self._crashed(one.key, directive)",
        "encode(failed(directive, self._tools.clock(), CRASHED))", SCHEDULES,
    ),
    Plant(
        "R3", "an attempt is claimed after its ACK", ATTEMPT,
        "        tools = self._tools\n        now = tools.clock()\n",
        "        tools = self._tools\n        now = tools.clock()\n"
        "        await tools.transport.reply(self.directive, ack(self.directive, now))\n", SCHEDULES,
    ),
    Plant(
        "R1", "attempts are told apart without their lease", ATTEMPT,
        "        lease_id=directive.lease_id,\n    )\n", "        lease_id=directive.job_id,\n    )\n",
        one("hand_over", "the_same_attempt_under_another_lease_is_another_piece_of_work"),
    ),
    Plant(
        "R4", "a directive is settled before its ACK is heard", ATTEMPT,
        "        heard = await self._acknowledge()\n",
        "        await self._settle()\n        heard = await self._acknowledge()\n", SCHEDULES,
    ),
    Plant(
        "R4", "what comes again before its ACK is settled at once", RUNNER,
        "return None if run.also(lent) else", "return", SCHEDULES,
    ),
    Plant(
        "R4", "a finished directive that comes again gets no answer", ATTEMPT,
        '        self._log.info("directive came again; its result is sent once more")\n',
        "        return None\n", one("once", "a_finished_directive_again_sends_the_stored_result"),
    ),
    Plant(
        "R6", "an attempt is closed before Lucius heard its RESULT", "sdk/serving/telling.py",
        "        heard = await self._heard(directive, result)\n",
        "        await self.close(key)\n        heard = await self._heard(directive, result)\n", SCHEDULES,
    ),
    Plant(
        "R6", "who lost an attempt to another process closes it", ATTEMPT,
        "                if not self._taken_over:", "                if True:",
        one("hand_over", "who_lost_an_attempt_to_another_process_leaves_it_open"),
    ),
)  # fmt: skip

LEASES = (
    Plant(
        "R5", "a lost lease is not heeded", PULSE,
        "        if heard.lost:\n", "        if False:\n", SCHEDULES,
    ),
    Plant(
        "R5", "an attempt that is over counts as ours", "sdk/serving/ports.py",
        'in {"stale_lease", "after_terminal", "conflict", "unknown"}', 'in {"conflict", "unknown"}',
        one("once", "an_ack_that_is_refused_stops_the_attempt_before_the_work"),
    ),
    Plant(
        "R10", "heartbeats stop after the first", PULSE,
        "                last = now\n", "                return\n",
        one("stops", "heartbeats_come_while_the_work_goes_on_and_carry_its_progress"),
    ),
    Plant(
        "R0", "a Lucius that is away ends the heartbeats", PULSE,
        "except (LuciusError, TimeoutError):", "except TimeoutError:", SCHEDULES,
    ),
    Plant(
        "R10", "the cancel token is never set", PULSE,
        "            self._cancel.request(CANCELLED)\n", "            pass\n",
        one("stops", "a_cancelled_job_stops_the_work_at_its_next_progress"),
    ),
    Plant(
        "R10", "a payload is not held against its model", "sdk/serving/service.py",
        "read: P = self._adapter().validate_python(payload)", "read: Any = payload",
        one("once", "a_payload_that_does_not_fit_is_final"),
    ),
)  # fmt: skip

PROCESSES = (
    Plant(
        "R10", "attempts of the dead are never taken over", OVERDUE,
        "                await self.take_over()\n", "                pass\n",
        one("once", "attempts_of_a_dead_process_are_reported_by_the_next"),
    ),
    Plant(
        "R11", "attempts of the living are taken over", STORE,
        "told_at IS NULL AND until <= ? ORDER", "told_at IS NULL AND until >= ? ORDER", SCHEDULES,
    ),
    Plant(
        "R11", "nobody says that a process lives", OVERDUE,
        "            if not ours:\n", "            if True:\n", SCHEDULES,
    ),
    Plant(
        "R3", "a process takes over what it works on itself", OVERDUE,
        "if one.key not in self._running()]", "]",
        one("hand_over", "work_that_goes_on_after_the_machine_slept_is_not_reported_dead"),
    ),
    Plant(
        "R0", "a store that is away while the dead are reported ends the service", OVERDUE,
        "except (TimeoutError, Unavailable):", "except TimeoutError:", SCHEDULES,
    ),
    Plant(
        "R0", "a store that is away ends the renewals", OVERDUE,
        '            except Unavailable as error:\n                self._log.warning("the store is away; cl',
        '            except TypeError as error:\n                self._log.warning("the store is away; cl',
        SCHEDULES,
    ),
    Plant(
        "R7", "directives are taken ahead without bound", "sdk/serving/ahead.py",
        "return min(self._most, int(", "return max(self._most, int(", SCHEDULES,
    ),
    Plant(
        "R8", "a stop abandons running work", RUNNER,
        "self._idle(self._options.drain_seconds)", "self._idle(0)",
        one("stops", "a_stop_lets_running_work_finish_and_gives_back_the_rest"),
    ),
    Plant(
        "R8", "a stop leaves what it took ahead to its locks", RUNNER,
        "        if given_back:\n", "        if False:\n",
        one("stops", "a_stop_lets_running_work_finish_and_gives_back_the_rest"),
    ),
    Plant(
        "R8", "work that outlasts the drain is left without a word", RUNNER,
        "                run.stop()\n", "                run.lose()\n",
        one("stops", "work_that_outlasts_the_drain_is_reported_as_stopped"),
    ),
)  # fmt: skip

SDK_CATALOGUE = ORDER + LEASES + PROCESSES
