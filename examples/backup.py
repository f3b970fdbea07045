"""Copy the state of a Lucius, running or stopped: python examples/backup.py DATA TARGET.

Run it with the Python that Lucius is installed in: databases are copied by its own SQLite, each as of one
moment. The target must be a new directory; it holds secrets, so only you can read it.
"""

import shutil
import sys
from pathlib import Path

import apsw

data, target = Path(sys.argv[1]), Path(sys.argv[2])
target.mkdir(mode=0o700, parents=True)
for name in ("ledger.db", "keys.db", "lifebook.db"):
    if not (data / name).exists():  # no lifebook runs here
        continue
    source = apsw.Connection(str(data / name), flags=apsw.SQLITE_OPEN_READONLY)
    source.set_busy_timeout(5000)
    source.execute("VACUUM INTO ?", (str(target / name),))
    source.close()
    (target / name).chmod(0o600)
shutil.copytree(data / "secrets", target / "secrets")
print(f"{data} is copied to {target}")
