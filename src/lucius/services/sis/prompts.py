"""Prompts: questions, patterns and kinds of values, as a payload or a stored set gives them.

All sizes are bounded here, because a prompt set may come from anybody who may submit a job.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Kind = Literal["summary", "amount", "date", "email", "iban", "number", "percentage", "phone", "time", "url"]
KINDS: tuple[str, ...] = get_args(Kind)
Pattern = Annotated[str, Field(min_length=1, max_length=500)]


class Prompt(BaseModel):
    """One thing to find out. At least one of question, pattern(s) and kind must be given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(default="", max_length=100)
    question: str = Field(default="", max_length=2000)
    """What to look for, in words: picks the chunks that are looked at."""
    pattern: Pattern | None = None
    """A regular expression; its group `value`, else its first group that took part, is the answer."""
    patterns: tuple[Pattern, ...] = Field(default=(), max_length=20)
    kind: Kind | None = None
    """A kind of value to pick out where no pattern fits; `summary`: the most central sentences."""
    top: int | None = Field(default=None, ge=1, le=50)
    """How many chunks to look at (3); of a summary, how many sentences (5)."""
    take: Literal["all", "one"] = "all"
    """All values that were found, or the one that stands nearest to the question's words."""

    @model_validator(mode="after")
    def _asks(self) -> Self:
        if not (self.question.strip() or self.kind or self.expressions):
            raise ValueError("a prompt needs a question, a pattern or a kind")
        return self

    @property
    def expressions(self) -> tuple[str, ...]:
        """All patterns, in the order they are tried."""
        return ((self.pattern,) if self.pattern else ()) + self.patterns


class PromptSet(BaseModel):
    """Prompts that are answered together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default="inline", max_length=200)
    description: str = Field(default="", max_length=2000)
    prompts: tuple[Prompt, ...] = Field(min_length=1, max_length=200)


def prompt_set(given: Any, *, name: str | None = None) -> PromptSet:
    """A prompt set from a list of prompts or an object; `ValueError` says what is wrong with it."""
    body = {"prompts": given} if isinstance(given, list) else given
    if not isinstance(body, dict):
        raise ValueError("a prompt set is a name, a list of prompts, or an object with prompts")  # noqa: TRY004
    prompts = body.get("prompts")
    if not isinstance(prompts, list):
        raise ValueError("prompts: a list of prompts is missing")  # noqa: TRY004 - pydantic reads ValueError
    spelled = [{"question": each} if isinstance(each, str) else each for each in prompts[:201]]
    try:
        read = PromptSet.model_validate({**body, "prompts": spelled})
    except ValidationError as error:
        told = (f"{'/'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:3])
        raise ValueError("; ".join(told)) from None
    return read.model_copy(update={"name": name or read.name, "prompts": _named(read.prompts)})


def _named(prompts: tuple[Prompt, ...]) -> tuple[Prompt, ...]:
    """Every prompt with an id of its own."""
    taken = {each.id for each in prompts}
    if len(taken - {""}) < sum(1 for each in prompts if each.id):
        raise ValueError("prompts: two prompts have the same id")
    named: list[Prompt] = []
    for number, each in enumerate(prompts, start=1):
        fresh = f"q{number}"
        while not each.id and fresh in taken:
            fresh += "_"
        named.append(each if each.id else each.model_copy(update={"id": fresh}))
    return tuple(named)
