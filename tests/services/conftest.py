import tempfile

import pytest


@pytest.fixture(autouse=True)
def _own_temporary_files(tmp_path, monkeypatch):
    """What a trial writes goes where pytest cleans up."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
