"""Puts processes together. Only this room, and `runtime.offline`, name concrete classes.

    access.py        who may call                   watching.py   what sees everything and changes nothing
    storage.py       ledger, bus, webhook log       driving.py    what moves jobs: relay, intakes, webhooks
    front.py         the HTTP API on any engine     local.py      services that come with the process
    ground.py        what every API stands on       desk.py       the invoker, wherever it lives
    outbox.py        `lucius up`, `lucius api`: the engine that needs nothing else
    orchestrator.py  `lucius api` with Temporal     invoker.py    `lucius invoker`
    together.py      `lucius up` with Temporal: both in one process, server and worker beside it
    temporal.py      the client of Temporal         worker.py     `lucius temporal-worker`
    lifebook.py      lifebook runs: desk, worker, duties; lifebook_backends.py: on a file or on AWS

Nothing runs yet when something is built; `lifecycle.py` starts and stops it. What needs the extra
`[temporal]` is loaded when it is asked for.
"""
