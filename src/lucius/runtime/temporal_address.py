"""Where Temporal is, and whether what speaks to it is installed."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from lucius.errors import Unavailable

if TYPE_CHECKING:
    from lucius.runtime.settings import Settings

USUAL = "127.0.0.1:7233"
REMEDY = "pip install 'lucius[temporal]'"


def address_of(settings: Settings) -> str:
    """The server that the settings name, or where one usually is."""
    return settings.temporal_address or USUAL


def require_temporal() -> None:
    """Raise one clear sentence unless the extra is there."""
    if importlib.util.find_spec("temporalio") is None:
        message = f"The engine temporal needs the extra [temporal]; install it with {REMEDY}."
        raise Unavailable(message, code="TEMPORAL_NOT_INSTALLED")
