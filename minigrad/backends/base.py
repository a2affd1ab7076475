"""The backend interface: memory, and the table of services, the functions that prepare requests.

A request (`core/requests.py`) specifies a computation on operands and results, given as `Spec`s: layout and dtype, no
data.  `prepare` chooses or compiles a kernel once, and returns a `Launch` (`launch.py`): a record of steps, called with
the operands' storage buffers and then the results'.  A call plan caches it (`runtime/plans.py`), so the next call
with the same layouts is one look-up.  Shapes, dtypes and devices have been checked before; a backend never promotes,
broadcasts or allocates results.  `lowering/` has the services for any device, composed of simpler requests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import NDArray

from minigrad.backends.launch import NO_STEPS, Calls, Launch, Part, as_launch
from minigrad.backends.listing import Lists
from minigrad.backends.steps import Steps
from minigrad.backends.transfers import Transfers
from minigrad.core.device import Device
from minigrad.core.dtype import DType
from minigrad.core.op import Spec
from minigrad.core.requests import Request
from minigrad.core.storage import Storage
from minigrad.errors import DeviceError

Service = Callable[[Any, Any], Any]  # of a record, whose class is that of the backend, and a request
F = TypeVar("F", bound=Service)
# The functions that prepare a kind of request, by the class of their device; those of `Backend` are for any device.
services: dict[type[Request], dict[type[Any], Service]] = {}


def serves(device: type[Any], kind: type[Request]) -> Callable[[F], F]:
    """Mark a function that prepares requests of a kind for a class of backends; `Backend` stands for any device.

    It receives a `Steps` with the results and operands, and the request.  It adds steps and returns None, or it returns
    a launch, a kernel or a function of the buffers: those of the operands, then those of the results.  It is not called
    if all results are empty, unless the request checks indices.
    """

    def mark(function: F) -> F:
        services.setdefault(kind, {})[device] = function
        return function

    return mark


class Backend(Calls, Transfers, Lists, ABC):
    """Base class of the backends: the memory and the kernels of one kind of device.

    record: the class of the records that services receive.
    records: whether its launches are recorded and memory has no values, and so no views of other dtypes, until a later
    call runs them.  fast_products: the dtypes of half precision with fast products.
    """

    record: type[Steps] = Steps
    records, fast_products = False, frozenset[DType]()

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

    @classmethod
    def served(cls) -> set[type[Request]]:
        """Return the kinds of requests that the device implements, without those composed of other requests."""
        own = {each for each in cls.__mro__ if each is not Backend}
        return {kind for kind, known in services.items() if not own.isdisjoint(known)}

    def prepare(self, request: Request, outs: Spec | tuple[Spec, ...], *operands: Spec) -> Launch:
        """Return the launch of a request; it takes the buffers of the operands, then those of the results.

        Raises DeviceError for a request that is neither implemented nor composed of other requests.
        """
        known = services.get(type(request), {})
        for device in type(self).__mro__:
            if device in known:
                return self._launch(known[device], request, outs, operands)
        names = ", ".join(sorted(kind.__name__ for kind in self.served())) or "nothing"
        raise DeviceError(
            f"{type(self).__name__} does not implement {type(request).__name__}, and cannot compose it from "
            f"simpler requests; it implements {names}"
        )

    def lower(self, request: Request, outs: Spec | tuple[Spec, ...], *operands: Spec) -> Launch:
        """Return the launch of a request that is composed of simpler ones, even if the device implements it."""
        return self._launch(services[type(request)][Backend], request, outs, operands)

    def _launch(
        self, service: Service, request: Request, outs: Spec | tuple[Spec, ...], operands: tuple[Spec, ...]
    ) -> Launch:
        steps, kind = self.record(self, outs if isinstance(outs, tuple) else (outs,), operands), type(request)
        first, *others = steps.outs
        some = first.layout.numel or kind.checks or any(out.layout.numel for out in others)
        made = service(steps, request) if some else NO_STEPS
        launch = steps if made is None else as_launch(made, steps.arguments, kind.__name__, kind.checks)
        part = Part(request, tuple(range(steps.arguments)), steps.specs, len(steps.outs))
        return Launch(steps.arguments, launch.steps, launch.temporaries, launch.flags, launch.always_fails, [part])
