"""The figures of `tests.house`, on small trees."""

import json

import pytest

from tests import house


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of three rooms, in place of minigrad."""
    files = {
        "core/requests.py": "class Fill(Request):\n    pass\nclass Other:\n    pass\n",
        "kernels/cpu/scan.py": "TASK = 3\ndef along(x, out, N):\n    out[TASK] = F(LOAD_0(x[SIDE]))\n",
        "backends/cpu/scan.py": "def write_scan():\n    return write_kernel(1)\ndef write_no():\n    pass\n",
        "ops/scan.py": "if x:\n    raise Error(\n        1\n    )\nif y:\n    raise E\nelse:\n    pass\n",
    }
    for name, text in files.items():
        path = tmp_path / "minigrad" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(house, "PACKAGE", tmp_path / "minigrad")
    return tmp_path / "minigrad"


def test_ideas_are_counted(package):
    assert house.requests() == 1
    assert house.private_words() == {"SIDE"}
    assert house.writers() == 1
    assert house.raising_lines("ops") == 4
    assert house.by_folder() == {"ops": 8, "core": 4, "backends": 4, "kernels": 3}


def test_a_circle_of_rooms_is_one_floor():
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert house.floors(arrows) == 3


def test_a_figure_above_its_limit_fails_and_a_limit_only_falls(package, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(house, "LIMITS", tmp_path / "limits.json")
    house.LIMITS.write_text("{}")
    assert house.main(["--lower"]) == 0
    limits = json.loads(house.LIMITS.read_text())
    assert limits["kinds of requests"] == 1
    (package / "core" / "requests.py").write_text("class Fill(Request):\n    pass\nclass Copy(Request):\n    pass\n")
    assert house.main([]) == 1
    assert "above the limit: kinds of requests" in capsys.readouterr().out
    house.main(["--lower"])
    assert json.loads(house.LIMITS.read_text())["kinds of requests"] == 1
