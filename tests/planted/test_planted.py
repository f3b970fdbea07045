"""Our own tests are tested: every planted bug must be noticed, and the code without one must pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import lucius
from tests.cores import share
from tests.planted.catalogue import CATALOGUE, SIMULATION, Plant
from tests.planted.lifebook_catalogue import LIFEBOOK, LIFEBOOK_CATALOGUE
from tests.planted.sdk_catalogue import SCHEDULES, SDK_CATALOGUE
from tests.planted.temporal_catalogue import TEMPORAL, TEMPORAL_CATALOGUE

SOURCE = Path(lucius.__file__).parent
ROOT = Path(__file__).parents[2]
LONGEST = 120.0
#: One for each trap of the temporal engine and of lifebook runs in every run, all of them at length.
FIRST = tuple(
    plant
    for catalogue in (TEMPORAL_CATALOGUE, LIFEBOOK_CATALOGUE)
    for plant in {plant.trap: plant for plant in reversed(catalogue)}.values()
)
OTHERS = tuple(plant for plant in TEMPORAL_CATALOGUE + LIFEBOOK_CATALOGUE if plant not in FIRST)
PLANTS = CATALOGUE + SDK_CATALOGUE + FIRST
SURROUNDINGS = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "LUCIUS_TEST_PATIENCE": "8",
    # only what the named tests need: the other plugins take longer to load than most of those tests to run
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_PLUGINS": "pytest_asyncio.plugin",
}


def noticed(plant: Plant | None, directory: Path, command: tuple[str, ...]) -> tuple[bool, str]:
    """Run what should notice on a copy of the code that has the bug; whether it did, and its last words."""
    tree = directory / "lucius"
    shutil.copytree(SOURCE, tree, ignore=shutil.ignore_patterns("__pycache__"))
    if plant is not None:
        file = tree / plant.file
        text = file.read_text()
        assert text.count(plant.old) == 1, f"{plant.file} no longer has this once: {plant.old!r}"
        file.write_text(text.replace(plant.old, plant.new))
    ended = subprocess.run(
        [sys.executable, *command],
        check=False,
        cwd=ROOT,
        env=os.environ | SURROUNDINGS | {"PYTHONPATH": str(directory)},
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    shutil.rmtree(tree)
    # a line that replays a schedule, or a test that failed
    found = re.search(r"^(python -m [\w.]+ --seed|1 failed)", ended.stdout, re.MULTILINE)
    return found is not None, (ended.stdout + ended.stderr)[-600:]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> dict[Plant, Future[tuple[bool, str]]]:
    """Every plant tried, one more at a time than there are cores: some only wait for what never comes."""
    pool = ThreadPoolExecutor(max_workers=share() + 1)
    tried = {
        plant: pool.submit(noticed, plant, tmp_path_factory.mktemp(plant.trap), plant.found_by)
        for plant in PLANTS
    }
    pool.shutdown(wait=True)
    return tried


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.trap} {plant.what}")
def test_a_planted_bug_is_noticed(plant: Plant, trials: dict[Plant, Future[tuple[bool, str]]]) -> None:
    """What this trap would do to a user, our tests see first."""
    caught, said = trials[plant].result()
    assert caught, f"nobody noticed: {said}"


@pytest.mark.proof
@pytest.mark.parametrize("plant", OTHERS, ids=lambda plant: f"{plant.trap} {plant.what}")
def test_a_further_bug_is_noticed(plant: Plant, tmp_path: Path) -> None:
    """The same trap in other forms."""
    caught, said = noticed(plant, tmp_path, plant.found_by)
    assert caught, f"nobody noticed: {said}"


@pytest.mark.parametrize(
    "search",
    [SIMULATION, SCHEDULES, TEMPORAL, LIFEBOOK],
    ids=["lucius", "services", "temporal", "lifebook"],
)
def test_the_code_without_a_bug_passes(tmp_path: Path, search: tuple[str, ...]) -> None:
    """The copy itself is not what is noticed: without a plant the same seeds find nothing."""
    caught, said = noticed(None, tmp_path, (*search[:-1], "200"))
    assert not caught, said
    assert "200 schedules, 0 with a broken promise" in said
