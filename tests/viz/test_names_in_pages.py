"""Names of Functions, Vars, scopes, files and lines are text in every page and picture, never markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import minigrad as mg

BAD = '<img src=x onerror="alert(1)">&\'</script>'
Own = type(
    BAD,
    (mg.Function,),
    {"forward": staticmethod(lambda ctx, x: x * 2.0), "backward": staticmethod(lambda ctx, g: g * 2.0)},
)
names: dict[str, Any] = {"Own": Own}
exec(compile("def program(x):\n    return Own.apply(x).exp()\n", f"{BAD}.py", "exec"), names)


def graph() -> tuple[Any, Any]:
    x = mg.Var([float(k) for k in range(20)], name=BAD, device="reference")
    with mg.debug(), mg.viz.scope(BAD):
        return x, names["program"](x / 20.0).sum()


def of(f: Any) -> Any:
    f.__name__ = f.__qualname__ = BAD
    return f


WRITERS: dict[str, Callable[[Any, Any], Any]] = {
    "step": lambda x, y: mg.viz.step(y),
    "graph": lambda x, y: mg.viz.graph(y),
    "folded graph": lambda x, y: mg.viz.graph(y, fold=True),
    "memory": lambda x, y: mg.viz.memory(y),
    "tape": lambda x, y: mg.tape(y),
    "explain_grad": lambda x, y: x.explain_grad(y),
    "a Var": lambda x, y: x,
    "gradients": lambda x, y: y.backward(),
    "precision": lambda x, y: mg.viz.precision(of(lambda a: a.exp() * a), x, names=[BAD]),
    "curves": lambda x, y: mg.viz.curves({BAD: [1.0, 2.0, 0.5]}),
    "layout": lambda x, y: mg.viz.layout(x),
    "kernels": lambda x, y: mg.viz.kernel(y),
}


def pages(shown: Any) -> list[str]:
    """All that a notebook or a file is given."""
    found = [getattr(shown, name)() for name in ("_repr_html_", "_repr_svg_") if hasattr(shown, name)]
    if hasattr(shown, "_repr_mimebundle_"):
        found += [text for kind, text in shown._repr_mimebundle_().items() if kind != "text/plain"]
    found += [part for part in (getattr(shown, "svg", None), getattr(shown, "html", None)) if isinstance(part, str)]
    return [page for page in found if page]


@pytest.mark.parametrize("name", WRITERS)
def test_a_name_with_markup_is_shown_as_text(name: str) -> None:
    found = pages(WRITERS[name](*graph()))
    assert found
    for page in found:
        assert "<img src=x" not in page and 'x onerror="' not in re.sub(r"<pre>.*?</pre>", "", page, flags=re.S)
