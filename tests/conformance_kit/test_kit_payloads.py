from __future__ import annotations

from typing import Any, Literal

import pydantic
import pytest

from lucius.conformance import payloads
from lucius.conformance.payloads import Accepts


class Inner(pydantic.BaseModel):
    """A part of a payload."""

    unit: Literal["page", "line"]


class Demanding(pydantic.BaseModel):
    """A payload with required fields of several kinds."""

    model_config = pydantic.ConfigDict(extra="forbid")
    language: str = pydantic.Field(min_length=2)
    size: int = pydantic.Field(ge=64)
    inner: Inner
    note: str | None = None


class Lenient(pydantic.BaseModel):
    """A payload whose only field is optional."""

    dpi: int = 300


def judge(model: Any) -> tuple[dict[str, Any], Accepts]:
    """The schema of a model, and whether it takes a payload."""
    adapter = pydantic.TypeAdapter(model)

    def accepts(payload: dict[str, Any]) -> bool:
        try:
            adapter.validate_python(payload)
        except pydantic.ValidationError:
            return False
        return True

    return adapter.json_schema(), accepts


@pytest.mark.parametrize("model", [Demanding, Lenient])
def test_examples_are_found_for_a_model(model: Any) -> None:
    """One payload that the model takes, and one that it refuses."""
    schema, accepts = judge(model)
    good, bad = payloads.good(schema, accepts), payloads.bad(schema, accepts)
    assert good is not None
    assert accepts(good)
    assert bad is not None
    assert not accepts(bad)


def test_a_service_that_takes_everything_has_no_bad_payload() -> None:
    """Nothing is made up: then the case is passed over as `--any-payload` says."""
    schema, accepts = judge(dict[str, Any])
    assert payloads.good(schema, accepts) == {}
    assert payloads.bad(schema, accepts) is None
