"""Whether the reference services are there, and what happens where they are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lucius.entrypoints.cli.app import run
from lucius.entrypoints.cli.commands import serving
from lucius.runtime import reference
from lucius.sdk.serving.service import load

HEAVY = ("numpy", "onnxruntime", "cv2", "PIL", "pypdfium2", "rapidocr", "wordllama", "obstore")


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine where the extra is not installed."""
    monkeypatch.setattr(reference, "_NEEDS", ("numpy", "no_such_module"))
    monkeypatch.delenv("LUCIUS_SERVICES", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", reference.TARGETS)
def test_every_name_is_a_service_of_its_step_type(name: str) -> None:
    """`lucius service NAME` finds a service, and the workers' credential is good for its steps."""
    assert load(reference.TARGETS[name]).step_type == reference.STEP_TYPES[name]


def test_what_is_missing_is_named(without_extra: None) -> None:
    """Only what cannot be found is told, with how to install it."""
    assert reference.missing() == ["no_such_module"]
    assert not reference.installed()


@pytest.mark.parametrize(
    "arguments",
    [
        ["service", "ocr"],
        ["up", "--port", "0", "--services", "reference"],
        ["demo", "--services", "reference"],
    ],
)
def test_real_services_without_the_extra_are_one_clear_sentence(
    without_extra: None, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """Whoever asks for real services without the extra is told what to install, and nothing starts."""
    assert run(arguments) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "no_such_module" in told
    assert "pip install 'lucius[reference]'" in told
    assert not list(Path.cwd().iterdir())


def test_up_plays_echo_where_the_extra_is_missing(without_extra: None) -> None:
    """The default is real services where they are installed and echo elsewhere; what is said stands."""
    assert serving._settings({}).services == "echo"
    assert serving._settings({"services": "none"}).services == "none"


def test_up_does_real_work_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra installed nothing needs to be said."""
    monkeypatch.delenv("LUCIUS_SERVICES", raising=False)
    monkeypatch.chdir(tmp_path)
    assert serving._settings({}).services == "reference"


def test_the_server_loads_nothing_heavy() -> None:
    """Looking for the services, and putting a Lucius together, loads none of their libraries."""
    code = (
        "import sys, lucius.runtime.lifecycle, lucius.runtime.reference as found; found.missing(); "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
