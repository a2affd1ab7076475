"""`python -m tests.prose [--show RULE] [--write]`: count idioms that a reader of English stumbles over.

The text is that of README, docs, decisions, notebooks, docstrings, comments and error messages; code is left out.
Each file may have as many hits of a rule as `prose_baseline.json` lists, which `--write` lowers and never raises.
`make lint` runs it, and fails where a file has more.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BASELINE = Path(__file__).with_name("prose_baseline.json")
THINGS = r"(?:rule|op|kernel|plan|node|graph|layout|backend|device|tensor|storage|file|table|key)s?"
TALKS = r"(?:says|said|tells|told|knows|wants|asks|asked|hears|sees|looks at)"
QUANTITIES = (
    "axis block byte call core device dim element file function gradient kernel launch leaf node number op operand "
    "pass result row sample second step tensor thread time value worker"
).replace(" ", "|")

# Rule: (pattern, what to write instead).
RULES = {
    "what-noun": (
        r"(?:^|(?<=[.:;] ))(?:What|Who|Whoever|Whatever)\b(?![^.]*\?)",
        "a noun: the value, the op, the user"),
    "what-object": (
        r"\b(?:of|to|for|from|by|in|with|into|returns?|gives?|has|keeps?|reads?|writes?|makes?) what\b(?![^.]*\?)",
        "a noun: the value, the memory, the text"),
    "is-no": (
        r"(?<!here )\b(?:is|are|was|were|be) no (?!longer|more|less|different|other|way|need|such|one\b)\w+",
        "'is not a'"),
    "an-for-per": (
        rf"\b(?:one|two|\d+) (?!(?:of|for|with|in|at|and|is|as|when|along|after|by|from|where)\b)\w+s? an? "
        rf"(?:{QUANTITIES})\b",
        "'per operand', 'for each row'"),
    "stands": (r"\b(?:stands?|stood)\b(?! (?:for|out)\b)", "'is', 'is in', 'appears'"),
    "old-word": (
        r"\b(?:mend(?:s|ed)?|dear(?:er)?|thrice|anew|likewise|shall|alike|but for|inside of|whole numbers?|"
        r"truth values?)\b",
        "fix, expensive, again, also, must, equal, except, inside, integer, boolean"),
    "private-word": (r"\b(?:films?|roads?|rooms?|seats?|halves|floors? (?:of|below|above))\b", "the term of the field"),
    "wrt": (
        r"\b(?:derivative|gradient|slope)s?(?: of [^.;,]{1,30})? (?:by|in) (?:each of |the |its |all )?"
        r"(?:`\w+`|x\b|operands?\b|inputs?\b|weights?\b)",
        "'with respect to'"),
    "talking-code": (rf"\b{THINGS} {TALKS}\b", "'specifies', 'stores', 'requires', 'reports'"),
    "bare-else": (r"[,;] else\b|\bor else\b", "'otherwise', or two sentences"),
    "of-library": (
        r"\b(?:number|function|type|array|kernel|op|name)s? of (?:Python|NumPy|minigrad|PyTorch|JAX|Numba)(?!'s)\b",
        "'a Python number', 'NumPy arrays'"),
}  # fmt: skip
DIRECTIVE = re.compile(r"#!|# (?:noqa|type:|fmt:|mypy:|ruff:|%%|----)")
PATTERNS = {name: re.compile(pattern) for name, (pattern, _) in RULES.items()}


class Hit(NamedTuple):
    """One place: the file, the line, the rule and the words around it."""

    path: str
    line: int
    rule: str
    words: str


def plain(text: str) -> str:
    """Return prose without code, formulas and the targets of links."""
    text = re.sub(r"\$\$?[^$]*\$\$?", "(formula)", text)
    return re.sub(r"\s+", " ", re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "`x`", text)))


def of_markdown(text: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a page with their lines; tables, code blocks and directives are left out."""
    start, lines, fenced = 0, [], False
    for k, line in enumerate([*text.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        fenced = fenced != fence
        ends = fenced or fence or not line.strip() or re.match(r"\s*(?:[-*+|#:]|\d+\.) ?", line)
        if ends and lines:
            yield start, " ".join(lines)
            lines = []
        if not fenced and not fence and line.strip() and not line.lstrip().startswith(("|", ":::")):
            start = start if lines else k
            lines.append(line.strip().lstrip("#-*+ "))


def of_notebook(text: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of the Markdown cells of a notebook's source."""
    cells = re.split(r"(?m)^# %%", text)
    at = 1
    for cell in cells:
        if cell.lstrip().startswith("[markdown]"):
            body = "\n".join(line.removeprefix("# ").removeprefix("#") for line in cell.splitlines()[1:])
            yield from ((at + 1 + line, words) for line, words in of_markdown(body))
        at += cell.count("\n")


def of_python(text: str) -> Iterator[tuple[int, str]]:
    """Yield docstrings by paragraph, comments, and the first arguments of what is raised."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            shown = re.sub(r"(?m)^\s*(?:>>>|\.\.\.).*$", "", ast.get_docstring(node) or "")
            yield from ((node.body[0].lineno, part) for part in shown.split("\n\n"))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            first = node.exc.args[0]
            parts = first.values if isinstance(first, ast.JoinedStr) else [first]
            yield node.lineno, "".join(str(p.value) if isinstance(p, ast.Constant) else "`x`" for p in parts)
    remark, last = "", 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not DIRECTIVE.match(token.string):
            if remark and token.start[0] == last + 1:
                remark += " " + token.string.lstrip("# ")
            else:
                yield last, remark
                remark = token.string.lstrip("# ")
            last = token.start[0]
    yield last, remark


def files() -> Iterator[tuple[Path, str]]:
    """Yield each file that is read, with its kind."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    yield from ((path, "markdown") for path in pages if not {"_build", "_generated"} & set(path.parts))
    yield from ((path, "notebook") for path in sorted((ROOT / "notebooks").rglob("[0-9A]*_*.py")))
    yield from ((path, "python") for path in sorted((ROOT / "minigrad").rglob("*.py")))


def hits() -> Iterator[Hit]:
    """Yield every hit of every rule."""
    readers = {"markdown": of_markdown, "notebook": of_notebook, "python": of_python}
    for path, kind in files():
        name = path.relative_to(ROOT).as_posix()
        for line, paragraph in readers[kind](path.read_text(encoding="utf-8")):
            text = plain(paragraph)
            for rule, pattern in PATTERNS.items():
                for match in pattern.finditer(text):
                    yield Hit(name, line, rule, text[max(0, match.start() - 40) : match.end() + 40])


def main(arguments: list[str] | None = None) -> int:
    """Compare the counts with the baseline; 1 where a file has more hits of a rule than are listed."""
    parser = argparse.ArgumentParser(prog="python -m tests.prose", description=__doc__)
    parser.add_argument("--show", choices=[*RULES, "all"], help="print the hits of a rule")
    parser.add_argument("--write", action="store_true", help="lower the baseline to what is there")
    options = parser.parse_args(arguments)
    every = list(hits())
    counted = Counter((hit.path, hit.rule) for hit in every)
    listed = json.loads(BASELINE.read_text(encoding="utf-8"))
    allowed = {(path, rule): n for path, rules in listed.items() for rule, n in rules.items()}
    if options.write:
        kept: dict[str, dict[str, int]] = {}
        for (path, rule), n in sorted(counted.items()):
            if allowed.get((path, rule), 0):
                kept.setdefault(path, {})[rule] = min(n, allowed[path, rule])
        BASELINE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    more = {key for key, n in counted.items() if n > allowed.get(key, 0)}
    for hit in every:
        if options.show in ("all", hit.rule) or ((hit.path, hit.rule) in more and not options.show):
            print(f"{hit.path}:{hit.line}: {hit.rule}: ...{hit.words}...  Write {RULES[hit.rule][1]}.")
    print(f"prose: {len(every)} hits, {sum(allowed.values())} allowed; too many in {len(more)} files")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
