from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lucius import __version__
from lucius.entrypoints.cli.app import run
from lucius.errors import Invalid, Unavailable
from lucius.scaffold import make
from lucius.scaffold.making import TEMPLATE
from tests.architecture.tree import ROOT
from tests.scaffold.conftest import Project


def test_a_project_has_what_a_team_needs(project: Project) -> None:
    """Code, tests, protocol, image and a page to read are there, with nothing left to fill in."""
    files = project.files()
    assert set(files) == {
        ".dockerignore", ".gitignore", "Dockerfile", "Makefile", "README.md", "conformance.yaml",
        "pyproject.toml",
        "config/protocols/word-count.yaml", "src/word_count/__init__.py", "src/word_count/__main__.py",
        "src/word_count/service.py", "tests/test_payload.py", "tests/test_service.py", "wheels/README.md",
    }  # fmt: skip
    for path, text in files.items():
        assert "{{" not in text, path
        assert "{%" not in text, path
        assert len(text.splitlines()) < 80, path


def test_two_projects_live_side_by_side(tmp_path: Path) -> None:
    """A second service has names of its own everywhere."""
    first = Project(make("word-count", tmp_path), "word_count")
    second = Project(make("face-finder", tmp_path, step_type="FACES"), "face_finder")
    assert {path.name for path in tmp_path.iterdir()} == {"word-count", "face-finder"}
    for path, text in second.files().items():
        assert "word_count" not in text + path
        assert "word-count" not in text + path
        assert "WORD_COUNT" not in text
    assert "FACES" in second.files()["config/protocols/face-finder.yaml"]
    assert "FACES" not in "".join(first.files().values())


def test_a_folder_with_work_in_it_is_left_alone(project: Project) -> None:
    """A second try does not overwrite what was written meanwhile, unless that is asked for."""
    service = project.folder / "src" / "word_count" / "service.py"
    own = project.folder / "NOTES"
    service.write_text("mine")
    own.write_text("mine too")
    with pytest.raises(Invalid) as refused:
        make("word-count", project.folder.parent)
    assert refused.value.code == "FOLDER_NOT_EMPTY"
    assert service.read_text() == "mine"
    make("word-count", project.folder.parent, force=True)
    assert "async def execute" in service.read_text()
    assert own.read_text() == "mine too"


def test_a_fresh_repository_counts_as_empty(tmp_path: Path) -> None:
    """Whoever cloned an empty repository first generates into it."""
    (tmp_path / "word-count" / ".git").mkdir(parents=True)
    assert (make("word-count", tmp_path) / "Makefile").is_file()


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    """A file of that name is not replaced, whatever is said."""
    (tmp_path / "word-count").write_text("mine")
    for directory in (tmp_path, tmp_path / "word-count"):
        with pytest.raises(Invalid) as refused:
            make("word-count", directory, force=True)
        assert refused.value.code == "NOT_A_FOLDER"
    assert (tmp_path / "word-count").read_text() == "mine"


def test_neither_git_nor_settings_of_copier_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine without git, or with a copier set up for something else, makes the same project."""
    expected = Project(make("word-count", tmp_path / "with"), "word_count").files()
    (tmp_path / "settings.yml").write_text("defaults:\n  description: Something else.\n  package: other\n")
    monkeypatch.setenv("COPIER_SETTINGS_PATH", str(tmp_path / "settings.yml"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Project(make("word-count", tmp_path / "without"), "word_count").files() == expected


def test_without_the_extra_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback for an extra that is not installed."""
    monkeypatch.setitem(sys.modules, "copier", None)
    with pytest.raises(Unavailable, match=r"pip install 'lucius\[scaffold\]'"):
        make("word-count", tmp_path)
    assert run(["new-service", "word-count", "--directory", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_what_to_do_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`lucius new-service word-count` makes the folder here and names the next two commands."""
    monkeypatch.chdir(tmp_path)
    assert run(["new-service", "word-count"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["✓ word-count is ready.", "  cd word-count"]
    assert (tmp_path / "word-count" / "README.md").is_file()
    assert run(["new-service", "word-count"]) == 1
    assert "FOLDER_NOT_EMPTY" in capsys.readouterr().err
    assert run(["new-service", "Word"]) == 2


def test_copier_is_loaded_only_to_make_a_project() -> None:
    """The command line stays quick, and works without the extra."""
    program = "import sys, lucius.entrypoints.cli.app, lucius.scaffold; sys.exit('copier' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_wheel_carries_the_template(tmp_path: Path) -> None:
    """Whoever installs Lucius has every file of the template."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, env=dict(os.environ))
    (wheel,) = tmp_path.glob("*.whl")
    package = TEMPLATE.parents[1]
    wanted = {
        f"lucius/{path.relative_to(package).as_posix()}" for path in TEMPLATE.rglob("*") if path.is_file()
    }
    assert len(wanted) > 10
    with zipfile.ZipFile(wheel) as held:
        assert wanted - set(held.namelist()) == set()


def test_a_project_can_be_built_and_installed(project: Project, tmp_path: Path) -> None:
    """Its own wheel has the package in it, and asks for this Lucius or a newer one."""
    project.run("-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist"))
    (wheel,) = (tmp_path / "dist").glob("word_count-0.1.0-*.whl")
    with zipfile.ZipFile(wheel) as held:
        assert "word_count/service.py" in held.namelist()
        metadata = held.read("word_count-0.1.0.dist-info/METADATA").decode()
    assert f"Requires-Dist: lucius>={__version__}" in metadata
