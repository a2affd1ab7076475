"""How the site is built: `make docs`.  Nothing that it shows is fetched when it is opened."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "docs")]
os.environ.setdefault("PYTHONPATH", str(ROOT))  # of the kernels that run the notebooks

from site_pages import generate  # noqa: E402

generate.write(ROOT)

project = "minigrad"
author = "the minigrad developers"
copyright = author
extensions = ["myst_nb", "sphinx-mathjax-offline"]
html_theme = "furo"
html_title = "minigrad"
html_show_sourcelink = False
exclude_patterns = ["_build", "jupyter_execute", ".jupyter_cache", "**.ipynb_checkpoints"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "docs" / "_build" / ".jupyter_cache")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
# The pages are read in the checkout too, where links to source files lead somewhere.
suppress_warnings = ["myst.xref_missing"]
