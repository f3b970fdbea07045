from __future__ import annotations

import inspect
import subprocess
import sys

import msgspec
import pytest

from lucius.engines.temporal import messages
from lucius.engines.temporal.converter import _DECODERS, RecordConverter
from lucius.ports import invoker

RECORDS = [
    record
    for module in (messages, invoker)
    for _, record in inspect.getmembers(module, inspect.isclass)
    if issubclass(record, msgspec.Struct) and record.__module__ == module.__name__
]
#: Many threads that meet each record for the first time at the same moment, as workflows of a new worker do.
THREADS = """
import sys, threading
from lucius.engines.temporal.converter import RecordConverter
from lucius.engines.temporal.messages import Start, Told
from lucius.testing.jobs import order
from lucius.core.decide import Chance, open_job
from lucius.core.job import standing
sys.setswitchinterval(1e-6)
opened = open_job(order(), Chance(lease_id=""))
converter = RecordConverter()
payload = converter.to_payload(Start(order=opened.job.order, standing=standing(opened.job)))
gate = threading.Barrier(16)

def read():
    gate.wait()
    assert converter.from_payload(payload, Start).order.job_id == opened.job.job_id

threads = [threading.Thread(target=read) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("record", RECORDS)
def test_every_record_has_its_decoder_before_the_first_thread(record: type) -> None:
    """What passes between invoker and workflow is never met for the first time by two threads at once."""
    assert record in _DECODERS


def test_a_record_without_a_decoder_is_refused() -> None:
    """A record that somebody adds and forgets here fails at once, and in every run."""

    class Forgotten(msgspec.Struct):
        number: int = 0

    converter = RecordConverter()
    payload = converter.to_payload(Forgotten())
    assert payload is not None
    with pytest.raises(TypeError, match="Forgotten has no decoder"):
        converter.from_payload(payload, Forgotten)


def test_threads_that_read_their_first_record_together_live() -> None:
    """A worker that starts with many workflows waiting does not crash."""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", THREADS], check=True, timeout=60)
