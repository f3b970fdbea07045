"""The package of the Lambda functions, as deploy/aws/package.py builds it."""

from __future__ import annotations

import importlib.util
import zipfile
from types import ModuleType

import pytest

from tests.lifebook.deployment import HOME, Deployment, sources

LOCK = """\
alpha==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:ab
alpha-extra==2.0 ; sys_platform != 'win32' \\
    --hash=sha256:bb
"""


@pytest.fixture(scope="module")
def package() -> ModuleType:
    """The program, as a module."""
    spec = importlib.util.spec_from_file_location("lambda_package", HOME / "package.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_takes_versions_and_hashes_from_the_lock(package) -> None:
    """What is resolved is installed with the lock's own hashes, and with no other version."""
    assert "".join(package.locked("alpha-extra==2.0\nalpha==1.0\n", LOCK)) == (
        LOCK.partition("ab\n")[2] + LOCK.partition("alpha-extra")[0]
    )
    with pytest.raises(SystemExit, match=r"alpha==1\.1"):
        list(package.locked("alpha==1.1\n", LOCK))


def test_the_lock_has_what_the_functions_import(package) -> None:
    """The real lock is read: it has the clients of AWS, each with hashes."""
    lock = package.LOCK.read_text()
    pinned = [
        line.split(" ")[0] for line in lock.splitlines() if line.startswith(("aiobotocore==", "botocore=="))
    ]
    assert len(pinned) == 2
    assert all("--hash=sha256:" in block for block in package.locked("\n".join(pinned), lock))


def test_the_same_files_are_the_same_bytes(package, tmp_path) -> None:
    """Neither times nor order nor what installing leaves behind changes the zip."""
    kept = {
        "lucius/__init__.py": "1",
        "botocore/data/endpoints.json": "{}",
        "botocore/data/sqs/2012/s.json": "{}",
    }
    left = ["bin/tool", "a-1.dist-info/RECORD", "botocore/data/ec2/2016/s.json"]
    for room, names in (("one", [*kept, *left]), ("two", [*reversed(kept), "bin/other"])):
        for name in names:
            path = tmp_path / room / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(kept.get(name, room))
    (tmp_path / "two" / "lucius" / "__init__.py").chmod(0o600)
    first, second = tmp_path / "1.zip", tmp_path / "2.zip"
    assert package.pack(tmp_path / "one", first, package.SERVICES) == 5
    package.pack(tmp_path / "two", second, package.SERVICES)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert archive.namelist() == sorted(kept)


def test_it_is_built_for_the_functions_runtime(package, tmp_path) -> None:
    """Python version, default processor and place are those that Terraform deploys."""
    deployed = Deployment(sources(), tmp_path)
    worker = deployed["aws_lambda_function.worker"]
    assert worker["runtime"] == f"python{package.PYTHON}"
    assert worker["architectures"][0] in package.PLATFORMS
    assert (HOME / worker["filename"]).resolve() == package.ROOT / "dist" / "lucius-lambda.zip"
