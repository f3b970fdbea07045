"""The rules of lifebook runs: records, the table of legal moves, one function that makes them.

Pure: no clock, no chance, no I/O. `decide` answers every command in every status, with a new run or with a
refusal; whoever executes the answer writes it on condition that nobody else wrote in between.

    states.py     statuses, and the table of legal moves      run.py      the record: the item of the contract
    commands.py   what can be asked of a run                  decide.py   the only state change
    wallet.py     credits: what is free, held and spent       events.py   what analytics is told, once
    policy.py     backoff, leases, patience, retention        keys.py     when two creations are one
    promises.py   what holds of every run
"""
