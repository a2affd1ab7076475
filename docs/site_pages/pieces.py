"""What pages have beside Markdown: HTML as it is, and pictures for both of the theme's looks."""

from __future__ import annotations


def raw(text: str) -> str:
    """HTML as it is."""
    return f"```{{raw}} html\n{text}\n```"


def drawn(light: str, dark: str) -> str:
    """A picture for either of the theme's looks; it scrolls where the page is narrow."""
    box = '<div class="only-{}" style="overflow-x:auto">{}</div>'
    return raw(box.format("light", light) + box.format("dark", dark))
