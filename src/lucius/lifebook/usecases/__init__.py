"""What can be done with runs, one verb a file. Whoever calls has checked who may.

create.py    a run, once for each key        change.py   read, decide, write; again when overtaken
control.py   cancel; retry as a new run      look.py     runs, wallets

Nothing here keeps state: the store has it.
"""
