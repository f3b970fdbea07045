import pytest

from lucius.adapters.schematics.assemble import assemble
from lucius.core.admission import Limits
from lucius.core.protocol import Protocol, StepRecipe
from lucius.core.refs import check_ref
from lucius.core.routing import route

GOOD = """\
request_type: invoice -> report
version: 3
protocol_id: invoice-report
description: Read an invoice.
aliases: [Bill Report]
deadline: 2h
steps:
  - step_id: ocr
    step_type: OCR
    service: ocr-service
    ack_timeout: 10
    lease: 20m
    dispatch_deadline: 3h
    max_dispatch_attempts: 5
    max_execution_attempts: 1
    publish_backoff: [1s]
    ack_backoff: [1s, 2m]
    execution_backoff: [0.5, 1h]
    jitter: 0
    payload_schema: {type: object, required: [language]}
  - {step_id: left, step_type: LEFT, service: left, group: both}
  - {step_id: right, step_type: RIGHT, service: right, group: both}
"""


def load(**files):
    """Assemble files given by stem: `lucius`, `tenants`, and protocols by any other name."""
    named = {
        f"{stem}.yaml" if stem in {"lucius", "tenants"} else f"protocols/{stem}.yaml": text.encode()
        for stem, text in files.items()
    }
    return assemble(named, 5)


def problems(**files):
    """What is wrong with these files."""
    return load(**files)[1]


