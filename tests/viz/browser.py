"""Chromium for tests of pages: where it is, how it is started, and what of it is missing."""

from __future__ import annotations

import importlib.util
import shutil

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = [
    what for what, there in (("Playwright", importlib.util.find_spec("playwright")), ("Chromium", BROWSER)) if not there
]
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
         "--disable-component-update"]  # fmt: skip
