"""Names of Functions, Vars, scopes, modules, parameters, files and lines are text in every page and picture.

Every writer runs twice: with a harmless name, and with one of the same length that is markup.  Parsed as HTML, both
pages must have the same elements with the same attributes, and the hostile name must not be in a script, in a style
sheet or in an attribute that runs or loads something.
"""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad.api.page import save_page
from minigrad.testing.report import Argument, Element, Report

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "\"><svg onload='alert(1)'>&'",
    "</title></pre></style></script><script>alert(1)</script>",
    "--></template><!-- &lt;b&gt;]]>alert(1)",
    "javascript:alert(1)//`${alert(1)}`\\",
)

# Which device computes does not matter here, and this one compiles nothing.
pytestmark = pytest.mark.usefixtures("reference")


def own(name: str) -> Any:
    """A Function of this name."""
    rules = {"forward": staticmethod(lambda ctx, x: x * 2.0), "backward": staticmethod(lambda ctx, g: g * 2.0)}
    return type(name, (mg.Function,), rules)


def graph(name: str) -> tuple[Any, Any]:
    """A Var, and a scalar of it by a Function, in a scope, from a file: all of this name."""
    names: dict[str, Any] = {"Own": own(name)}
    exec(compile("def program(x):\n    return Own.apply(x).exp()\n", f"{name}.py", "exec"), names)
    x = mg.Var([float(k) for k in range(20)], name=name, device="reference")
    with mg.debug(), mg.viz.scope(name):
        return x, names["program"](x / 20.0).sum()


def called(f: Any, name: str) -> Any:
    f.__name__ = f.__qualname__ = name
    return f


def model(name: str) -> Any:
    """A module whose class, child and parameter have the name, as far as names of modules may."""
    kind = type(name, (mg.nn.Module,), {"forward": lambda self, x: self.children_()[0](x)})
    made = kind()
    made.add_module(name.replace(".", ""), mg.nn.Linear(2, 2))
    kind.children_ = lambda self: list(self.children())
    return made


def report(name: str) -> Report:
    argument = Argument(
        name, (2,), "float64", 1e-6, 2, 1.0, 0.0, [], np.array([1.0, 2.0]), np.array([1.0, 3.0])
    )  # fmt: skip
    return Report(name, [argument], [(name, False)], [name], [Element(name, (1,), 2.0, 3.0, 1.0)])


def log(name: str) -> Any:
    made = mg.viz.Log(show=False)
    for k in range(3):
        made(**{name: 1.0 / (k + 1)})
    return made.curves()


def program(name: str) -> Any:
    step = mg.jit(called(lambda x: x.exp() * 2.0, name))
    for _ in range(2):
        step(mg.ones(2))
    return step.graph()


WRITERS: dict[str, Callable[[str], Any]] = {
    "step": lambda name: mg.viz.step(graph(name)[1]),
    "graph": lambda name: mg.viz.graph(graph(name)[1]),
    "folded graph": lambda name: mg.viz.graph(graph(name)[1], fold=True),
    "tinted graph": lambda name: mg.viz.graph(graph(name)[1], colour="gradient"),
    "named graph": lambda name: (lambda x: mg.viz.graph(x.exp(), names={name: x}))(mg.Var([1.0])),
    "memory": lambda name: mg.viz.memory(graph(name)[1]),
    "program": lambda name: program(name),
    "tape": lambda name: mg.tape(graph(name)[1], timed=False),
    "explain_grad": lambda name: (lambda x, y: x.explain_grad(y))(*graph(name)),
    "why none": lambda name: mg.Var([1.0], name=name).explain_grad(graph(name)[1]),
    "a Var": lambda name: graph(name)[0],
    "a small Var": lambda name: mg.Var([1.0], name=name),
    "gradients": lambda name: graph(name)[1].backward(),
    "precision": lambda name: mg.viz.precision(called(lambda a: a.exp() * a, name), [1.1, 2.0], names=[name]),
    "curves": lambda name: mg.viz.curves({name: [1.0, 2.0, 0.5]}),
    "a function": lambda name: mg.viz.curves(called(lambda x: x.tanh(), name)),
    "log": log,
    "layout": lambda name: mg.viz.layout(graph(name)[0]),
    "tensor": lambda name: mg.viz.tensor(graph(name)[0]),
    "kernels": lambda name: mg.viz.kernel(own(name).apply(mg.Var([1.0])), machine=False),
    "summary": lambda name: mg.nn.summary(model(name), mg.ones(1, 2)),
    "gradcheck": report,
}


class Skeleton(HTMLParser):
    """The elements of a page with the names of their attributes, and where text must not come from a user."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.risky: list[str] = []  # what runs or loads: scripts, sheets, src, href, style
        self.inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(key for key, _ in attrs)))
        self.risky += [value or "" for key, value in attrs if key in ("src", "href", "style", "class")]
        assert not any(key.startswith("on") or key in ("srcdoc", "action", "formaction") for key, _ in attrs), attrs
        assert all((value or "").startswith("data:image/png;") for key, value in attrs if key == "src"), attrs
        self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        self.elements.append((f"/{tag}", ()))
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside in ("script", "style"):
            self.risky.append(data)

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", ()))


def pages(shown: Any, folder: Path) -> dict[str, str]:
    """All that a notebook or a file is given, by its kind."""
    found = {name: getattr(shown, name)() for name in ("_repr_html_", "_repr_svg_") if hasattr(shown, name)}
    if hasattr(shown, "_repr_mimebundle_"):
        found |= {kind: text for kind, text in shown._repr_mimebundle_().items() if kind != "text/plain"}
    if hasattr(shown, "save"):
        found["page"] = shown.save(folder / "page.html").read_text(encoding="utf-8")
    elif found:
        found["page"] = save_page(folder / "page.html", repr(shown), found["_repr_html_"]).read_text(encoding="utf-8")
    if isinstance(getattr(shown, "svg", None), str) and shown.svg:
        found |= {"svg": shown.svg, "dark svg": shown.on_black}
    return found


def harmless(name: str) -> str:
    """A name of the same length and in the same lines without a letter that means anything."""
    return "q" * len(name)


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("writer", WRITERS)
def test_no_element_and_no_attribute_comes_from_a_name(writer: str, hostile: str, tmp_path: Path) -> None:
    bad, good = (pages(WRITERS[writer](name), tmp_path) for name in (hostile, harmless(hostile)))
    assert bad and bad.keys() == good.keys()
    assert all(("alert(1)" in unescape(page)) == (writer != "layout") for page in bad.values()), "names are shown"
    for kind, page in bad.items():
        one, other = Skeleton(page), Skeleton(good[kind])
        assert one.elements == other.elements, kind
        assert not any(hostile in text or "alert(1)" in text for text in one.risky), kind
        if "svg" in kind:
            ElementTree.fromstring(page)


def test_the_test_would_see_markup() -> None:
    assert Skeleton("<p>q</p>").elements != Skeleton(f"<p>{HOSTILE[2]}</p>").elements
    for name in HOSTILE[:2]:
        with pytest.raises(AssertionError):
            Skeleton(f'<p title="{name}">{name}</p>')


def test_every_picture_is_written_here() -> None:
    public = {name for name in mg.viz.__all__ if name.islower()} - {"explain", "explanation", "kernels", "scope"}
    assert public <= {"kernel", *WRITERS} and {"Log", "Heat"} <= set(mg.viz.__all__)
