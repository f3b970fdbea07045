"""Shared by every test: the Hypothesis profiles.

`ci` is the default: bounded and derandomised, so that a commit passes or fails for a reason that is
in the commit. `proof` searches anew each time, for longer; a failure prints the blob that repeats it.
LUCIUS_EXAMPLES scales either.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_CI_EXAMPLES = 60
_PROOF_EXAMPLES = 2_000


def _examples(default: int) -> int:
    """How many examples a property gets, unless its own settings say otherwise."""
    return int(os.environ.get("LUCIUS_EXAMPLES", default))


# No deadline in either: a slow machine is not a bug. Databases and processes are slow to draw from.
settings.register_profile(
    "ci",
    max_examples=_examples(_CI_EXAMPLES),
    stateful_step_count=30,
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "proof",
    max_examples=_examples(_PROOF_EXAMPLES),
    stateful_step_count=100,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
