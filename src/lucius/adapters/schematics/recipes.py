"""Protocol files: one recipe a file."""

from __future__ import annotations

import re

from lucius.adapters.schematics.reading import Document
from lucius.adapters.schematics.scalars import shown
from lucius.adapters.schematics.schemas import payload_schema
from lucius.adapters.schematics.section import Section
from lucius.core.pointer import child
from lucius.core.protocol import Protocol, StepRecipe
from lucius.ports.schematics import ConfigProblem, request_type_key

SECOND = 1_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR
MAX_STEPS = 32
MAX_ATTEMPTS = 20
MAX_BACKOFFS = 10
SHORTEST = 10

_REQUEST_TYPE = re.compile(r"[A-Z][A-Z0-9_]{0,62}")
_STEP_ID = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_STEP_TYPE = re.compile(r"[A-Z][A-Z0-9_]{0,31}")
_SERVICE = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_GROUP = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_DESCRIPTION = re.compile(r"(?s).{0,500}")

_PROTOCOL_KEYS = ("request_type", "version", "protocol_id", "description", "aliases", "deadline", "steps")
_STEP_KEYS = tuple(StepRecipe.__struct_fields__)
#: What a step is like whose file says nothing; only times, budgets and the jitter are read of it.
DEFAULTS = StepRecipe(step_id="", step_type="", service="")
#: A payload may have a section of this name beside those of the steps.
_RESERVED = frozenset({"common"})


def build_protocol(
    document: Document, problems: list[ConfigProblem], defaults: StepRecipe = DEFAULTS
) -> Protocol:
    """The recipe in a file; worth something only if no problem was added."""
    top = Section(document, problems)
    top.only(*_PROTOCOL_KEYS, required=("request_type", "version", "steps"))
    request_type = _request_type(top)
    deadline = top.span("deadline", 0, SECOND, 30 * DAY)
    return Protocol(
        request_type=request_type,
        protocol_id=top.text(
            "protocol_id",
            request_type.lower(),
            pattern=_ID,
            form="write up to 63 letters, digits, dots, dashes",
        ),
        version=_version(top),
        description=top.text("description", pattern=_DESCRIPTION, form="write at most 500 characters"),
        aliases=_aliases(top),
        deadline=deadline or None,
        steps=_steps(top, defaults),
    )


def _request_type(top: Section) -> str:
    written = top.text("request_type")
    key = request_type_key(written)
    if "request_type" in top and written and not _REQUEST_TYPE.fullmatch(key):
        top.wrong(
            "request_type", f"is {shown(written)}", "write a name such as OCR_EMBEDDING, up to 63 characters"
        )
    elif "request_type" in top and top.values["request_type"] == "":
        top.wrong("request_type", 'is ""', "write a name such as OCR_EMBEDDING")
    return key


def _version(top: Section) -> str:
    value = top.values.get("version")
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return str(value)
    return top.text("version", pattern=_VERSION, form='write a version such as 1 or "2.1" (in quotes)')


def _aliases(top: Section) -> tuple[str, ...]:
    written = top.texts("aliases", (), re.compile(r"(?s).{1,200}"), "write names such as INVOICE")
    keys = tuple(request_type_key(one) for one in written)
    for at, key in enumerate(keys):
        if not _REQUEST_TYPE.fullmatch(key):
            pointer = child(child(top.pointer, "aliases"), at)
            message, remedy = f"is {shown(written[at])}", "write a name such as OCR_EMBEDDING"
            top.problems.append(top.document.problem(pointer, message, remedy))
    return tuple(dict.fromkeys(keys))


def _steps(top: Section, defaults: StepRecipe) -> tuple[StepRecipe, ...]:
    held = top.values.get("steps")
    if "steps" in top and (not isinstance(held, list) or not 1 <= len(held) <= MAX_STEPS):
        size = f" of {len(held)}" if isinstance(held, list) else ""
        top.wrong("steps", f"is {shown(held)}{size}", f"write a list of 1 to {MAX_STEPS} steps")
        return ()
    sections = [section for _, section in top.sections("steps")]
    steps = tuple(_step(section, defaults) for section in sections)
    _check_ids(sections, steps)
    _check_groups(sections, steps)
    return steps


def _step(step: Section, defaults: StepRecipe) -> StepRecipe:
    step.only(*_STEP_KEYS, required=("step_id", "step_type", "service"))
    waits = {
        name: step.spans(name, getattr(defaults, name), SHORTEST, DAY, MAX_BACKOFFS)
        for name in ("publish_backoff", "ack_backoff", "execution_backoff")
    }
    return StepRecipe(
        step_id=step.text(
            "step_id", pattern=_STEP_ID, form="write 1 to 32 of a-z 0-9 _ - starting with a letter"
        ),
        step_type=step.text(
            "step_type", pattern=_STEP_TYPE, form="write 1 to 32 of A-Z 0-9 _ starting with a letter"
        ),
        service=step.text("service", pattern=_SERVICE, form="write a service name such as ocr-service"),
        payload_schema=payload_schema(step, "payload_schema"),
        group=step.text("group", pattern=_GROUP, form="write 1 to 32 of a-z 0-9 _ -, or leave it out")
        or None,
        ack_timeout=step.span("ack_timeout", defaults.ack_timeout, SHORTEST, HOUR),
        lease=step.span("lease", defaults.lease, SHORTEST, 7 * DAY),
        dispatch_deadline=step.span("dispatch_deadline", defaults.dispatch_deadline, SHORTEST, 7 * DAY),
        max_dispatch_attempts=step.whole(
            "max_dispatch_attempts", defaults.max_dispatch_attempts, 1, MAX_ATTEMPTS
        ),
        max_execution_attempts=step.whole(
            "max_execution_attempts", defaults.max_execution_attempts, 1, MAX_ATTEMPTS
        ),
        jitter=step.share("jitter", defaults.jitter),
        **waits,
    )


def _check_ids(sections: list[Section], steps: tuple[StepRecipe, ...]) -> None:
    seen: dict[str, int] = {}
    for at, (section, step) in enumerate(zip(sections, steps, strict=True)):
        if step.step_id in _RESERVED:
            section.wrong("step_id", f'"{step.step_id}" is reserved', "choose another id")
        elif step.step_id and step.step_id in seen:
            message = f'"{step.step_id}" is already the id of step {seen[step.step_id] + 1}'
            section.wrong("step_id", message, "give each step an id of its own")
        seen.setdefault(step.step_id, at)


def _check_groups(sections: list[Section], steps: tuple[StepRecipe, ...]) -> None:
    """Steps of a group run side by side, so they must be neighbours."""
    closed: set[str] = set()
    previous: str | None = None
    for section, step in zip(sections, steps, strict=True):
        if previous is not None and step.group != previous:
            closed.add(previous)
        if step.group in closed:
            message = f'group "{step.group}" was already closed by a step outside it'
            section.wrong("group", message, "put the steps of a group next to each other")
        previous = step.group