def test_a_protocol_file_becomes_its_record():
    """Every field of a protocol and its steps can be set from the file, times in milliseconds."""
    catalogue, wrong = load(a=GOOD)
    assert wrong == []
    assert catalogue.loaded_at == 5
    assert catalogue.protocol("INVOICE→REPORT") is catalogue.protocol("bill_report")
    assert catalogue.protocols() == (
        Protocol(
            protocol_id="invoice-report",
            version="3",
            request_type="INVOICE_REPORT",
            aliases=("BILL_REPORT",),
            description="Read an invoice.",
            deadline=7_200_000,
            steps=(
                StepRecipe(
                    step_id="ocr",
                    step_type="OCR",
                    service="ocr-service",
                    payload_schema={"type": "object", "required": ["language"]},
                    ack_timeout=10_000,
                    lease=1_200_000,
                    dispatch_deadline=10_800_000,
                    max_dispatch_attempts=5,
                    max_execution_attempts=1,
                    publish_backoff=(1_000,),
                    ack_backoff=(1_000, 120_000),
                    execution_backoff=(500, 3_600_000),
                    jitter=0.0,
                ),
                StepRecipe(step_id="left", step_type="LEFT", service="left", group="both"),
                StepRecipe(step_id="right", step_type="RIGHT", service="right", group="both"),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("old", "new", "pointer", "line", "said"),
    [
        ("version: 3", "version: 3.1", "/version", 2, "is 3.1"),
        ("version: 3\n", "", "", 1, '"version" is missing'),
        ("invoice -> report", "'1st'", "/request_type", 1, 'is "1st"'),
        ("invoice -> report", "ﬀ", "/request_type", 1, "is"),
        ("invoice -> report", "''", "/request_type", 1, 'is ""'),
        ("[Bill Report]", "[B!]", "/aliases/0", 5, 'is "B!"'),
        ("[Bill Report]", "BILL", "/aliases", 5, 'is "BILL"'),
        ("deadline: 2h", "deadline: 2 hours", "/deadline", 6, '"2 hours" is not a duration'),
        ("deadline: 2h", "deadline: 90d", "/deadline", 6, 'is "90d"'),
        ("step_id: ocr", "step_id: OCR", "/steps/0/step_id", 8, 'is "OCR"'),
        ("step_id: ocr", "step_id: common", "/steps/0/step_id", 8, "is reserved"),
        ("step_id: left", "step_id: ocr", "/steps/1/step_id", 21, "already the id of step 1"),
        ("step_type: OCR", "step_type: ocr", "/steps/0/step_type", 9, 'is "ocr"'),
        ("    service: ocr-service\n", "", "/steps/0", 8, '"service" is missing'),
        ("lease: 20m", "lease: 0", "/steps/0/lease", 12, "is 0"),
        ("lease: 20m", "leese: 20m", "/steps/0/leese", 12, '"leese" is not a known key'),
        (
            "max_dispatch_attempts: 5",
            "max_dispatch_attempts: 0",
            "/steps/0/max_dispatch_attempts",
            14,
            "is 0",
        ),
        (
            "max_execution_attempts: 1",
            "max_execution_attempts: true",
            "/steps/0/max_execution_attempts",
            15,
            "is true",
        ),
        ("[1s]", "[]", "/steps/0/publish_backoff", 16, "is a list of 0"),
        ("[1s, 2m]", "[1s, soon]", "/steps/0/ack_backoff/1", 17, '"soon" is not a duration'),
        ("jitter: 0", "jitter: 1.5", "/steps/0/jitter", 19, "is 1.5"),
        ("{type: object, required: [language]}", "[]", "/steps/0/payload_schema", 20, "is a list"),
        ("type: object", "type: objekt", "/steps/0/payload_schema/type", 20, '"objekt" is not valid'),
        ("type: object", "$ref: 'http://x.example/s'", "/steps/0/payload_schema/$ref", 20, "points outside"),
        (
            "type: object",
            "allOf: [{$ref: other.json}]",
            "/steps/0/payload_schema/allOf/0/$ref",
            20,
            "outside",
        ),
        ("type: object", "$ref: '#/$defs/x'", "/steps/0/payload_schema", 20, "does not exist"),
        ("type: object", "pattern: '(?=a)b'", "/steps/0/payload_schema/pattern", 20, "regex"),
        ("type: object", "$schema: 'http://x.example/s'", "/steps/0/payload_schema", 20, "meta-schema"),
        (
            "group: both}\n  - {",
            "group: both}\n  - {step_id: mid, step_type: M, service: m}\n  - {",
            "/steps/3/group",
            23,
            "closed",
        ),
    ],
)
def test_what_is_wrong_with_a_protocol_is_told_with_its_place(old, new, pointer, line, said):
    """Each mistake gives one problem: its line, its pointer, what is wrong, and a remedy."""
    assert old in GOOD
    [problem] = problems(a=GOOD.replace(old, new, 1))
    assert (problem.file, problem.pointer, problem.line) == ("protocols/a.yaml", pointer, line)
    assert said in problem.message
    assert problem.remedy


@pytest.mark.parametrize("count", [0, 33])
def test_a_protocol_has_1_to_32_steps(count):
    """No steps and too many are refused; the bound itself is not."""
    step = "  - {{step_id: s{0}, step_type: S, service: s}}\n"
    head = "request_type: A\nversion: 1\nsteps:"
    assert problems(a=head + "\n" + "".join(step.format(at) for at in range(32))) == []
    text = head + ("\n" + "".join(step.format(at) for at in range(count)) if count else " []")
    [problem] = problems(a=text)
    assert problem.message == f"is a list of {count}"


def test_a_large_schema_is_refused():
    """A schema is paid for in each job's snapshot, so its size is bounded."""
    words = ", ".join(f"word{at:05d}" for at in range(4_000))
    [problem] = problems(a=GOOD.replace("type: object", f"enum: [{words}]"))
    assert "the schema has" in problem.message


def test_schema_data_is_not_taken_for_references():
    """`$ref` as a property name or inside constants is data."""
    schema = "properties: {$ref: {type: string}, b: {const: {$ref: 'http://x.example'}}}"
    assert problems(a=GOOD.replace("type: object", schema)) == []


def test_names_belong_to_one_protocol():
    """Two files for a request type, or an alias that is taken, are refused at the second."""
    [problem] = problems(a=GOOD, b=GOOD.replace("Bill Report", "other"))
    assert problem.message == "INVOICE_REPORT is already described by protocols/a.yaml"
    [problem] = problems(
        a=GOOD, b=GOOD.replace("invoice -> report", "bill_report").replace("Bill Report", "other")
    )
    assert (problem.file, problem.pointer) == ("protocols/a.yaml", "/aliases/0")


def test_every_problem_of_every_file_is_found_in_one_pass():
    """A mistake does not hide the next one, in the same file or another."""
    found = problems(
        a=GOOD.replace("lease: 20m", "lease: x").replace("jitter: 0", "jitter: x"),
        lucius="a: 1",
        tenants="- 1",
    )
    assert [(one.file, one.line) for one in found] == [
        ("lucius.yaml", 1),
        ("protocols/a.yaml", 12),
        ("protocols/a.yaml", 19),
        ("tenants.yaml", 1),
    ]


GENERAL = """\
default_mode: SAFE
burst_allowed: false
two_grids: true
limits: {system_jobs: 1000, tenant_jobs: 50, retry_after: 9}
refs:
  {schemes: [s3, https], hosts: ["*.example.com", "s3://docs-*"], prefixes: ["/{tenant}"], file_root: /srv/in}
"""
TENANTS = """\
tenants:
  acme:
    burst_allowed: true
    mode: burst
    limits: {tenant_jobs: null, tenant_burst_jobs: 7}
    refs: {schemes: [s3], prefixes: []}
  closed: {enabled: false}
"""


def test_tenants_stand_on_the_general_settings():
    """A tenant has what its entry says, the rest from `lucius.yaml`; an unlisted one has the latter."""
    catalogue, wrong = load(lucius=GENERAL, tenants=TENANTS)
    assert wrong == []
    acme, closed, other = (catalogue.tenant(name) for name in ("acme", "closed", "other"))
    assert acme.limits == Limits(system_jobs=1000, tenant_jobs=None, tenant_burst_jobs=7, retry_after=9)
    assert (
        catalogue.limits("other") == other.limits == Limits(system_jobs=1000, tenant_jobs=50, retry_after=9)
    )
    assert (acme.mode, acme.burst_allowed) == ("BURST", True)
    assert (closed.enabled, closed.mode, closed.burst_allowed) == (False, None, False)
    assert (other.tenant_id, other.enabled) == ("other", True)
    assert (catalogue.default_mode, catalogue.two_grids) == ("DEFAULT", True)


def test_the_core_takes_the_policies_as_they_are():
    """Routing and reference checks follow the catalogue's policies, general and by tenant."""
    catalogue, _ = load(lucius=GENERAL, tenants=TENANTS)
    chosen = route(tenant_id="acme", doc_id="d", requested=None, policy=catalogue.routing)
    assert (chosen.mode, chosen.decision_source) == ("BURST", "TENANT_CONFIG")
    ref = {"uri": "s3://docs-1/x"}
    assert check_ref(ref, catalogue.ref_policy, "acme", "") == []
    assert [one.code for one in check_ref(ref, catalogue.ref_policy, "other", "")] == ["REF_PATH_NOT_ALLOWED"]
    assert check_ref({"uri": "file:///srv/in/a.pdf"}, catalogue.ref_policy, "other", "") == []


@pytest.mark.parametrize(
    ("old", "new", "pointer", "said"),
    [
        ("acme:", "Acme:", "/tenants/Acme", '"Acme" is not a tenant id'),
        ("mode: burst", "mode: fast", "/tenants/acme/mode", 'is "fast"'),
        ("burst_allowed: true", "burst_allowed: yes", "/tenants/acme/burst_allowed", 'is "yes"'),
        ("burst_allowed: true", "burst_allowed: false", "/tenants/acme/mode", "not allowed"),
        ("tenant_burst_jobs", "system_jobs", "/tenants/acme/limits/system_jobs", "not a known key"),
        ("[s3]", "[ftp]", "/tenants/acme/refs/schemes/0", 'is "ftp"'),
        ("prefixes: []", "prefixes: [/a/../b]", "/tenants/acme/refs/prefixes/0", "is"),
        ("{enabled: false}", "7", "/tenants/closed", "is 7"),
    ],
)
def test_what_is_wrong_with_a_tenant_is_told_with_its_place(old, new, pointer, said):
    """Tenant settings are as strict as protocols."""
    [problem] = problems(tenants=TENANTS.replace(old, new, 1))
    assert problem.pointer == pointer
    assert said in problem.message
