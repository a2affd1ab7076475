"""Every example runs in its own process, as a reader runs it, and prints the expected numbers."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cases import over

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(name, *arguments):
    """What an example prints; a failure shows what it complained about."""
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_run_here():
    names = ["char_transformer", "checkpoint_chain", "cuda_saxpy", "custom_op", "data_parallel", "digits_cnn",
             "digits_mlp", "fixed_point", "gan_points", "gradient_penalty", "lstm_names", "newton",
             "ode_fit", "own_kernel", "per_example_gradients", "regression", "simple_grad", "spectral_fit", "spirals",
             "toy_device", "vae", "visualize_graph", "watch_launches"]  # fmt: skip
    assert [path.stem for path in EXAMPLES] == names


# A device is made of what is below the public names.
DEVICES = {"toy_device": 160, "watch_launches": 80}


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_of_ones_own_takes_few_lines(name):
    text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= DEVICES[name]
    assert not re.search(r"from minigrad[\w.]* import .*\b_\w", text)


@over("path", [p for p in EXAMPLES if p.stem not in DEVICES], ids=lambda path: path.stem)
def test_an_example_fits_on_two_screens_and_uses_the_public_names_only(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert "import minigrad as mg" in text
    assert set(re.findall(r"from (minigrad[\w.]*) import", text)) <= {
        "minigrad",
        "minigrad.data",
        "minigrad.nn.utils.rnn",
    }
    assert not re.search(r"\bmg\.(\w+\.)?_", text)


def test_simple_grad_prints_2x_plus_5():
    assert run("simple_grad.py").splitlines() == [
        "x     = [3.0, 1.0, 4.0]",
        "y     = [28.0, 10.0, 40.0]",
        "dy/dx = [11.0, 7.0, 13.0]",
    ]


def test_visualize_graph_draws_before_and_after_backward(tmp_path):
    text = run("visualize_graph.py", tmp_path)
    recorded, gradients = ((tmp_path / f"{name}.svg").read_text() for name in ("recorded", "gradients"))
    for picture in (recorded, gradients):
        ElementTree.fromstring(picture)
        assert all(name in picture for name in ("w1", "b1", "w2", "tanh", "mean"))
    assert "saves y" in recorded and "grad" not in re.sub("<title>.*?</title>", "", recorded)
    assert "saved values freed" in gradients and "grad" in gradients
    assert "recorded: 7 ops from 3 Vars:" in text
    assert "saves       nothing: its rules need no values" in text
    assert re.search(r"\|dloss/dw2\| = \d\.\d{4}\n", text)


def test_custom_op_is_right_on_every_layout_and_its_broken_twin_is_caught():
    text = run("custom_op.py")
    errors = [float(error) for error in re.findall(r"off by (\S+)", text)]
    assert len(errors) == 6 and max(errors) < 1e-6
    assert "mish(1) = 0.865098" in text
    assert text.count("True") == 3
    assert re.search(r"z\[i\] = x \* tanh_(32|64)\(s\)", text)
    assert "gradcheck: the gradient of 'x' is worst at (1, 2)" in text


def test_cuda_saxpy_agrees_with_the_cpu_and_goes_too_far_once():
    text = run("cuda_saxpy.py")
    lines = dict(line.split(":", 1) for line in text.splitlines())
    assert all(lines[way].split()[0] == "True" for way in ("as two ops", "as one op", "by hand"))
    if lines["device"].strip() == "simulator":
        told = "memory of 1000 float32 has 1000 elements, and 1000 is not among them (thread 104 of block 7)"
        assert told in text


def test_gradient_penalty_tells_the_points_apart_by_a_slope_of_one():
    last = run("gradient_penalty.py").splitlines()[-1]
    apart, slope, steep = (
        float(v) for v in re.fullmatch(r"step 400: apart (\S+), slope (\S+), penalty (\S+)", last).groups()
    )
    assert 2.5 < apart < 4.0 and 0.8 < slope < 1.3 and steep < 0.1


def test_own_kernel_has_derivatives_of_both_orders():
    text = run("own_kernel.py")
    assert "y     = [[1.0, 0.5, 0.25, 0.125], [1.0, 1.5, 1.75, 1.875]]" in text
    assert "dy/dx = [[2.65625, 1.3125, 0.625, 0.25], [4.84375, 5.6875, 5.375, 3.75]]" in text
    assert text.count("True") == 2


def test_checkpoint_chain_needs_a_fraction_of_the_memory_for_the_same_gradient():
    text = run("checkpoint_chain.py")
    plain, parts = (int(n) for n in re.findall(r"needs +(\d+) buffers", text))
    assert plain == 65 and parts <= 17
    assert "the gradients are the same: True" in text


@pytest.mark.slow
def test_digits_mlp_learns_and_shows_its_mistakes():
    text = run("digits_mlp.py", 12)
    losses = [float(loss) for loss in re.findall(r"epoch +\d+: loss (\S+),", text)]
    assert len(losses) == 12 and losses[-1] < 0.1 < losses[0]
    assert float(re.search(r"test accuracy (\S+)", text).group(1)) >= 0.96
    wrong = int(re.search(r"(\d+) of 355 test images are wrong", text).group(1))
    assert wrong <= 14
    assert text.count("taken for a") == min(3, wrong)


def test_toy_device_learns_a_line():
    assert run("toy_device.py") == "y = 2.000 x + 1.000 after 100 steps, loss 0.000000 on toy\n"


def test_watch_launches_shows_a_forward_and_backward_pass_and_what_a_sort_is_made_of():
    forward, backward, _, sort = run("watch_launches.py").split("\n\n")[:4]
    kinds = [re.findall(r"^  (\w+)\(", part, re.MULTILINE) for part in (forward, backward, sort)]
    assert kinds[0] == ["Product", "MapRows", "Reduce", "Elementwise"]
    assert kinds[1][-2:] == ["MapRows", "Product"]
    assert len(kinds[2]) > 20 and set(kinds[2]) == {"Elementwise"}  # stages of a network of exchanges
    assert "MapRows(softmax_backward, dim=1)" in backward or "MapRows(log_softmax_backward, dim=1)" in backward
    assert re.search(r"Product\(\) +float32\(3, 2\), float32\(2, 3\) -> float32\(3, 3\)\n", forward)


def test_watch_launches_shows_one_launch_of_each_function_and_two_of_a_variance():
    shown = run("watch_launches.py").split("\n\n")[2]
    calls = re.findall(r"^(\w+)\(.*\n((?:  .*\n?)+)", shown, re.MULTILINE)
    assert {name: re.findall(r"^  (\w+\(\w+)", lines, re.MULTILINE) for name, lines in calls} == {
        "norm": ["Reduce(length"], "logsumexp": ["LogSum(dims"], "count_nonzero": ["Reduce(count"],
        "mse_loss": ["Reduce(total"], "lerp": ["Elementwise(lerp"],
        "var": ["Reduce(total", "Reduce(total"],
    }  # fmt: skip


def test_newton_walks_down_the_valley():
    text = run("newton.py")
    assert float(re.search(r"all within (\S+) of 1", text).group(1)) < 1e-8
    assert float(re.search(r"agree to (\S+)", text).group(1)) < 1e-10
    assert 10 < len(re.findall(r"^step", text, re.MULTILINE)) < 40


def test_per_example_gradients_are_those_of_the_mean():
    text = run("per_example_gradients.py")
    assert float(re.search(r"differ by (\S+)", text).group(1)) < 1e-6
    before, after = (float(norm) for norm in re.findall(r"median norm (\S+),", text))
    assert after < 0.5 * before
    assert "hardest images: number" in text


def test_a_fixed_point_is_differentiated_without_the_way_to_it():
    text = run("fixed_point.py")
    distances = [float(d) for d in re.findall(r"differ by (\S+)", text)]
    assert len(distances) == 3 and max(distances) < 1e-12


def test_an_ode_is_fitted_by_its_law_alone():
    text = run("ode_fit.py")
    assert float(re.search(r"largest distance from sin\(t\) on \[0, pi\]: (\S+)", text).group(1)) < 2e-3


def test_tones_are_found_beside_a_louder_hum():
    text = run("spectral_fit.py")
    losses = [float(loss) for loss in re.findall(r"loss (\S+)\n", text)]
    assert len(losses) == 5 and losses[-1] < 0.05 * losses[0]
    found = re.findall(r"^ *(\S+) Hz \(true +(\S+)\), height (\S+) \((\S+)\), damping (\S+) \((\S+)\)$", text, re.M)
    numbers = [[float(number) for number in tone] for tone in found]
    assert [tone[1] for tone in numbers] == [11.3, 17.8, 29.2]
    for f, true_f, height, true_height, damping, true_damping in numbers:
        assert abs(f - true_f) < 0.03 and abs(height - true_height) < 0.06 and abs(damping - true_damping) < 0.15


# Short runs: they show that a program works, and that what it says has the right form.  The figures are in the README.
TRAININGS = {
    "char_transformer --steps 2": r"held-out text: \d\.\d\d bits per character; counting the last four: 2\.\d\d\nThe ",
    "digits_cnn --epochs 1": r"fold 4, seed 0: \d\d\.\d\d% of 355 test images are right after",
    "gan_points --steps 2": r"2000 real points: a held-out one is 0\.0\d+ from the nearest of them",
    "lstm_names --steps 2": r"held-out names: \d\.\d\d bits per character\n  ",
    "regression --steps 300": r"L-BFGS: root mean square error 0\.0[89]\d on held-out values; coefficients -?0\.0\d, 3",
    "spirals --epochs 60": r"linear map: [45]\d\.\d% of .*\ntwo hidden layers: 9\d\.\d% of 300 held-out points",
    "vae --epochs 3": r"held-out images: 2\d\.\d\d nats, of which \d\.\d\d are for the code",
}


@pytest.mark.parametrize("call", TRAININGS)
def test_a_training_runs_and_writes_its_log(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, *arguments = call.split()
    assert re.search(TRAININGS[call], run(f"{name}.py", *arguments))
    (log,) = tmp_path.glob(f"{name}.*")
    assert len(log.read_text(encoding="utf-8").splitlines()) >= 2


@pytest.mark.mpi
def test_two_processes_train_and_go_on_from_their_checkpoint(tmp_path, monkeypatch):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed; see `make test-mpi`")
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for epochs, rows in ((4, 4), (5, 1)):
        program = [str(ROOT / "examples" / "data_parallel.py"), "--epochs", str(epochs)]
        command = [sys.executable, "-m", "minigrad", "run", "-n", "2", *program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr
        assert re.search(r"2 processes: 9\d\.\d\d% of 355 test images are right", done.stdout)
        assert len((tmp_path / "data_parallel.jsonl").read_text().splitlines()) == rows
