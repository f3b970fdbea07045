"""Prompt sets that lie in files: those shipped, and those of the operator's directory.

A set is read when it is asked for, so a changed file counts from the next step on. How it fails: a name that
nobody knows ends the job (`UNKNOWN_PROMPT_SET`, with the names there are); a file that is no prompt set ends
it too (`BROKEN_PROMPT_SET`) and makes the service unready.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from lucius.sdk.serving.outcomes import Final
from lucius.services.sis.prompts import PromptSet, prompt_set


def places(directory: Path | None) -> dict[str, Traversable]:
    """Where each stored set lies, by name."""
    found: dict[str, Traversable] = {}
    own = [directory] if directory is not None and directory.is_dir() else []
    for room in [files("lucius.services.sis") / "prompt_sets", *own]:
        for file in room.iterdir():
            name, dot, ending = file.name.rpartition(".")
            if dot and ending in {"yaml", "yml"} and file.is_file():
                found[name] = file
    return found


def stored(name: str, directory: Path | None) -> PromptSet:
    """A stored set by its name."""
    known = places(directory)
    if name not in known:
        there = ", ".join(sorted(known))
        raise Final("UNKNOWN_PROMPT_SET", f"There is no prompt set {name[:100]!r}; there are: {there}.")
    try:
        read = YAML(typ="safe", pure=True).load(known[name].read_text(encoding="utf-8"))
        return prompt_set(read, name=name)
    except (YAMLError, ValueError, OSError) as error:
        said = " ".join(str(error).split())[:300]
        raise Final("BROKEN_PROMPT_SET", f"The stored prompt set {name!r} cannot be read: {said}.") from None
