import re
from pathlib import Path

from lucius.adapters.schematics.assemble import assemble

PAGE = Path(__file__).parents[2] / "docs" / "protocols.md"


def examples():
    """The YAML blocks of the reference page by the file name in their first line."""
    blocks = re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return {name: f"# {name}\n{text}".encode() for name, text in blocks}


def test_the_examples_of_the_reference_page_are_good():
    """What people copy from docs/protocols.md works as it stands."""
    catalogue, problems = assemble(examples(), 0)
    assert problems == []
    invoice = catalogue.protocol("bill")
    assert invoice is not None
    assert [step.group for step in invoice.steps] == [None, "after-ocr", "after-ocr"]
    assert catalogue.limits("acme").tenant_jobs == 500


def test_the_error_on_the_reference_page_is_the_one_people_see():
    """The page shows messages in the words Lucius uses."""
    files = examples()
    files["protocols/invoice.yaml"] = files["protocols/invoice.yaml"].replace(b"20m", b"20 minutes")
    files["tenants.yaml"] = files["tenants.yaml"].replace(b"enabled: true ", b"enabeld: true ")
    _, problems = assemble(files, 0)
    page = PAGE.read_text(encoding="utf-8")
    assert len(problems) == 2
    for problem in problems:
        assert f"  {problem}\n" in page
