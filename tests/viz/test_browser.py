"""The film in a real browser: clicked through from first to last node, by mouse and by keys.

It needs Playwright (`pip install playwright`) and a Chromium on PATH; `make test-browser` runs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from viz.browser import MISSING

import minigrad as mg
from minigrad.diagnostics.shown import shown

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; see `make test-browser`"),
]


def simple() -> Any:
    x = mg.Var([3.0, 1.0, 4.0], name="x")
    return (x * x + x * 5.0 + 4.0).sum()


def perceptron() -> Any:
    mg.manual_seed(0)
    w1, w2 = mg.Var(mg.randn(16, 20) * 0.3, name="w1"), mg.Var(mg.randn(20, 4) * 0.3, name="w2")
    hidden = (mg.randn(12, 16) @ w1).relu()
    return mg.nn.functional.cross_entropy(hidden @ w2, mg.arange(12) % 4)


def fan_in() -> Any:
    x = mg.Var([0.5, -0.25], name="x")
    return (x.sin() * x.cos() + x.exp() * x).sum()


@pytest.mark.parametrize("make", [simple, perceptron, fan_in])
def test_clicked_from_first_to_last_node_the_numbers_are_those_of_backward(opened: Any, make: Any) -> None:
    y = make()
    film = mg.viz.step(y)
    page = opened(film)
    for k, frame in enumerate(film.frames, 1):
        page.click('[data-do="next"]')
        assert page.inner_text("output") == f"{k + 1} of {len(film) + 2}: {frame.title}"
        assert page.locator(".node.mg-now").get_attribute("id") == f"node-{frame.node}"
        now = page.inner_text("li.mg-now")
        assert all(share.value["text"] in now for share in frame.shares)
        assert page.locator(".node.mg-done").count() == k - 1
    page.click('[data-do="next"]')
    grads = y.backward()
    told = page.inner_text("li.mg-now")
    for var in grads:
        assert shown(grads[var])["text"] in told


def test_keys_the_slider_and_the_boxes_jump(opened: Any) -> None:
    film = mg.viz.step(simple())
    page = opened(film)
    for key, told in (
        ("End", "7 of 7: end"),
        ("ArrowLeft", "6 of 7"),
        ("Home", "1 of 7: start"),
        ("ArrowRight", "2 of 7"),
    ):
        page.keyboard.press(key)
        assert page.inner_text("output").startswith(told)
    page.click(f'[id="node-{film.frames[2].node}"]')
    assert page.inner_text("output").startswith("4 of 7")
    for key in ("Enter", " "):
        page.keyboard.press("Home")
        page.focus(f'[id="node-{film.frames[1].node}"]')
        page.keyboard.press(key)
        assert page.inner_text("output").startswith("3 of 7")
    page.focus('[data-do="next"]')
    page.keyboard.press(" ")
    assert page.inner_text("output").startswith("4 of 7"), "a space presses the button"
    page.locator("input[type=range]").fill("4")
    assert page.inner_text("output").startswith("5 of 7")


def test_keys_work_at_once_on_a_page_of_its_own_and_leave_those_of_the_browser(opened: Any) -> None:
    page = opened(mg.viz.step(simple()))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Alt+ArrowRight")
    assert page.inner_text("output").startswith("2 of 7")
    page.keyboard.press(" ")
    assert page.inner_text('[data-do="play"]') == "pause"


def test_in_a_notebook_keys_are_for_what_has_the_focus(chromium: Any) -> None:
    page = chromium.new_page()
    page.set_content(f"<body><textarea></textarea>{mg.viz.step(simple())._repr_html_()}</body>")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("output") == "1 of 7: start"
    page.focus("textarea")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("output") == "1 of 7: start"
    page.focus(".mg-step")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("output").startswith("2 of 7")
    page.close()


def test_it_plays_to_the_end_and_pauses(opened: Any) -> None:
    page = opened(mg.viz.step(fan_in()))
    page.clock.install()
    page.reload()
    page.click('[data-do="play"]')
    page.clock.run_for(3200)
    assert page.inner_text("output").startswith("3 of") and page.inner_text('[data-do="play"]') == "pause"
    page.click('[data-do="play"]')
    page.clock.run_for(5000)
    assert page.inner_text("output").startswith("3 of")
    page.click('[data-do="play"]')
    page.clock.run_for(60_000)
    assert page.inner_text("output").endswith("end") and page.inner_text('[data-do="play"]') == "play"


def test_a_kernel_is_one_click_away(opened: Any) -> None:
    film = mg.viz.step(perceptron())
    page = opened(film)
    page.click('[data-do="next"]')
    page.click("li.mg-now details summary")
    assert "Written by minigrad, compiled by Numba" in page.inner_text("li.mg-now details pre")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_page(opened: Any, scheme: str, width: int) -> None:
    page = opened(mg.viz.step(perceptron()), viewport={"width": width, "height": 700}, color_scheme=scheme)
    for _ in range(4):
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.click('[data-do="next"]')


# What VS Code's notebooks do with HTML (extensions/notebook-renderers/src/index.ts): it is set as text, and scripts are
# made again and appended; the webview's policy lets inline scripts and styles run, and nothing be loaded.
VS_CODE = """(html) => {
  const output = document.body.appendChild(document.createElement("div"));
  output.innerHTML = html;
  for (const old of Array.from(output.getElementsByTagName("script"))) {
    const made = document.createElement("script");
    made.text = old.innerText;
    output.appendChild(made).parentNode.removeChild(made);
  }
}"""
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


def test_it_works_as_an_output_of_vs_code_twice_on_a_page(chromium: Any) -> None:
    wrong: list[str] = []
    page = chromium.new_page()
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.set_content(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><body></body>')
    for make in (simple, fan_in):
        page.evaluate(VS_CODE, mg.viz.step(make())._repr_html_())
    first, second = (page.locator(".mg-step").nth(k) for k in (0, 1))
    second.locator('[data-do="next"]').click()
    assert second.locator("output").inner_text().startswith("2 of")
    assert first.locator("output").inner_text().startswith("1 of")
    page.close()
    assert wrong == []


def test_without_scripts_all_of_it_can_be_read(chromium: Any, tmp_path: Path) -> None:
    film = mg.viz.step(simple())
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(film.save(tmp_path / "film.html").as_uri())
    assert page.locator("svg .node").count() == len(film.graph.nodes)
    assert page.locator("li:visible").count() == len(film) + 2 and not page.locator(".mg-controls").is_visible()
    context.close()
