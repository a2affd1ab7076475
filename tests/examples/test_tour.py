"""The hour is an hour: its files are few and short, it names no others, and what it says of them is there."""

import ast
import re
from pathlib import Path

import pytest
from cases import over

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FILES, LINES, IN_ALL = 12, 230, 1500
NEAR = 12  # by how much the number in the table may be wrong before somebody should correct it

TOUR = (DOCS / "tour.md").read_text(encoding="utf-8")
HOUR, SECOND = TOUR.split("## Beyond the tour\n")
ROWS = re.findall(r"^\| (\d+) \| `([^`]+)` \| (\d+) \|", HOUR, re.MULTILINE)
TABLE = {path: int(lines) for _, path, lines in ROWS}
SOURCE = re.compile(r"(?<![\w./-])(?:minigrad|tests|examples)/[\w./-]*\w")

QUESTIONS = (DOCS / "tour_questions.md").read_text(encoding="utf-8")
# In a cell, "`file`, `name`": the name stands in the file.
PLACES = sorted(set(re.findall(r"`(minigrad/[\w/]+\.py)`, `(\w+)`", QUESTIONS)))

GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^\| (?!word )([\w, ]+) \|", GLOSSARY, re.MULTILINE)


def length(path: str) -> int:
    """Number of lines."""
    return len((ROOT / path).read_text(encoding="utf-8").splitlines())


def test_the_hour_has_few_files_and_every_row_of_its_table_is_read():
    assert len(ROWS) == len(TABLE) == HOUR.count("\n| ") - 1 <= FILES


@pytest.mark.parametrize("path", TABLE)
def test_a_file_of_the_hour_is_short_and_as_long_as_the_table_says(path):
    assert length(path) <= LINES
    assert abs(length(path) - TABLE[path]) <= NEAR


def test_the_hour_is_short_in_all():
    assert sum(map(length, TABLE)) <= IN_ALL


def test_the_minutes_of_the_hour_are_sixty():
    assert sum(int(minutes) for minutes, _, _ in ROWS) == 60


def test_the_hour_names_no_other_file_but_in_links():
    assert set(SOURCE.findall(HOUR)) == set(TABLE)


def test_the_files_of_the_hour_are_taken_in_the_order_of_the_table():
    text = HOUR[HOUR.index("## 1.") :]
    assert sorted(TABLE, key=text.index) == list(TABLE)


@pytest.mark.parametrize("page", [TOUR, QUESTIONS], ids=["tour", "questions"])
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page)
    assert links and [link for link in links if not (DOCS / link).exists()] == []


@over(("path", "name"), PLACES, ids=lambda value: Path(value).stem)
def test_where_a_question_is_answered_there_is_something(path, name):
    assert re.search(rf"\b{name}\b", (ROOT / path).read_text(encoding="utf-8"))


def test_every_question_has_a_place():
    rows = re.findall(r"^\| ([^*|]+\?) \| (.+) \| (.+) \|$", QUESTIONS, re.MULTILINE)
    sections = set(re.findall(r"^## (\d+)\.", HOUR, re.MULTILINE))
    assert len(rows) > 40
    for question, answer, where in rows:
        assert answer.strip() and where.strip(), question
        assert set(re.findall(r"\d+", where.split(";")[0] if "section" in where else "")) <= sections, question


# ---- the words ------------------------------------------------------------------------------------------------------


IN_PROSE = {"dialect"}  # what the text of a body is written in: nothing has the name, `kernels/scalar.py` says the word


def words_of_the_code() -> set[str]:
    """The parts of the names that the package gives to modules, functions, classes, arguments, fields and variables.

    Prose does not count: nearly every word of English stands in some docstring.
    """
    found: set[str] = set()
    for path in (ROOT / "minigrad").rglob("*.py"):
        names = [path.stem]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                    names.append(name)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    names.append(name)
        found.update(part.lower() for name in names for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name))
    return found


def test_the_glossary_is_small_and_in_order():
    assert 20 <= len(ENTRIES) == GLOSSARY.count("\n| ") - 1 <= 25
    assert sorted(ENTRIES) == ENTRIES


def test_the_words_of_the_glossary_are_those_of_the_code():
    known = words_of_the_code()
    words = {word for entry in ENTRIES for word in entry.split(", ")}
    assert {word for word in words if not all(known & {part, f"{part}s"} for part in word.split())} == IN_PROSE
    assert all(word in (ROOT / "minigrad/kernels/scalar.py").read_text(encoding="utf-8") for word in IN_PROSE)


def test_words_that_the_code_says_only_in_passing_are_not_its_words():
    assert not words_of_the_code() & {"the", "nevertheless", "somebody"}
