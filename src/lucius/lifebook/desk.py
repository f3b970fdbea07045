"""Everything the edges ask of lifebook runs, as one frozen record that the composition root fills in."""

from __future__ import annotations

import msgspec

from lucius.lifebook.duties.dead_letters import DeadLetters
from lucius.lifebook.triggers.desk import Triggers
from lucius.lifebook.usecases.control import Control
from lucius.lifebook.usecases.create import Create
from lucius.lifebook.usecases.look import Look
from lucius.lifebook.workflows import Registry


class LifebookDesk(msgspec.Struct, frozen=True, kw_only=True):
    """The use cases of lifebook runs."""

    create: Create
    control: Control
    look: Look
    dead_letters: DeadLetters
    triggers: Triggers
    registry: Registry
