"""The rules, and nothing but the rules.

No I/O, no clock, no randomness: time, ids and jitter are arguments. A job changes in one way:
`decide(job, command, now, chance)` answers with events, and `evolve(job, event)` is what an event
does to a job. Replaying a job's events therefore always gives the job back.

Records are frozen `msgspec` structs: 30 times cheaper to copy than frozen dataclasses, and they
encode themselves (see docs/decisions/0002-msgspec-records.md).
"""
