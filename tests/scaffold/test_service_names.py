from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.errors import Invalid
from lucius.scaffold import Names, make, names_for


def test_other_names_follow_from_one() -> None:
    """One word on the command line names the folder, the package and the step type."""
    assert names_for("word-count") == Names(
        name="word-count",
        package="word_count",
        step_type="WORD_COUNT",
        description="The word-count service.",
    )


def test_step_type_and_description_can_be_said() -> None:
    """A team keeps the step type it has agreed on; a sentence ends in a full stop."""
    names = names_for("reader-2", step_type="OCR", description=" Reads what's there ")
    assert (names.step_type, names.description) == ("OCR", "Reads what's there.")


@pytest.mark.parametrize(
    "name",
    [
        "", "-", "a--b", "-a", "a-", "2day", "a b", "a/b", "..", "../up", "/etc", "a\nb", "a\x00b", "é",
        "a.b",
        "${HOME}", "{{ name }}", "{% raw %}", "a;rm", "a'b", 'a"b', "a\\b", "x" * 33, "x" * 10_000, "~",
        "class", "async", "match", "json", "asyncio", "test", "tests", "lucius", "pydantic", "ruamel-yaml",
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_used_is_refused(name: str, tmp_path: Path) -> None:
    """Nothing is written for a name that is no package, no folder, or somebody else's."""
    with pytest.raises(Invalid) as refused:
        make(name, tmp_path)
    assert refused.value.code == "BAD_NAME"
    assert len(refused.value.message) < 400
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["WordCount", "word_count", "Word Count", "word.count", " word-count"])
def test_a_name_that_is_nearly_right_is_corrected(name: str) -> None:
    """Whoever writes it another way is told how it is written."""
    with pytest.raises(Invalid, match=r"such as word-count\. Did you mean word-count\?$"):
        names_for(name)


@pytest.mark.parametrize("step_type", ["", "ocr", "2X", "A-B", "A B", "X" * 33, "{{ x }}", "A\n"])
def test_a_step_type_that_no_protocol_takes_is_refused(step_type: str) -> None:
    """The generated protocol would not load, so it is not generated."""
    with pytest.raises(Invalid) as refused:
        names_for("word-count", step_type=step_type)
    assert refused.value.code == "BAD_STEP_TYPE"


@pytest.mark.parametrize("description", ["", "  ", "a\nb", 'say "hi"', "back\\slash", "x" * 101, "\x1b[31m"])
def test_a_description_that_breaks_a_file_is_refused(description: str) -> None:
    """One sentence must stand in Python, TOML, YAML and Markdown alike."""
    with pytest.raises(Invalid) as refused:
        names_for("word-count", description=description)
    assert refused.value.code == "BAD_DESCRIPTION"


@given(st.one_of(st.text(max_size=40), st.from_regex(r"[a-z0-9-]{1,34}", fullmatch=True)))
def test_every_name_is_refused_or_works_everywhere(name: str) -> None:
    """Whatever is typed, no folder, package, step id or step type comes of it that is not one."""
    try:
        names = names_for(name)
    except Invalid as refused:
        assert refused.code == "BAD_NAME"  # noqa: PT017 - both ways are right
        return
    assert names.package.isidentifier()
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,31}", names.package)
    assert re.fullmatch(r"[A-Z][A-Z0-9_]{0,31}", names.step_type)
    assert Path(names.name).name == names.name
