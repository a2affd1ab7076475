"""What is missing for a real device is said in a sentence of its own; nothing of CUDA is imported before it is used."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import minigrad as mg
from minigrad.backends import registry
from minigrad.backends.cuda import presence
from minigrad.errors import DeviceError


@pytest.fixture
def without(monkeypatch):
    """Ask for a real device where something is missing."""
    yield monkeypatch
    registry.forget("cuda")


def refused(mode="auto"):
    """The sentence that a user reads."""
    registry.forget("cuda")
    with mg.override(cuda=mode), pytest.raises(DeviceError) as caught:
        mg.zeros(2, device="cuda")
    sentence = str(caught.value)
    assert sentence.startswith("device='cuda' cannot be used: ") and "MINIGRAD_CUDA=simulator runs" in sentence
    return sentence


def test_packages_that_do_not_work_together_are_named(without):
    without.setattr(presence, "missing_packages", list)
    without.setattr(presence.metadata, "version", lambda name: {"numba-cuda": "0.30.4", "numpy": "2.5.1"}[name])
    assert "numba-cuda 0.30 uses names that NumPy 2.5 no longer has: pip install" in refused("real")


def test_without_a_device_memory_is_zero_and_the_cache_may_be_emptied_as_in_pytorch(without):
    without.setattr(presence, "missing_packages", lambda: ["numba-cuda", "cuda-core"])
    registry.forget("cuda")
    with mg.override(cuda="auto"):
        assert mg.cuda.empty_cache() is None and not mg.cuda.is_available()
        for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
            assert getattr(mg.cuda, name)() == getattr(mg.cuda, name)(0) == 0
        assert mg.cuda.memory_stats().total_bytes == 0
        for call in (mg.cuda.synchronize, mg.cuda.current_device, mg.cuda.reset_peak_memory_stats):
            with pytest.raises(DeviceError, match="numba-cuda and cuda-core are not installed"):
                call()


@pytest.mark.parametrize("mode", ["auto", "real"])
def test_missing_packages_are_named(without, mode):
    without.setattr(presence, "missing_packages", lambda: ["numba-cuda", "cuda-core"])
    assert f"numba-cuda and cuda-core are not installed: {presence.INSTALL}" in refused(mode)


@pytest.mark.parametrize(("driver", "words"), [
    (presence.Driver(0, 0, "no NVIDIA driver was found (libcuda.so.1 is not there)"), "no NVIDIA driver was found"),
    (presence.Driver(13000, 0, "there is an NVIDIA driver, but it finds no device"), "but it finds no device"),
])  # fmt: skip
def test_a_missing_driver_or_device_is_told(without, driver, words):
    without.setattr(presence, "missing_packages", list)
    without.setattr(presence, "clash", str)
    without.setattr(presence, "driver", lambda: driver)
    assert words in refused()


class Library:
    """A driver's library with some answers."""

    def __init__(self, version, status=0, devices=1):
        self.version, self.status, self.devices = version, status, devices

    def cuDriverGetVersion(self, place):
        place._obj.value = self.version
        return 0

    def cuInit(self, flags):
        return self.status

    def cuDeviceGetCount(self, place):
        place._obj.value = self.devices
        return 0


@pytest.mark.parametrize(("library", "words"), [
    (Library(11080), "the NVIDIA driver is too old: it supports CUDA 11.8, 13.0 is needed"),
    (Library(12090), "the NVIDIA driver is too old: it supports CUDA 12.9, 13.0 is needed; numba-cuda[cu12] would do"),
    (Library(13000, devices=0), "there is an NVIDIA driver, but it finds no device"),
    (Library(13000, status=100), "there is an NVIDIA driver, but it finds no device"),
    (Library(13000, status=999), "the NVIDIA driver could not be started (CUDA error 999)"),
    (Library(13000), ""),
])  # fmt: skip
def test_what_a_driver_says_becomes_a_sentence(without, library, words):
    without.setattr(presence.ctypes, "CDLL", lambda name: library)
    without.setattr(presence, "needed", lambda: 13)
    found = presence.driver.__wrapped__()
    assert found.fault == words and found.version == library.version


def test_there_is_one_device():
    with pytest.raises(
        DeviceError, match=r"cuda:1 cannot be used, because minigrad supports only the first CUDA device"
    ):
        mg.zeros(2, device="cuda:1")


def imported(program):
    """Which modules of interest a program has imported at its end."""
    tell = "; import sys; print(*[m for m in sys.modules if m.startswith(('minigrad.backends.cuda', 'numba', 'cuda'))])"
    done = subprocess.run([sys.executable, "-c", program + tell], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_minigrad_imports_nothing_of_it():
    assert imported("import minigrad as mg; mg.device('cuda')") == set()


def test_the_simulator_needs_no_compiler():
    program = "import minigrad as mg; s = mg.override(cuda='simulator'); s.__enter__(); mg.ones(2, device='cuda') * 2"
    modules = imported(program)
    assert "minigrad.backends.cuda.simulator" in modules
    assert not {m for m in modules if m.split(".")[0] in ("numba", "cuda")}


def test_the_switches_of_pytorch_remain_when_the_backend_is_imported():
    cuda = mg.backends.cuda
    assert not importlib.import_module("minigrad.backends.cuda").is_built() and cuda.enable_math_sdp(True) is None
    assert importlib.import_module("minigrad.backends.cuda").matmul.allow_tf32 is False


# Who mentions it besides the registry, the backend, its kernels and `mg.cuda`: the doctor, what settings and devices
# are called, names that other libraries ask a tensor for, and remarks.
MENTIONS = {
    "__init__.py", "__main__.py", "amp/autocast.py", "amp/grad_scaler.py", "api/constructors.py",
    "api/interop/arrays.py", "api/interop/protocols.py", "api/legacy.py", "api/pytorch.py", "autograd/graph.py",
    "backends/__init__.py", "backends/cudnn.py", "backends/registry.py", "backends/switches.py",
    "cli/doctor.py", "config.py", "core/device.py", "core/storage.py", "data/loader.py",
    "declare/advice.py", "kernels/objects.py", "kernels/scalar.py", "kernels/target.py", "learning/exercises/gpu.py",
    "nn/modules/moving.py", "nn/utils/rnn.py", "random.py",
}  # fmt: skip
OWN = ("backends/cuda/", "kernels/cuda/", "cuda/")


def test_nothing_else_of_the_package_mentions_it():
    package = Path(mg.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "cuda" in path.read_text(encoding="utf-8").lower()
    }
    assert {name for name in found if not name.startswith(OWN)} == MENTIONS


def test_who_serves_follows_the_setting(without):
    without.setattr(presence, "fault", lambda: "there is none")
    with mg.override(cuda="auto"):
        with mg.override(cuda="simulator"):
            assert mg.zeros(2, device="cuda").tolist() == [0.0, 0.0]
        with pytest.raises(DeviceError, match="there is none"):
            mg.zeros(2, device="cuda")


def test_tensors_of_a_simulator_can_be_used_when_it_serves_again():
    with mg.override(cuda="auto"):
        with mg.override(cuda="simulator"):
            x = mg.arange(3, device="cuda")
        with mg.override(cuda="simulator"):
            assert (x + mg.ones(3, dtype="int64", device="cuda")).tolist() == [1, 2, 3]
