"""Fixtures for the credential tests."""

from __future__ import annotations

import pytest

from lucius.testing.forgeries import Issuer
from tests.security.builders import Clock, the_issuer


@pytest.fixture
def clock() -> Clock:
    """A clock at a fixed moment."""
    return Clock()


@pytest.fixture
def issuer() -> Issuer:
    """The issuer all tests share."""
    return the_issuer()
