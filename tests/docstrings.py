"""`python -m tests.docstrings`: validate the docstrings of public names with numpydoc.

The docstrings are those that `help` shows, in full.  Each check below holds for every public function and class and for
every method of Tensor, without exceptions.  `make lint` runs it.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from collections.abc import Iterator
from typing import Any

MODULES = (
    "minigrad", "minigrad.nn", "minigrad.nn.functional", "minigrad.nn.init", "minigrad.nn.utils", "minigrad.optim",
    "minigrad.data", "minigrad.func", "minigrad.linalg", "minigrad.special", "minigrad.fft", "minigrad.viz",
    "minigrad.testing",
    "minigrad.amp", "minigrad.dist", "minigrad.distributions", "minigrad.autograd", "minigrad.autograd.function",
    "minigrad.autograd.forward_ad", "minigrad.autograd.functional", "minigrad.autograd.graph", "minigrad.cuda",
    "minigrad.cuda.amp", "minigrad.diagnostics", "minigrad.diagnostics.summarizing",
    "minigrad.nn.utils.parametrizations", "minigrad.quasirandom", "minigrad.signal.windows",
    "minigrad.nn.utils.rnn", "minigrad.optim.lr_scheduler", "minigrad.optim.swa_utils", "minigrad.random",
    "minigrad.utils.checkpoint", "minigrad.utils.dlpack", "minigrad.utils.tensorboard",
    "minigrad.api.interop.array_api", "minigrad.jitting",
)  # fmt: skip
CHECKS = (
    "GL05 GL06 GL07 GL08 GL09 GL10 "  # no tabs; known sections in their order; every name has a docstring
    "SS01 SS03 SS04 SS05 SS06 "  # a summary of one line, which ends with a period
    "PR01 PR02 PR03 PR04 PR05 PR06 PR07 PR08 PR09 PR10 "  # every parameter, with its type and its description
    "RT01 RT02 RT03 RT05 "  # the result and its description
).split()
# Left out.  GL01, GL02, GL03: where the quotes and blank lines of a docstring are is for the formatter.  SS02, RT04: a
# text may begin with a formula or with a name in lower case.  ES01, SA01, EX01: not every function needs a longer
# summary, cross-references or an example.  YD01: a generator that is a `with` block yields nothing that users see.
# SA02, SA03, SA04: there are no See Also sections.


def public() -> Iterator[tuple[str, Any]]:
    """Yield each public function and class once, with its path, and then the methods of Tensor."""
    seen: set[int] = set()
    for path in MODULES:
        module = importlib.import_module(path)
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if callable(value) and not inspect.ismodule(value) and id(value) not in seen:
                seen.add(id(value))
                yield f"{path}.{name}", value
    tensor = importlib.import_module("minigrad").Tensor
    for name, value in sorted(vars(tensor).items()):
        if inspect.isfunction(value) and name[0] != "_" and id(value) not in seen:
            seen.add(id(value))
            yield f"minigrad.Tensor.{name}", value


def failures(path: str) -> dict[str, str]:
    """Return the checks that do not hold for a name, with numpydoc's words."""
    from numpydoc import docscrape, validate

    docscrape.NumpyDocString.sections.setdefault("Gradient", "")
    if "Gradient" not in validate.ALLOWED_SECTIONS:
        validate.ALLOWED_SECTIONS.insert(validate.ALLOWED_SECTIONS.index("Notes"), "Gradient")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {code: text for code, text in validate.validate(path)["errors"] if code in CHECKS}


def main() -> int:
    """Print each check that does not hold; 1 if there is one."""
    results = {path: failures(path) for path, _ in public()}
    for path, failed in results.items():
        for code, text in failed.items():
            print(f"{path}: {code}: {text}")
    print(f"docstrings: {len(results)} names, {len(CHECKS)} checks, {sum(map(len, results.values()))} failures")
    return 1 if any(results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
