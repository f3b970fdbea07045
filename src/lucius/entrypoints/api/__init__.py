"""The HTTP API.

    app.py        the application; busy.py the short way for the busiest routes
    door.py       one request as plain ASGI: credential, body, answer
    commands.py   submit, plan, batch          jobs.py      look, follow (stream.py), control
    callbacks.py  what services say            directives.py  what services take
    admin.py      the control room             probes.py    health, readiness, metrics
    openapi.py    the document, made from the records; bodies and problems are those of `entrypoints.http`

No state of its own. Nothing is answered before the use case has answered; every error leaves as a
problem document with a stable code, and an unexpected one with an incident id and nothing else.
"""
