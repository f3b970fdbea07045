"""The answers the rules give, written by hand from the specification, one cell a pair.

Rows are where a one-step job can stand (budget: three dispatch, three execution attempts), columns are
what can be asked of it. A cell is the verdict and where job and step stand afterwards; a verdict alone
means that nothing moved.

    + accepted   = duplicate   ~ stale_lease   t after_terminal   # conflict   ! refused

    job   Q QUEUED  D DISPATCHING  I IN_PROGRESS  P PAUSING  H PAUSED  C CANCELLING
          S SUCCEEDED  F FAILED_FINAL  X CANCELLED
    step  p PENDING  d DISPATCHING  a AWAITING_ACK  i IN_PROGRESS  r FAILED_RETRY
          s SUCCEEDED  f FAILED_FINAL  x CANCELLED

After the states a row may say more: `*` the current attempt has reported, `!` no attempt is left after
this one, `-` there never was an attempt.
"""

from __future__ import annotations

from lucius.core.decide import Verdict
from lucius.core.states import JobState as J
from lucius.core.states import StepState as S

JOB = dict(zip("QDIPHCSFX", J, strict=True))
STEP = dict(zip("pdairsfx", S, strict=True))
VERDICT = {
    "+": Verdict.ACCEPTED, "=": Verdict.DUPLICATE, "~": Verdict.STALE_LEASE, "t": Verdict.AFTER_TERMINAL,
    "#": Verdict.CONFLICT, "!": Verdict.REFUSED,
}  # fmt: skip

GRID = """
row   ack   beat  done  retry final stale sent  unsent early due   held  cancel force pause resume gone
Qp-   ~     ~     ~     ~     ~     ~     ~     ~      =     +Qd   +Qd   +Xx    +Xx   +Hp   =      +Fx
Qd    +Ii   +Ii   +Ss   +Ir   +Ff   ~     +Da   +Qd    =     +Qd   +Qd   +Xx    +Xx   +Hd   =      +Ff
Da    +Ii   +Ii   +Ss   +Ir   +Ff   ~     +Da   =      =     +Dr   +Da   +Ca    +Xx   +Pa   =      +Ff
Da!   +Ii   +Ii   +Ss   +Ir   +Ff   ~     +Da   =      =     +Ff   +Da   +Ca    +Xx   +Pa   =      +Ff
Dr    +Ii   +Ii   +Ss   +Ir   +Ff   ~     =     =      =     +Dd   +Dd   +Xx    +Xx   +Hr   =      +Ff
Dd    +Ii   +Ii   +Ss   +Ir   +Ff   ~     +Da   +Dd    =     +Dd   +Dd   +Xx    +Xx   +Hd   =      +Ff
Ii    =     +Ii   +Ss   +Ir   +Ff   ~     =     =      =     +Ir   +Ir   +Ci    +Xx   +Pi   =      +Ff
Ii!   =     +Ii   +Ss   +Ff   +Ff   ~     =     =      =     +Ff   +Ff   +Ci    +Xx   +Pi   =      +Ff
Ir    +Ii   +Ii   +Ss   +Ir   +Ff   ~     =     =      =     +Id   +Id   +Xx    +Xx   +Hr   =      +Ff
Ir*   =     =     #     =     #     ~     =     =      =     +Id   +Id   +Xx    +Xx   +Hr   =      +Ff
Id    +Ii   +Ii   +Ss   +Ir   +Ff   ~     +Ia   +Id    =     +Id   +Id   +Xx    +Xx   +Hd   =      +Ff
Id!   +Ii   +Ii   +Ss   +Ff   +Ff   ~     +Ia   +Id    =     +Id   +Id   +Xx    +Xx   +Hd   =      +Ff
Ia    +Ii   +Ii   +Ss   +Ir   +Ff   ~     +Ia   =      =     +Ir   +Ia   +Ca    +Xx   +Pa   =      +Ff
Pa    +Pi   +Pi   +Ss   +Hr   +Ff   ~     +Pa   =      =     +Hr   +Pa   +Ca    +Xx   =     +Da    +Ff
Pi    =     +Pi   +Ss   +Hr   +Ff   ~     =     =      =     +Hr   +Hr   +Ci    +Xx   =     +Ii    +Ff
Pi!   =     +Pi   +Ss   +Ff   +Ff   ~     =     =      =     +Ff   +Ff   +Ci    +Xx   =     +Ii    +Ff
Hp-   ~     ~     ~     ~     ~     ~     ~     ~      =     =     =     +Xx    +Xx   =     +Qp    +Fx
Hd    +Pi   +Pi   +Ss   +Hr   +Ff   ~     =     =      =     =     =     +Xx    +Xx   =     +Qd    +Ff
Hr    +Pi   +Pi   +Ss   +Hr   +Ff   ~     =     =      =     =     =     +Xx    +Xx   =     +Dd    +Ff
Hr*   =     =     #     =     #     ~     =     =      =     =     =     +Xx    +Xx   =     +Id    +Ff
Ca    +Ci   +Ci   +Xs   +Xx   +Xf   ~     +Ca   =      =     +Xx   +Xx   =      +Xx   !     !      +Xx
Ci    =     +Ci   +Xs   +Xx   +Xf   ~     =     =      =     +Xx   +Xx   =      +Xx   !     !      +Xx
Ss*   =     =     =     #     #     t     =     =      =     =     =     !      !     !     !      =
Ff*   =     =     #     #     =     t     =     =      =     =     =     !      !     !     !      =
Ff    t     t     t     t     t     t     =     =      =     =     =     !      !     !     !      =
Fx-   t     t     t     t     t     t     ~     ~      =     =     =     !      !     !     !      =
Xx    t     t     t     t     t     t     =     =      =     =     =     =      =     !     !      =
Xx-   t     t     t     t     t     t     ~     ~      =     =     =     =      =     !     !      =
Xs*   =     =     =     #     #     t     =     =      =     =     =     =      =     !     !      =
Xf*   =     =     #     #     =     t     =     =      =     =     =     =      =     !     !      =
"""


def answers() -> dict[tuple[str, str], str]:
    """(row, column) to cell."""
    head, *rows = [line.split() for line in GRID.strip().splitlines()]
    return {
        (name, column): cell for name, *cells in rows for column, cell in zip(head[1:], cells, strict=True)
    }
