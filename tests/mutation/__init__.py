"""Do the tests notice errors?  Each part that the suite tests is broken on purpose, one at a time.

    python -m tests.mutation [--kind KIND] [--of OP] [--jobs N] [--write]

Each breakage, a mutant, is one step away from what is right: see `trees.py`.  What does not notice it is a hole in the
suite, or it changes nothing that could be noticed, which `survivors.py` says with the reason.  `--write` keeps the
table in docs/mutations.md.  `reverse.py`, `transforms.py`, `functions.py` and `machinery.py` say what is broken,
`checkers.py` what should notice.
"""

import sys
from pathlib import Path

# The op table and its rows stand in the folder of the tests, as pytest's `pythonpath` says.
TESTS = str(Path(__file__).resolve().parent.parent)
if TESTS not in sys.path:
    sys.path.append(TESTS)
