"""Stores do not inherit from the port; the functions below bind them, and mypy proves it."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import pytest

from lucius.sdk.attempts.azure_table import AzureTableAttempts
from lucius.sdk.attempts.objects import ObjectAttempts
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.ports import Attempts


def attempts_sqlite(adapter: SqliteAttempts) -> Attempts:
    """A file."""
    return adapter


def attempts_azure_table(adapter: AzureTableAttempts) -> Attempts:
    """A table."""
    return adapter


def attempts_objects(adapter: ObjectAttempts) -> Attempts:
    """Objects."""
    return adapter


BINDINGS: list[Callable[[Any], Attempts]] = [attempts_sqlite, attempts_azure_table, attempts_objects]


@pytest.mark.parametrize("binding", BINDINGS, ids=lambda binding: binding.__name__)
def test_stores_take_what_the_port_says(binding: Callable[[Any], Attempts]) -> None:
    """A caller that knows only the port can call the store, by position or by name."""
    adapter = typing.get_type_hints(binding)["adapter"]
    assert Attempts not in adapter.__mro__
    verbs = [verb for verb, _ in inspect.getmembers(Attempts, inspect.isfunction) if verb[0] != "_"]
    assert len(verbs) == 7
    for verb in verbs:
        given, asked = getattr(adapter, verb), getattr(Attempts, verb)
        assert inspect.signature(given) == inspect.signature(asked), verb
        assert inspect.iscoroutinefunction(given), verb
