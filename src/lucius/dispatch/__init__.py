"""Between the ledger and the bus, for every engine.

    directives.py  the bytes of a directive
    relay.py       publishes what was committed, fair by tenant, and says so to the ledger
    intake.py      takes replies from the bus and settles them once they are judged and durable
    backlog.py     whether a directive waits because its services are busy, or because nobody is there
    recovery.py    after a start: what a volatile bus forgot is published again

Nothing here decides anything. A crash costs nothing: an attempt and its directive are durable before
anything is published, and whatever was not acknowledged goes out again with the same bytes.
"""
