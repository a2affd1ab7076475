"""Parts of pages that are not Markdown: raw HTML, and pictures for the light and the dark theme."""

from __future__ import annotations

import inspect


class Unquoted(str):
    """An annotation without quotes."""

    def __repr__(self) -> str:
        return str(self)


def signature(found: object) -> str:
    """Return the signature of a function or class, "(...)" if there is none."""
    try:
        whole = inspect.signature(found)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
    result, parameters = shown(whole.return_annotation), whole.parameters.values()
    return str(
        whole.replace(
            parameters=[p.replace(annotation=shown(p.annotation)) for p in parameters], return_annotation=result
        )
    )


def shown(annotation: object) -> object:
    """Return an annotation without the quotes of a string."""
    return Unquoted(annotation) if isinstance(annotation, str) else annotation


def raw(text: str) -> str:
    """Return raw HTML as a directive."""
    return f"```{{raw}} html\n{text}\n```"


def drawn(light: str, dark: str) -> str:
    """Return a picture for the light and the dark theme; it scrolls if the page is narrow."""
    box = '<div class="only-{}" style="overflow-x:auto">{}</div>'
    return raw(box.format("light", light) + box.format("dark", dark))
