from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from lucius.runtime.offline import check_configuration
from lucius.scaffold import make
from tests.scaffold.conftest import PATIENCE, Project


def test_its_own_tests_pass_as_generated(project: Project) -> None:
    """The first thing a team sees is green."""
    said = project.run("-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert re.search(r"^\d+ passed", said, re.MULTILINE), said


def test_its_make_targets_do_what_they_say(project: Project) -> None:
    """`make test` and `make protocol` work in an environment that has Lucius, with nothing installed."""
    for target, said in (
        ("test", " passed"),
        ("protocol", "config/protocols/word-count.yaml is up to date."),
    ):
        done = subprocess.run(
            ["make", f"PYTHON={sys.executable}", target],
            cwd=project.folder,
            env=project.environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert said in done.stdout


def test_the_linter_has_nothing_to_say(tmp_path: Path) -> None:
    """A project passes its own rules, whatever it is called and described as."""
    description = "Zählt – wörtlich — 'alles', $HOME, `x` & {{ name }} {% raw %} #; ‘漢字’: ja"
    folder = make("z9", tmp_path, step_type="A", description=description)
    project = Project(folder, "z9")
    project.run("-m", "ruff", "check", ".")
    project.run("-m", "ruff", "format", "--check", ".")
    project.run("-m", "pytest", "-q", "-p", "no:cacheprovider")
    settings = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    assert settings["project"]["description"] == f"{description}."
    assert check_configuration(folder / "config") == []


def test_the_protocol_is_one_that_lucius_takes(project: Project) -> None:
    """`config/` is a configuration directory as it is."""
    assert check_configuration(project.folder / "config") == []


def test_a_changed_payload_is_noticed_and_written_to_the_protocol(project: Project) -> None:
    """Payload and protocol cannot drift apart unseen, and one command brings them together again."""
    service = project.folder / "src" / "word_count" / "service.py"
    service.write_text(service.read_text().replace("le=50", "le=99"))
    said = project.run("-m", "pytest", "-q", "-p", "no:cacheprovider", code=1)
    assert "test_the_protocol_knows_the_payload" in said
    protocol = project.folder / "config" / "protocols" / "word-count.yaml"
    before = protocol.read_text()
    renew = ("-m", "lucius.scaffold.protocol", project.target, "config/protocols/word-count.yaml")
    assert "has the new payload schema" in project.run(*renew)
    assert protocol.read_text() == before.replace("maximum: 50", "maximum: 99")
    project.run("-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert check_configuration(project.folder / "config") == []


def test_what_cannot_be_renewed_is_told_in_a_sentence(project: Project) -> None:
    """A wrong file or target changes nothing and says why."""
    renew = ("-m", "lucius.scaffold.protocol")
    assert "usage" in project.run(*renew, project.target, code=2)
    assert "cannot be read" in project.run(*renew, project.target, "nowhere.yaml", code=1)
    assert "cannot be read" in project.run(*renew, project.target, "README.md", code=1)
    assert "no module nowhere" in project.run(*renew, "nowhere:x", "config/protocols/word-count.yaml", code=1)
    protocol = project.folder / "config" / "protocols" / "word-count.yaml"
    protocol.write_text(protocol.read_text().replace("step_type: WORD_COUNT", "step_type: OTHER"))
    assert "no step of the type WORD_COUNT" in project.run(
        *renew, project.target, "config/protocols/word-count.yaml", code=1
    )


def test_the_image_is_not_root_and_looks_after_itself(project: Project) -> None:
    """A number as user, one place to write, a probe of the health endpoint that the process serves."""
    text = project.files()["Dockerfile"]
    lines = text.replace("\\\n", " ").splitlines()
    (user,) = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert int(user.split(":")[0]) > 0
    assert lines.index(f"USER {user}") < next(n for n, line in enumerate(lines) if line.startswith("CMD "))
    (port,) = re.findall(r"LUCIUS_SERVICE_HEALTH=0\.0\.0\.0:(\d+)", text)
    assert f"http://127.0.0.1:{port}/healthz" in text
    (volume,) = [line.split()[1] for line in lines if line.startswith("VOLUME ")]
    assert f"LUCIUS_SERVICE_STORE={volume}/" in text
