"""Parse a written docstring into the parts from which `documentation` builds sections.

The conventions are those of the module `documentation`: the first sentence is the summary, "name: text" describes a
parameter, and words such as "Gradient:" begin a section.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

INDENTED = re.compile(r"^(Raises|Examples?|Attributes|Returns):\n((?:(?: {4}.*)?(?:\n|$))+)", re.MULTILINE)
HEADING = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}\n?", re.MULTILINE)
ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: ?:(?: (.*)|$))?")
ERROR = re.compile(r"(?:,? and |,? or |, |^)([A-Z]\w*(?:Error|OutOfRange|Advice))\b")
PARTS = {"Gradient": "Gradient", "Gradients": "Gradient", "Source": "References", "Sources": "References"}
# Labels of paragraphs in the Notes, which keep their labels.
LABELS = "DTypes|Shapes|Order|Error|Special values|Complexity|Windows"
# The type of a parameter or a result, if the annotation does not state it: "padding (int or tuple): ...".
TYPE = r"(?: \(((?:[^()]|\([^()]*\))*)\))?"
NAMES = ("dtype", "dim", "input", "inf", "nan", "p", "g", "x", "n")  # names that are quoted at the start of a sentence


class Text:
    """Split a written docstring into its summary, the description of each parameter, and the text of each section.

    names: the names of the function's parameters; a label "name: " with one of these names begins a description.
    """

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.described: dict[str, tuple[str, str]] = {}  # maps a parameter to (type, description)
        self.sections: dict[str, list[str]] = {}
        self.raised: list[tuple[str, str]] = []
        self.result = ("", "")  # (type, description)
        self.names = frozenset(names)
        alternatives = "|".join(sorted(map(re.escape, names), key=len, reverse=True)) or "(?!)"
        listed = rf"(?:{alternatives})(?:(?:, | and )(?:{alternatives}))*"
        self.mark = re.compile(
            rf"(?:^|(?<=[.;)])\s+)(?:({'|'.join(PARTS)}|Returns|{LABELS}|{listed}){TYPE}: "
            r"|(?=(Raises) (?:as |[A-Z]\w*(?:Error|OutOfRange)))|(?=(Not differentiable)\b))"
        )
        head, *rest = HEADING.split(INDENTED.sub(headed, text))
        first, *paragraphs = re.split(r"\n\s*\n", head.strip("\n"))
        parts = list(self.parted(first.replace("\n", " ")))
        sentences = re.split(r"(?<=\.)  (?=\S)", parts[0][1]) if parts[0][0] is None else [""]
        self.summary = re.sub(r"[;,]$", ".", sentences[0])
        self.add("Notes", "  ".join(sentences[1:]))
        self.read(parts[1:] if parts[0][0] is None else parts)
        for name, body in zip(rest[::2], rest[1::2]):
            self.section(name, body.strip("\n"))
        for paragraph in paragraphs:
            self.paragraph(paragraph)

    def add(self, section: str, text: str) -> None:
        """Add a paragraph to a section, unless the paragraph is empty."""
        if text.strip():
            self.sections.setdefault(section, []).append(text)

    def parted(self, text: str) -> Iterator[tuple[str | None, str, str]]:
        """Yield the label of each part of a paragraph, such as a parameter or "Gradient", its text, and its type.

        The label of text before the first label is None; the type is "" unless the docstring states it.
        """
        marks = list(self.mark.finditer(text))
        ends = [match.start() for match in marks[1:]] + [len(text)]
        start = marks[0].start() if marks else len(text)
        if text[:start].strip():
            yield None, text[:start].strip(), ""
        for match, end in zip(marks, ends):
            yield match[1] or match[3] or match[4], text[match.end() : end].strip(), match[2] or ""

    def paragraph(self, text: str) -> None:
        """Read a paragraph; an example, and a paragraph with indented lines, are added unchanged."""
        if text.lstrip().startswith(">>>"):
            self.add("Examples", text)
        elif any(line.startswith((" ", "* ", "|")) for line in text.splitlines()):
            self.add("Notes", text)
        else:
            # A label such as "DTypes: ..." at the start of a line begins a paragraph.
            lines = re.sub(r"\n(?![A-Z][\w ]*:)", " ", text)
            for line in lines.splitlines():
                self.read(self.parted(line))

    def read(self, parts: Any) -> None:
        """Add the parts of a paragraph to the sections to which their labels belong."""
        for about, text, kind in parts:
            if about is None:
                self.add("Notes", text)
            elif about == "Raises":
                sentence, _, more = text.partition(".  ")
                self.raises(sentence.removeprefix("Raises "))
                self.add("Notes", more)
            elif about == "Returns":
                self.result = (kind, closed(text))
            elif about == "Not differentiable":
                self.add("Gradient", text)
            elif about in PARTS:
                self.add(PARTS[about], closed(text))
            elif about in LABELS.split("|"):
                self.add("Notes", f"{about}: {closed(text)}")
            else:
                for name in re.split(r", | and ", about):
                    self.described.setdefault(name, (kind, ended(text)))

    def raises(self, text: str) -> None:
        """Record each exception in a text such as "ShapeError for rows of two lengths, DTypeError for bool"."""
        before, *errors = ERROR.split(text)
        self.add("Notes", f"Raises {closed(before)}" if before else "")  # "Raises as `max_pool2d` does, ..."
        reason, before_these = "", len(self.raised)
        for name, condition in reversed(list(zip(errors[::2], errors[1::2]))):  # "DTypeError or ShapeError if ..."
            reason = condition.strip(" ,") or reason
            self.raised.insert(before_these, (name, ended(reason)))

    def section(self, name: str, body: str) -> None:
        """Read a section with a heading.

        An Attributes section counts as Parameters if all of its attributes are parameters of the class.
        """
        if name == "Attributes" and {*re.findall(r"\w+", " ".join(re.findall(r"(?m)^\S.*", body)))} <= self.names:
            name = "Parameters"
        if name not in ("Parameters", "Raises"):
            first, *more = re.split(r"\n\s*\n(?=\S)", body) if name in ("Returns", "Attributes") else [body]
            self.add(name, first)
            for paragraph in more:
                self.paragraph(paragraph)
            return
        about: list[str] = []
        kept: list[str] = []
        kind, blank = "", False
        for line in [*body.splitlines(), "end :"]:
            if line[:1] in ("", " "):
                kept += [line.strip()] if line else []
                blank = not line
                continue
            match = ENTRY.fullmatch(line) if name == "Parameters" else re.fullmatch(r"(\w+)(?: :)?", line)
            # A line of names only, such as "foreach, fused".
            if match is not None and ":" not in line and name == "Parameters":
                match = match if {*match[1].replace("*", "").split(", ")} <= self.names else None
            if match is None or (blank and match[1] != "end"):
                if not blank and kept:
                    kept.append(line)
                else:
                    self.paragraph(line)
                continue
            for each in about:
                typed = bool(kept) or not kind.endswith(".")  # "size : how many there are." has no type
                description = ended(" ".join(kept) or ("" if typed else kind))
                if name == "Raises":
                    self.raised.append((each, description))
                else:
                    self.described[each] = (kind if typed else "", description)
            about, kept = match[1].split(", "), []
            kind = (match[2] or "") if name == "Parameters" else ""


def headed(match: re.Match[str]) -> str:
    """Return an indented block, such as the lines after "Raises:", as a section with a NumPy heading."""
    name, body = match[1], textwrap.dedent(match[2]).strip("\n")
    name = "Examples" if name == "Example" else name
    if name in ("Raises", "Attributes"):
        body = re.sub(
            rf"(?m)^(\w+(?:, \w+)*){TYPE}: ", lambda m: f"{m[1]} : {m[2]}\n    " if m[2] else f"{m[1]}\n    ", body
        )
    return f"{name}\n{'-' * len(name)}\n{body}\n\n"


def closed(text: str) -> str:
    """Return a text with a full stop at its end, and with a capital letter unless it begins with a formula."""
    text = " ".join(text.split()).rstrip(";,")
    text = text[0].upper() + text[1:] if re.match(r"(?:a|[a-z]{2,})[- ,;.:]", text) else text
    return text if not text or text[-1] in ".!?" else f"{text}."


def ended(text: str) -> str:
    """Return a text as a sentence, with a capital letter and a full stop.

    A name of code at its beginning is put into backquotes and stays in lower case.
    """
    text = " ".join(text.split()).rstrip(";,")
    first = re.match(r"[a-z]\w*", text)
    if first and ("_" in first[0] or first[0] in NAMES):
        text = f"`{first[0]}`{text[first.end() :]}"
    return closed(text)
