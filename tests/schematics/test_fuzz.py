import copy
import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lucius.adapters.schematics.assemble import assemble
from lucius.adapters.schematics.reading import read_document
from tests.schematics.test_configuration import GENERAL, GOOD, TENANTS
from tests.schematics.test_reading import VALUES

FILES = (("protocols/a", GOOD), ("tenants", TENANTS), ("lucius", GENERAL))
NAMES = ("protocols/a.yaml", "protocols/a.json", "tenants.yaml", "lucius.yaml")
RAW = st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
MARKS = "&a |*a|!!x |<<: |? |- |: |\t|{|[|}|]|'|\"|>-\n|---\n|%YAML 1.1\n|null|true|.inf|1e999|~|#|\n|\r"
PIECES = st.sampled_from(MARKS.split("|")) | st.text(
    st.characters(min_codepoint=32, max_codepoint=126), max_size=8
)


@st.composite
def edited(draw):
    """A good file after a few cuts, insertions and repeats."""
    name, text = draw(st.sampled_from(FILES))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 30)))
        text = text[:start] + draw(PIECES | st.just(text[start:end] * 2)) + text[end:]
    return f"{name}.yaml", text.encode()


@st.composite
def altered(draw):
    """A good file's value with one part replaced by any JSON value."""
    name, text = draw(st.sampled_from(FILES))
    value = copy.deepcopy(read_document(f"{name}.yaml", text.encode()).value)
    spots = []
    waiting = [value]
    while waiting:
        held = waiting.pop()
        keys = list(held) if isinstance(held, dict) else range(len(held)) if isinstance(held, list) else ()
        spots += [(held, key) for key in keys]
        waiting += [held[key] for key in keys]
    held, key = draw(st.sampled_from(spots))
    held[key] = draw(VALUES)
    return f"{name}.json", json.dumps(value, indent=1).encode()


def judge(name, raw):
    """Assemble one file; each problem must say where it is, what is wrong and what would be right."""
    catalogue, problems = assemble({name: raw}, 0)
    ends = sum(raw.count(end.encode()) for end in ("\n", "\r", "\x85", "\u2028", "\u2029"))
    for problem in problems:
        assert problem.file == name
        assert 1 <= problem.line <= ends + 1
        assert problem.column >= 1
        assert problem.message
        assert problem.remedy
        assert str(problem).isprintable()
    for recipe in () if problems else catalogue.protocols():
        assert 1 <= len(recipe.steps) <= 32
        assert len({step.step_id for step in recipe.steps}) == len(recipe.steps)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(NAMES), RAW)
@example("tenants.yaml", b"tenants: {a: {refs: {prefixes: [/" + b"a" * 3000 + b"!/../]}}}")
def test_any_bytes_give_a_catalogue_or_located_problems(name, raw):
    """Whatever bytes a file holds, reading it ends with a value, never with a crash."""
    judge(name, raw)


@settings(max_examples=150, deadline=None)
@given(edited())
def test_a_carelessly_edited_file_gives_a_catalogue_or_located_problems(file):
    """A good file after careless edits is either still right or told where it is wrong."""
    judge(*file)


@settings(max_examples=150, deadline=None)
@given(altered())
def test_any_value_anywhere_gives_a_catalogue_or_located_problems(file):
    """No field crashes on a value of a wrong type or size."""
    judge(*file)
