"""A run as JUnit XML, which every CI shows."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from lucius.conformance.findings import Finding, Report
from lucius.errors import Invalid


def document(report: Report) -> bytes:
    """The XML of a run; a case that was not judged counts as skipped."""
    suite = ET.Element(
        "testsuite",
        name=f"lucius conformance {report.step_type}",
        tests=str(len(report.findings)),
        failures=str(report.count("failed")),
        errors="0",
        skipped=str(report.count("not judged")),
        time=f"{sum(one.seconds for one in report.findings):.3f}",
    )
    for finding in report.findings:
        _add(suite, finding)
    ET.indent(suite)
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"


def write(report: Report, path: Path) -> None:
    """The XML in a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(document(report))
    except OSError as error:
        raise Invalid(
            f"The file {path} cannot be written: {error.strerror}.", code="FILE_UNREADABLE"
        ) from error


def _add(suite: ET.Element, finding: Finding) -> None:
    case = ET.SubElement(
        suite, "testcase", classname="conformance", name=f"{finding.case}: {finding.title}",
        time=f"{finding.seconds:.3f}",
    )  # fmt: skip
    if finding.verdict == "failed":
        told = ET.SubElement(case, "failure", message=_plain(finding.remark))
        told.text = _plain(f"{finding.remark}\n{finding.why}")
        if finding.log:
            ET.SubElement(case, "system-out").text = _plain(finding.log)
    elif finding.verdict == "not judged":
        ET.SubElement(case, "skipped", message=_plain(finding.remark))


def _plain(text: str) -> str:
    """Without what XML cannot say."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text)
