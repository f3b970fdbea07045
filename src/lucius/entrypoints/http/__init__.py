"""What every HTTP door of Lucius does the same way: bodies in, answers and problem documents out.

    incoming.py   a body read within its limit; an answer sent
    strict.py     bodies with fixed fields, and refusals that point at the fault
    problems.py   RFC 9457 documents

No state, and nothing here knows which door asks.
"""
