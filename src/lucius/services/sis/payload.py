"""What SIS can be asked for."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from lucius.services.sis.prompts import PromptSet, prompt_set


class SisPayload(BaseModel):
    """The prompts, and how a model is to answer if there is one. Fields it does not know are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    prompt_set: str | PromptSet = Field(default="summary")
    """The name of a stored set, a list of prompts (texts or objects), or an object with `prompts`."""
    model: str | None = Field(default=None, min_length=1, max_length=200)
    """The model to ask; `document`: none, even if there is an endpoint."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)

    @field_validator("prompt_set", mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if isinstance(given, str):
            if not 1 <= len(given) <= 200:  # noqa: PLR2004 - as the schema says
                raise ValueError("the name of a prompt set has 1 to 200 characters")
            return given
        return prompt_set(given)
