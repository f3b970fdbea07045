import pytest

from lucius.adapters.schematics.files import FileSchematics
from lucius.core.protocol import StepRecipe
from lucius.wire.schemas import SchemaValidator

STEPS = {
    "OCR": ["ocr"],
    "EMBEDDING": ["embedding"],
    "SIS": ["sis"],
    "OCR_EMBEDDING": ["ocr", "embedding"],
    "OCR_EMBEDDING_SIS": ["ocr", "embedding", "sis"],
    "EMBEDDING_SIS": ["embedding", "sis"],
}


@pytest.fixture(scope="module")
def catalogue():
    """What Lucius knows without configuration."""
    return FileSchematics(None, clock=lambda: 0).current()


def test_the_shipped_protocols_have_the_steps_of_their_names(catalogue):
    """Six protocols, their steps in the order their names say, each with its own service."""
    assert {one.request_type: [step.step_id for step in one.steps] for one in catalogue.protocols()} == STEPS
    for one in catalogue.protocols():
        for step in one.steps:
            assert (step.step_type, step.service) == (step.step_id.upper(), f"{step.step_id}-service")


def test_the_shipped_protocols_keep_the_built_in_times(catalogue):
    """Nothing but ids, service and schema differs from the defaults."""
    for one in catalogue.protocols():
        for step in one.steps:
            assert step == StepRecipe(
                step_id=step.step_id,
                step_type=step.step_type,
                service=step.service,
                payload_schema=step.payload_schema,
            )


def test_a_step_has_one_schema_in_every_protocol(catalogue):
    """What `ocr` takes does not depend on what comes after it."""
    schemas: dict[str, list[object]] = {}
    for one in catalogue.protocols():
        for step in one.steps:
            schemas.setdefault(step.step_id, []).append(step.payload_schema)
    assert all(each == held[0] for held in schemas.values() for each in held)


@pytest.mark.parametrize(
    ("step_id", "section", "good"),
    [
        ("ocr", {}, True),
        ("ocr", {"language": "en", "pages": "1-3,7", "echo": {"delay": 1}}, True),
        ("ocr", {"language": ["en", "de"], "pages": [1, 2]}, True),
        ("ocr", {"pages": "all of them"}, False),
        ("ocr", {"language": 7}, False),
        ("embedding", {"model": "m", "chunk_size": 512, "chunk_overlap": 64, "echo": {}}, True),
        ("embedding", {"chunk_size": 0}, False),
        ("sis", {"prompt_set": "summary"}, True),
        ("sis", {"prompt_set": ["Who?", "When?"], "anything": True}, True),
        ("sis", {"prompt_set": 7}, False),
    ],
)
def test_the_shipped_schemas_take_what_services_understand(catalogue, step_id, section, good):
    """Known fields are checked, unknown ones pass through."""
    schema = catalogue.protocol(step_id).steps[0].payload_schema
    assert (SchemaValidator().problems(schema, section) == []) is good
