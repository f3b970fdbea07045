from __future__ import annotations

import pytest

from lucius.conformance.cases import CASES
from lucius.conformance.findings import Report
from tests.conformance_kit.kits import IMPATIENT, Trial, judged
from tests.conformance_kit.sins import SINS


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    """Every wrong service, tried by the case that is meant for it."""
    trials = [
        Trial(name=sin, environment={"SIN": sin}, options=IMPATIENT, only=(case,))
        for sin, (case, _) in SINS.items()
    ]
    return judged(trials, tmp_path_factory.mktemp("wrong"), at_once=6)


@pytest.mark.parametrize("sin", SINS)
def test_a_wrong_service_is_caught(reports: dict[str, Report], sin: str) -> None:
    """The case that is meant for a fault finds it, and says what it saw."""
    case, words = SINS[sin]
    (finding,) = reports[sin].findings
    assert (finding.case, finding.verdict) == (case, "failed")
    assert words in finding.remark


def test_every_case_has_caught_somebody() -> None:
    """A case that no wrong service fails would be a case that cannot fail."""
    assert {case for case, _ in SINS.values()} == {case.name for case in CASES}
