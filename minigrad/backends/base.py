"""The backend interface: memory, and the requests that a device implements.

A request (`core/requests.py`) specifies a computation on operands and results, given as `Spec`s: layout and dtype, no
data.  `prepare` chooses or compiles a kernel once, and returns a `Launch` (`launch.py`): a record of steps, called with
the operands' storage buffers and then the results'.  A call plan caches it (`runtime/plans.py`), so the next call with
the same layouts is one look-up.  Shapes, dtypes and devices have been checked before; a backend never promotes,
broadcasts or allocates results.  `lowering/` composes requests that a backend does not implement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import NDArray

from minigrad.backends.launch import Calls, Launch, as_launch
from minigrad.backends.listing import Lists
from minigrad.backends.transfers import Transfers
from minigrad.core.device import Device
from minigrad.core.dtype import DType
from minigrad.core.op import Spec
from minigrad.core.requests import Request
from minigrad.core.storage import Storage
from minigrad.errors import DeviceError

Ints = tuple[int, ...]
F = TypeVar("F", bound=Callable[..., Any])


def serves(kind: type[Request]) -> Callable[[F], F]:
    """Mark a method that prepares requests of a kind, given the Specs of results and operands, and the fields."""

    def mark(method: F) -> F:
        method.serves = kind  # type: ignore[attr-defined]
        return method

    return mark


class Backend(Calls, Transfers, Lists, ABC):
    """Base class of the backends: the memory and the kernels of one kind of device.

    served: the requests that this class implements, with the name of the method for each.
    """

    served: dict[type[Request], str] = {}

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.served = {}
        for parent in reversed(cls.__mro__):
            for name, method in vars(parent).items():
                if (kind := getattr(method, "serves", None)) is not None:
                    cls.served[kind] = name

    # ---- memory ----

    @abstractmethod
    def allocate(self, numel: int, dtype: DType, device: Device) -> Storage:
        """Return uninitialised storage for at least `numel` elements."""

    def maker(self, numel: int, dtype: DType, device: Device) -> Callable[[], Storage]:
        """Return a function that allocates such a storage at each call, for a call plan."""
        return lambda: self.allocate(numel, dtype, device)

    @abstractmethod
    def from_host(self, values: NDArray[Any], dtype: DType, device: Device) -> Storage:
        """Return storage with a copy of a flat array, which already has the dtype's storage type."""

    @abstractmethod
    def to_host(self, storage: Storage) -> NDArray[Any]:
        """Return the storage's buffer as a NumPy array in the dtype's storage type; host memory is shared."""

    def synchronize(self) -> None:
        """Wait until every launch has finished."""

    # ---- loops ----

    def prepare(self, request: Request, outs: Spec | tuple[Spec, ...], *operands: Spec) -> Launch:
        """Return the launch of a request; it takes the buffers of the operands, then those of the results.

        Raises DeviceError for a request that is neither implemented nor composed of other requests.
        """
        results = outs if isinstance(outs, tuple) else (outs,)
        kind, arguments = type(request), len(results) + len(operands)
        if (name := self.served.get(kind)) is not None:
            made = getattr(self, name)(*results, *operands, **request.fields())
        else:
            made = self.lower(request, results, operands)
        made = as_launch(made, arguments, kind.__name__, kind.checks)
        return made.serving(request, (*operands, *results), len(results))

    def lower(self, request: Request, outs: tuple[Spec, ...], operands: tuple[Spec, ...]) -> Launch:
        """Return the launch of a request that is composed of simpler ones.  Raises DeviceError without a lowering."""
        from minigrad.backends.lowering import lowerings  # only devices that do not implement all requests need it

        make = lowerings.get(type(request))
        if make is None:
            known = ", ".join(sorted(each.__name__ for each in self.served)) or "nothing"
            raise DeviceError(
                f"{type(self).__name__} does not implement {type(request).__name__}, and cannot compose it from "
                f"simpler requests; it implements {known}"
            )
        return make(self, request, outs, operands)
