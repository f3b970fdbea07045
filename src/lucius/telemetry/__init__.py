"""What Lucius says about itself: log lines, metrics and spans.

Nothing here decides anything. Telemetry is fed after the fact, from what the ledger has already
committed, so a crash loses numbers and never jobs. Three rules hold in every file:

* Cheap: the hot path adds to plain integers; names and labels are made when somebody scrapes.
* Bounded: no label takes a value a client can invent; past a cap it becomes `other`.
* Harmless: an error in here is counted and logged, and never reaches the caller.

Counters live in memory and start from zero with the process, as Prometheus expects.
"""
