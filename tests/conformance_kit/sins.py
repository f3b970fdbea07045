"""Each way in which `word_count.py` can be wrong: the case that must find it, and words of its remark."""

from __future__ import annotations

from typing import Final

SINS: Final[dict[str, tuple[str, str]]] = {
    "no_ack": ("takes-work", "no ACK for attempt 1"),
    "late_ack": ("takes-work", "no ACK for attempt 1"),
    "result_first": ("ack-first", "was a RESULT, not an ACK"),
    "wrong_folder": ("result", "may only write below WORD_COUNT/1/"),
    "wrong_digest": ("result", "says the sha256 of"),
    "unsettled": ("settles", "did not settle or renew it"),
    "first_only": ("several", "left it lying until its lock"),
    "one_tenant": ("two-tenants", "no RESULT for attempt 1"),
    "works_twice": ("duplicate-running", "did the work again for the duplicate"),
    "no_memory": ("duplicate-done", "did the work again although the attempt was done"),
    "no_reemission": ("duplicate-done", "its RESULT was not sent again"),
    "second_differs": ("duplicate-done", "2 different RESULTs"),
    "remembers_jobs": ("next-attempt", "may only write below WORD_COUNT/2/"),
    "gives_up": ("result-503", "not sent again until it was taken"),
    "drops_unacknowledged": ("ack-503", "left it lying until its lock"),
    "dies_of_503": ("lucius-503", "ended by itself with exit code 1"),
    "argues": ("late-verdicts", "was answered 200"),
    "no_heartbeats": ("heartbeats", "(0 heartbeats)"),
    "ignores_stale_lease": ("stale-lease", "after it was told stale_lease"),
    "hangs_on_cancel": ("cancel", "no RESULT for attempt 1"),
    "dies_of_malformed": ("malformed", "ended by itself with exit code 1"),
    "swallows_malformed": ("malformed", "lost without a word"),
    "strict_fields": ("unknown-fields", "no RESULT for attempt 1"),
    "accepts_bad_payload": ("bad-payload", "it must end FAILED_FINAL"),
    "waits_for_input": ("missing-input", "no RESULT for attempt 1"),
    "mixes_leases": ("secrets", "the token of attempt 2"),
    "leaks_key": ("secrets", "the service key came with a callback"),
    "no_timestamp": ("well-formed", "got 422"),
    "forgets": ("crash-memory", "did the work again after a restart"),
    "claims_jobs": ("crash-running", "no RESULT for attempt 2"),
    "ignores_sigterm": ("drain-idle", "still there 5 s after SIGTERM"),
    "exits_1": ("drain-idle", "exit code 1 instead of 0"),
    "drops_work": ("drain", "ended without a RESULT"),
    "takes_more": ("drain", "asked for more work after SIGTERM"),
}
