"""Parts of pages: documentation as Markdown, raw HTML, and pictures for the light and the dark theme."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence


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
            parameters=[p.replace(annotation=shown(p.annotation)) for p in parameters if not p.name.startswith("_")],
            return_annotation=result,
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


# ---- documentation ---------------------------------------------------------------------------------------------------


def typeset(text: str) -> Iterator[str]:
    """Yield documentation in NumPy's sections as lines of Markdown: tables of parameters, and code for examples."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text.strip() + "\n", flags=re.MULTILINE)
    yield from (literal(parts[0].strip()), "")
    for title, body in zip(parts[1::2], parts[2::2]):
        yield from (f"**{title}**", "")
        if title in ("Parameters", "Raises", "Attributes"):
            yield from table(title, entries(body))
        elif title == "Examples":
            yield from ("```python", body.strip(), "```", "")
        elif title in ("Returns", "Yields"):
            for name, lines in entries(body):
                yield from (f"`{name}`: {literal(lines)}" if lines else literal(name), "")
        else:
            yield from (literal(body.strip()), "")


def entries(body: str) -> list[tuple[str, str]]:
    """Return the entries of a section: their first lines, and the indented text below, as one line."""
    found: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.strip() and not line.startswith(" "):
            found.append((line.strip(), []))
        elif line.strip() and found:
            found[-1][1].append(line.strip())
    return [(first, " ".join(lines)) for first, lines in found]


def table(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a table of parameters with their types, or of errors with their causes."""
    named = title != "Raises"
    yield from ("| name | type | meaning |", "|---|---|---|") if named else ("| error | cause |", "|---|---|")
    for first, meaning in rows:
        name, _, kind = first.partition(" : ")
        cells = [f"`{name}`", literal(kind), literal(meaning)] if named else [f"`{name}`", literal(meaning)]
        yield "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
    yield ""


def literal(text: str) -> str:
    """Return text in which Markdown finds no emphasis and no link; code and the marks of lists stay."""
    return "\n".join(line if line.startswith("    ") else escaped(line) for line in text.split("\n"))


def escaped(line: str) -> str:
    """Return a line with the characters of Markdown escaped, except in backquotes and at the start of an item."""
    mark, rest = re.match(r"((?:\* )?)(.*)", line).groups()  # type: ignore[union-attr]
    pieces = re.split(r"(`[^`]*`)", rest)
    return mark + "".join(
        piece if k % 2 else re.sub(r"([*_\[\]<>$\\])", r"\\\1", piece) for k, piece in enumerate(pieces)
    )
