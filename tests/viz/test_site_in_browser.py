"""The built site in a real browser: nothing is wider than the page, nothing is asked for, nothing is complained about.

`make docs test-browser` builds it and runs this.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cases import over
from viz.browser import MISSING

SITE = Path(__file__).resolve().parents[2] / "docs" / "_build" / "html"
LACKS = [*MISSING, *([] if (SITE / "index.html").exists() else ["the site, which `make docs` builds"])]
pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(LACKS), reason=f"not there: {', '.join(LACKS)}")]
PAGES = ["index.html", "tour.html", "differences.html", "howto/debugging.html", "_generated/functions.html",
         "_generated/ops/softmax.html", "_generated/ops/tanh.html", "_generated/notebooks/03_seeing_the_graph.html",
         "_generated/notebooks/05_tensors_are_strides.html", "_generated/notebooks/10_kernels.html",
         "_generated/notebooks/A1_precision.html"]  # fmt: skip


@over("width", [390, 1200])
@over("scheme", ["light", "dark"])
@over("name", PAGES)
def test_a_page_fits_and_stays_at_home(chromium: Any, name: str, scheme: str, width: int) -> None:
    wrong: list[str] = []
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.on("console", lambda message: wrong.append(message.text))
    page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
    page.goto((SITE / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()
    assert wrong == []


def test_a_film_in_a_chapter_can_be_clicked_through(chromium: Any) -> None:
    page = chromium.new_page()
    page.goto((SITE / "_generated/notebooks/03_seeing_the_graph.html").as_uri())
    film = page.locator(".mg-step").first
    for _ in range(40):
        if film.locator("output").inner_text() == "end":
            break
        film.locator('[data-do="next"]').click()
    assert film.locator("output").inner_text() == "end"
    page.close()


def test_search_finds_offline(chromium: Any) -> None:
    page = chromium.new_page()
    page.goto((SITE / "search.html").as_uri() + "?q=logcumsumexp")
    page.wait_for_selector("ul.search li a", timeout=10_000)
    assert page.locator("ul.search li a").count() >= 1
    page.close()
