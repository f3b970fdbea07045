"""Invokers that live elsewhere.

    http.py      the invoker behind its internal HTTP API      replicas.py  whom to ask, and whom next
    answers.py   from an answer to a record or an error        saying.py    from commands to bodies

No state but connections and whose turn it is. Errors are those the invoker raised; when nobody answers
as an invoker does, it is `Unavailable`.
"""
