"""Graphs that fold, and all that has a rich form, in a real browser as notebooks show them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from viz.browser import MISSING
from viz.test_browser import POLICY, VS_CODE, perceptron

import minigrad as mg

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; see `make test-browser`"),
]


def layers(count: int) -> Any:
    """Layers that differ, so that each is a box of its own, between an op that is in none."""
    z: Any = mg.Var(mg.ones(2, dtype="float64"), name="x") * 0.5
    for k in range(count):
        with mg.viz.scope(f"layer {k + 1}"):
            for _ in range(k + 1):
                z = z.tanh() * mg.Var([0.5, 2.0], dtype="float64", name=f"w{k + 1}")
    return z.sum()


def state(page: Any) -> list[str]:
    """What the buttons say of each scope, the first node that can be reached by keys of each, and how many nodes."""
    buttons = page.locator(".mg-scopes button")
    told = [buttons.nth(k).get_attribute("aria-expanded") for k in range(1, buttons.count())]
    boxes = page.locator('.mg-drawing [role="button"]')
    assert sorted(boxes.nth(k).get_attribute("aria-expanded") for k in range(boxes.count())) == sorted(told)
    return told


def boxes_of(page: Any) -> set[str]:
    """The first lines of what is drawn."""
    return set(page.locator(".mg-drawing .node text:first-of-type").all_text_contents())


def test_boxes_of_scopes_open_and_close_by_click_and_by_key(opened: Any) -> None:
    page = opened(mg.viz.graph(layers(3), fold=True))
    assert state(page) == ["false"] * 3 and {"layer 1", "layer 2", "layer 3"} <= boxes_of(page)
    for k in range(3):  # each box is clicked, and what was inside is clicked again
        page.click(f'[id="node-scope{k}"]')
        assert state(page) == [str(j == k).lower() for j in range(3)]
        assert f"layer {k + 1}" not in boxes_of(page) and f"w{k + 1}" in boxes_of(page)
        page.locator(".mg-drawing .node", has_text=f"w{k + 1}").first.click()
        assert state(page) == ["false"] * 3 and f"w{k + 1}" not in boxes_of(page)
    page.focus('[id="node-scope1"]')
    page.keyboard.press("Enter")
    assert state(page) == ["false", "true", "false"]
    page.keyboard.press("Enter")  # the focus went to what was inside
    assert state(page) == ["false"] * 3
    page.keyboard.press(" ")
    page.focus('[id="node-scope2"]')
    page.keyboard.press("Enter")
    assert state(page) == ["false", "true", "true"], "scopes are independent"


def test_buttons_open_and_close_scopes_and_all_of_them(opened: Any) -> None:
    page = opened(mg.viz.graph(layers(3), fold=True))
    whole, first = page.locator(".mg-scopes button").nth(0), page.locator(".mg-scopes button").nth(1)
    assert whole.inner_text() == "open all" and first.inner_text() == "\u25b8 layer 1"
    whole.click()
    assert (
        state(page) == ["true"] * 3
        and whole.inner_text() == "close all"
        and len(boxes_of(page) & {"w1", "w2", "w3"}) == 3
    )
    first.hover()
    assert page.locator(".node.mg-shown").count() == 3, "what is inside of it: two ops and the Var"
    first.click()
    assert state(page) == ["false", "true", "true"] and first.inner_text() == "\u25b8 layer 1"
    whole.click()
    assert state(page) == ["false"] * 3


def test_of_many_scopes_one_is_open_at_a_time_or_all(opened: Any) -> None:
    page = opened(mg.viz.graph(layers(6), fold=True))
    page.click('[id="node-scope0"]')
    page.click('[id="node-scope4"]')
    assert state(page) == ["false", "false", "false", "false", "true", "false"]
    page.locator(".mg-scopes button").nth(5).click()
    assert state(page) == ["false"] * 6


def test_scopes_of_which_there_is_no_drawing_are_not_offered(opened: Any) -> None:
    page = opened(mg.viz.graph(layers(30), fold=True))
    offered = page.locator(".mg-scopes button:visible")
    assert offered.count() == 23 and page.locator('.mg-drawing [role="button"]').count() == 22
    page.click('[id="node-scope25"]')
    assert page.locator('.mg-drawing [aria-expanded="true"]').count() == 0


def test_a_graph_that_is_shown_open_closes_by_click(opened: Any) -> None:
    page = opened(mg.viz.graph(layers(2), fold=False))
    assert state(page) == ["true", "true"]
    page.locator(".mg-drawing .node", has_text="w2").first.click()
    assert state(page) == ["true", "false"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_two_graphs_on_a_page_do_not_disturb_each_other_and_fit(opened: Any, scheme: str) -> None:
    class Both:
        def save(self, path: Path) -> Path:
            graphs = [mg.viz.graph(layers(n), fold=True).html() for n in (2, 3)]
            path.write_text(f"<!doctype html><meta charset=utf-8>{''.join(graphs)}", encoding="utf-8")
            return path

    page = opened(Both(), viewport={"width": 360, "height": 700}, color_scheme=scheme)
    second = page.locator(".mg-graph").nth(1)
    second.locator('[id="node-scope2"]').click()
    assert second.locator('[aria-expanded="true"][role="button"]').count() == 1
    assert page.locator(".mg-graph").nth(0).locator('[aria-expanded="true"]').count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_without_scripts_the_drawing_of_a_graph_is_there_once(chromium: Any, tmp_path: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(mg.viz.graph(layers(3), fold=True).save(tmp_path / "graph.html").as_uri())
    assert page.locator("svg").count() == 1 and page.locator("svg .node:visible").count() == 7
    assert not page.locator(".mg-scopes").is_visible()
    context.close()


# What JupyterLab's themes and its style sheet of outputs set, as far as it meets what is shown here.
THEMES = {
    "light": {"layout-color0": "#fff", "layout-color1": "#fff", "layout-color2": "#eee", "table": "#f5f5f5",
              "content-font-color1": "rgba(0,0,0,.87)", "ui-font-color1": "rgba(0,0,0,.87)"},
    "dark": {"layout-color0": "#111", "layout-color1": "#212121", "layout-color2": "#424242", "table": "#212121",
             "content-font-color1": "#fff", "ui-font-color1": "rgba(255,255,255,.87)"},
}  # fmt: skip
JUPYTER = """
body { background: var(--jp-layout-color0) } .out { color: var(--jp-content-font-color1) }
.out table { color: var(--jp-ui-font-color1) } .out tbody tr:nth-child(even) { background: var(--jp-table) }
.out tbody tr:nth-child(odd) { background: var(--jp-layout-color0) }
.out pre, .out code { background-color: var(--jp-layout-color0); color: var(--jp-content-font-color1) }
.out :not(pre) > code { background-color: var(--jp-layout-color2) }
"""
# The contrast of each text with what is behind it (WCAG 2.2), for those below 4, but for what stands in an image.
FAINT = """() => {
  const parts = (c) => { const n = c.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const over = (a, b) => [0, 1, 2].map((k) => a[k] * a[3] + b[k] * (1 - a[3])).concat(1);
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, k) => {
    const v = c[k] / 255; return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); }, 0);
  const behind = (e) => { const c = e ? parts(getComputedStyle(e).backgroundColor) : [255, 255, 255, 1];
    return c[3] === 1 ? c : over(c, behind(e.parentElement)); };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest("svg, style, script, template")) continue;
    const back = behind(e), [a, b] = [light(over(parts(getComputedStyle(e).color), back)), light(back)].sort();
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4) found.push(e.tagName + " " + e.textContent.slice(0, 40));
  }
  return found;
}"""


FILLS = "(parts) => parts.map((part) => getComputedStyle(part).fill)"
GROUNDS = "(parts) => parts.map((part) => getComputedStyle(part).backgroundColor)"


def shown_in_notebooks() -> dict[str, Any]:
    """What has a rich form."""
    x = mg.Var(mg.ones(5, 4), name="x")
    y = perceptron()
    report = mg.testing.report.Report("f", [mg.testing.report.Argument(
        "x", (2,), "float64", 1e-6, 2, 1.0, 0.0, [], np.array([1.0, 2.0]), np.array([1.0, 3.0]))],
        [("it holds", False)], [], [mg.testing.report.Element("x", (1,), 2.0, 3.0, 1.0)])  # fmt: skip
    return {
        "tensor": x, "small": mg.ones(2), "tape": mg.tape(y), "why": x.explain_grad(x.sum()), "film": mg.viz.step(y),
        "grads": (x * x).sum().backward(), "report": report, "kernel": mg.viz.kernel(x.tanh(), machine=False),
        "precision": mg.viz.precision(lambda x: x * x, [1.1, 2.3]),
        "curves": mg.viz.curves([1.0, 2.0]), "layout": mg.viz.layout(mg.ones(2)), "memory": mg.viz.memory(perceptron()),
        "heat": mg.viz.tensor(mg.arange(12).reshape(3, 4) - 4.0),
        "graph": SimpleNamespace(_repr_html_=mg.viz.graph(layers(2), fold=True).html),
        "plain graph": SimpleNamespace(_repr_html_=mg.viz.graph(x.sum()).html),
    }  # fmt: skip


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_saved_page_follows_the_scheme_and_fits(opened: Any, scheme: str, width: int) -> None:
    y, paper = perceptron(), {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 23, 28)"}[scheme]
    for picture in (
        mg.viz.graph(y), mg.viz.step(y), mg.viz.memory(y), mg.viz.kernel(mg.Var([1.0, 2.0]).tanh()),
        mg.viz.precision(lambda x: x * x, [1.1, 2.3]), mg.viz.curves(mg.tanh, orders=1), mg.viz.layout(mg.ones(3, 30)),
        mg.viz.tensor(mg.arange(12).reshape(3, 4) - 4.0),
    ):  # fmt: skip
        page = opened(picture, viewport={"width": width, "height": 700}, color_scheme=scheme)
        assert page.evaluate(FAINT) == []
        assert set(page.locator("body, .mg").evaluate_all(GROUNDS)) == {paper}
        assert set(page.locator("svg > rect:first-of-type").evaluate_all(FILLS)) <= {paper}
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        columns = page.locator(".mg-columns > div").evaluate_all(
            "(parts) => parts.map((e) => e.getBoundingClientRect()).map((r) => [r.left, r.right, r.top, r.bottom])"
        )
        for k, (left, _, top, _) in enumerate(columns[1:]):
            assert left >= columns[k][1] or top >= columns[k][3], "columns do not overlap"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_in_jupyterlab_all_of_it_can_be_read(chromium: Any, theme: str, scheme: str) -> None:
    colours = "".join(f"--jp-{name}: {value};" for name, value in THEMES[theme].items())
    body = "".join(f'<div class="out">{each._repr_html_()}</div>' for each in shown_in_notebooks().values())
    page = chromium.new_page(color_scheme=scheme)
    marked = f'<body data-jp-theme-light="{str(theme == "light").lower()}">'
    page.set_content(f"<style>:root {{ {colours} }} {JUPYTER}</style>{marked}{body}</body>")
    paper = "rgb(255, 255, 255)" if theme == "light" else "rgb(18, 23, 28)"
    assert set(page.locator("svg > rect:first-of-type").evaluate_all(FILLS)) == {paper}
    assert set(page.locator(".mg").evaluate_all(GROUNDS)) == {paper}
    for k in range(4):
        assert page.evaluate(FAINT) == [], f"step {k} of the film"
        page.click('[data-do="next"]')
        page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.close()


def test_a_graph_folds_as_an_output_of_vs_code(chromium: Any) -> None:
    page = chromium.new_page()
    page.set_content(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><body></body>')
    page.evaluate(VS_CODE, mg.viz.graph(layers(3), fold=True).html())
    page.click('[id="node-scope1"]')
    assert state(page) == ["false", "true", "false"]
    page.close()
