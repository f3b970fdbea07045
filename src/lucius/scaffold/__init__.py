"""A new service's project, from the template that lies beside this file.

`make` writes one folder and knows nothing of it afterwards: the project belongs to its team. What changes
from one Lucius to the next is in the library, not in the copied files, so there is nothing to update them
from; a later template can be written over a project (`force`) and read with `git diff`.

It works without network and without git. How it fails: `Invalid` for a name that cannot be used and for a
folder that holds something already, `Unavailable` when the extra [scaffold] is not installed; in each case
nothing is written.
"""

from __future__ import annotations

from lucius.scaffold.making import make
from lucius.scaffold.names import Names, names_for

__all__ = ["Names", "make", "names_for"]
