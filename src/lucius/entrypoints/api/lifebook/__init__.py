"""Lifebook runs over HTTP: `/v1/lifebook/…`.

    runs.py       create, look, list, cancel, retry; workflows     wallet.py        credits of a workspace
    showing.py    a run as everybody may see it                    dead_letters.py  look, redrive, discard
    why.py        why it stands where it stands, in a sentence     triggers.py      schedules and hooks
    asking.py     the desk, the run and the workspace of a request
    requests.py   bodies that are taken                            shapes.py        bodies that are answered

No state of its own. A workspace is a tenant: somebody else's run and a missing run are one answer, byte for
byte; creating in somebody else's workspace is 403. Without a desk every route answers 503 `LIFEBOOK_OFF`,
after it has asked for the credential and its role.
"""
