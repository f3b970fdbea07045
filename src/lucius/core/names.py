"""Enumerations for busy places.

In Python 3.11 `JobState.QUEUED` takes ten times as long as a plain attribute, and a member is hashed by a
function written in Python. A three-step job asks for some hundred members.
"""

from __future__ import annotations

from enum import EnumMeta, StrEnum
from typing import TypeVar

E = TypeVar("E", bound=EnumMeta)


class Name(StrEnum):
    """A member that is hashed as the string it is."""

    __hash__ = str.__hash__


def quick(names: E) -> E:
    """Make members plain attributes of their class, as later Pythons do."""
    members: dict[str, StrEnum] = dict(names.__members__)
    for name, member in members.items():
        type.__setattr__(names, name, member)
    return names
