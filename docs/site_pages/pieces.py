"""What pages have beside Markdown: HTML as it is, and pictures for both of the theme's looks."""

from __future__ import annotations

import inspect


class Unquoted(str):
    """An annotation that is shown as it is written."""

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
    """HTML as it is."""
    return f"```{{raw}} html\n{text}\n```"


def drawn(light: str, dark: str) -> str:
    """A picture for either of the theme's looks; it scrolls where the page is narrow."""
    box = '<div class="only-{}" style="overflow-x:auto">{}</div>'
    return raw(box.format("light", light) + box.format("dark", dark))
