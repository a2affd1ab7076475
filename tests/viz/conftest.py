"""What tests in a browser share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from viz.browser import BROWSER, FLAGS


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    """A function that opens what is saved as a page; afterwards nothing may have gone wrong or been asked for."""
    wrong: list[str] = []
    pages = []

    def show(picture: Any, **options: Any) -> Any:
        page = chromium.new_page(**options)
        path = picture.save(tmp_path / "page.html")
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield show
    for page in pages:
        page.close()
    assert wrong == []
