"""Credits of a workspace, in hundredths: what is free, what is held for open runs, what is spent.

    deposit    free + n
    reserve    free → held, when a run is created; never more than is free
    spend      on the run's own record, step by step, within what is held for it
    settle     once, with the write that ends the run: held → spent as far as it spent, the rest → free

At all times  deposited = free + held + spent,  and  held = what the records of open runs reserve.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import msgspec

from lucius.errors import Invalid, LuciusError

PER_CREDIT = 100
MOST = 10**12
"""More hundredths than anybody has; amounts stay exact in every JSON reader."""


class Wallet(msgspec.Struct, frozen=True, kw_only=True):
    """The credits of one workspace."""

    workspace_id: str
    available: int = 0
    reserved: int = 0
    spent: int = 0
    deposited: int = 0


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """How a run that ends leaves its wallet."""

    workspace_id: str
    released: int
    """What was held for it."""
    spent: int
    """What of that is gone; the rest is free again."""


class InsufficientCreditsError(LuciusError):
    """The wallet does not cover the estimate."""

    code = "INSUFFICIENT_CREDITS"
    status = 402


def reserve(wallet: Wallet, amount: int) -> Wallet:
    """Hold `amount` for a run."""
    if wallet.available < amount:
        raise insufficient(wallet, amount)
    return msgspec.structs.replace(
        wallet, available=wallet.available - amount, reserved=wallet.reserved + amount
    )


def settle(wallet: Wallet, settlement: Settlement) -> Wallet:
    """Let go of what a run held, less what it spent."""
    return msgspec.structs.replace(
        wallet,
        available=wallet.available + settlement.released - settlement.spent,
        reserved=wallet.reserved - settlement.released,
        spent=wallet.spent + settlement.spent,
    )


def deposit(wallet: Wallet, amount: int) -> Wallet:
    """Add credits."""
    return msgspec.structs.replace(
        wallet, available=wallet.available + amount, deposited=wallet.deposited + amount
    )


def insufficient(wallet: Wallet, amount: int) -> InsufficientCreditsError:
    """The refusal, with the two amounts."""
    return InsufficientCreditsError(
        f"The run may cost {shown(amount)} credits and the wallet of {wallet.workspace_id} has "
        f"{shown(wallet.available)} free; add credits, or wait until open runs end"
    )


def shown(hundredths: int) -> str:
    """Credits as people write them: `12`, `12.50`."""
    whole, rest = divmod(abs(hundredths), PER_CREDIT)
    sign = "-" if hundredths < 0 else ""
    return f"{sign}{whole}.{rest:02d}" if rest else f"{sign}{whole}"


def hundredths_of(number: float | str) -> int:
    """Exact hundredths of a number of credits; finer, negative and too large ones are refused."""
    try:
        amount = Decimal(str(number)) * PER_CREDIT
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount != amount.to_integral_value() or not 0 <= amount <= MOST:
        raise Invalid(
            f"{str(number)[:40]} is not a number of credits; write at most two decimals, as 12.5",
            code="INVALID_CREDITS",
        )
    return int(amount)
