"""How the site is built: `make docs`.  Nothing that it shows is fetched when it is opened."""

import os
import sys
from pathlib import Path
from typing import Any

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
html_search_scorer = str(ROOT / "docs" / "scorer.js")
nb_execution_mode = "off"  # site_pages/executed.py runs the notebooks, several at a time
nb_merge_streams = True
# The pages are read in the checkout too, where links to source files lead somewhere.  Ops and decisions have a page of
# links: in the sidebar, which each page has, 500 entries would take most of the build and of its size.
suppress_warnings = ["myst.xref_missing", "toc.not_included"]


sidebars: dict[Any, Any] = {}  # by folder and arguments


def share_sidebar(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Draw one sidebar for all pages of ops, and one for all decisions: it took three quarters of the time of a page.

    These pages are no entries of it, so it is the same for all pages of a folder.
    """
    folder, draw = page.rpartition("/")[0], context.get("toctree")
    if folder not in ("_generated/ops", "decisions") or draw is None:
        return

    def drawn(**how: Any) -> Any:
        key = folder, *sorted(how.items())
        if key not in sidebars:
            sidebars[key] = draw(**how)
        return sidebars[key]

    context["toctree"] = drawn


def setup(app: Any) -> None:
    """Let Sphinx read in several processes: the extension for formulas only copies its files after a build."""
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True
    app.connect("html-page-context", share_sidebar)
