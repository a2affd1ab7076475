"""Custom kernels: the class behind `mg.cuda.kernel`, and its requirements on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.backends.cuda import own
from minigrad.backends.cuda.family import GridKernel
from minigrad.backends.launch import as_launch
from minigrad.backends.registry import backend_of
from minigrad.cuda.facts import current_runtime
from minigrad.errors import ArgumentError, DeviceError, DTypeError, GradientError, KernelError, ShapeError, check
from minigrad.runtime.observers import observed
from minigrad.runtime.rebasing import current
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer
from minigrad.runtime.writing import check_writable


class Kernel:
    """Store a kernel that `kernel` made; `k[blocks, threads](x, y, out, n)` runs its function once in each thread.

    function: Function of pointers to the elements of tensors, followed by integers.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.loaded: dict[Any, Any] = {}

    def __getitem__(self, sizes: tuple[Any, Any]) -> Callable[..., None]:
        """Return the kernel for a grid of blocks and a block of threads.

        sizes (tuple): Two entries, `blocks, threads`; each is an int or up to three ints.

        Returns: Function of tensors, followed by ints, which launches the kernel.

        Raises ArgumentError if there are not two entries, or a size is below 1.
        """
        if not isinstance(sizes, tuple) or len(sizes) != 2:
            raise ArgumentError(
                f"{self.__name__}: expected two sizes, the grid and the block, got [{sizes!r}]; write "
                f"{self.__name__}[blocks, threads](...)"
            )
        grid, block = own.size_of(sizes[0]), own.size_of(sizes[1])
        return lambda *args: self.launch(grid, block, args)

    def launch(self, grid: Any, block: Any, args: tuple[Any, ...]) -> None:
        """Run the kernel once; a tensor becomes a pointer to its first element.

        grid and block (tuple of int): Number of blocks and number of threads per block, each as three sizes (x, y, z).
        args (tuple): Contiguous tensors of one device, then ints of at most 64 bits.

        Raises DTypeError if an argument is neither a tensor nor an int, or a tensor follows an int.
        Raises ShapeError if a tensor is a view.
        Raises DeviceError if tensors are on different devices.
        Raises GradientError if a tensor belongs to a transform, or the kernel writes a tensor that gradients flow
        through.
        """
        name = self.__name__
        tensors = [x for x in args if isinstance(x, Tensor)]
        numbers = args[len(tensors) :]
        if not tensors or any(x is not y for x, y in zip(args, tensors)) or any(type(n) is not int for n in numbers):
            raise DTypeError(
                f"{name}: the arguments must be tensors, followed by ints, but another order or type was passed; pass "
                "the tensors first",
                op=name,
            )
        for n in numbers:
            check(
                -(1 << 63) <= n < 1 << 63,
                ArgumentError,
                f"{name}: an int must fit into 64 bits, got {n}; pass a smaller int",
            )
        for x in tensors:
            if isinstance(x, Tracer):
                raise GradientError(
                    f"{name}: custom kernels do not support transforms, got {describe(x)} inside one; call the kernel "
                    "outside the transform",
                    op=name,
                )
        runtime = current_runtime(tensors[0].device)
        for x in tensors:
            check(
                x.device is tensors[0].device,
                DeviceError,
                f"{name}: tensors must be on {tensors[0].device}, got {describe(x)} on {x.device}; "
                f"move it with .to('{tensors[0].device}')",
            )
            check(
                x.is_contiguous() and not x.offset,
                ShapeError,
                f"{name}: {describe(x)} is a view or channels last; pass x.clone().contiguous()",
            )
        program = own.own_program(self.function, tuple(x.dtype for x in tensors), len(numbers))
        changed = [tensors[k] for k in own.written(self.function, len(tensors))]
        for x in changed:
            check_changeable(name, x)
        loaded = self.loaded.get((runtime, program))
        if loaded is None:
            loaded = self.loaded[runtime, program] = runtime.load(program)
        # This precedes the launch, because a launch that fails may have written some elements.
        for storage in {id(x.storage): x.storage for x in changed}.values():
            storage.bump()
        backend, buffers = backend_of(tensors[0].device), [x.storage.buffer for x in tensors]
        if backend.preparer is backend:
            runtime.launcher(loaded, grid, block, numbers)(*[buffer.address for buffer in buffers])
        else:  # the function that calls the kernel is recorded
            launch = as_launch(GridKernel(runtime, loaded, grid, block, tuple(numbers)), len(buffers), name)
            backend.function(launch)(*buffers)

    def text(self, *args: Any) -> str:
        """Return the source of the module that is compiled or simulated for arguments.

        args (Tensor or int): Arguments of a launch: tensors first, then ints.

        Returns: Python source code.
        """
        tensors = [x for x in args if isinstance(x, Tensor)]
        return own.own_program(self.function, tuple(x.dtype for x in tensors), len(args) - len(tensors)).text

    def ptx(self, *args: Any) -> str:
        """Return the kernel in PTX, the assembly language of CUDA; this requires the compiler, but no CUDA device.

        args (Tensor or int): Arguments of a launch: tensors first, then ints.

        Returns: Text of the PTX module.

        Raises KernelError if the compiler is not installed; the message names the missing component.
        """
        from minigrad.backends.cuda import compile as compiler

        check(not compiler.missing(), KernelError, f"{self.__name__} is not compiled: {compiler.missing()}")
        tensors = [x for x in args if isinstance(x, Tensor)]
        program = own.own_program(self.function, tuple(x.dtype for x in tensors), len(args) - len(tensors))
        return compiler.compiled(program).ptx


def check_changeable(name: str, x: Tensor) -> None:
    """Raise an error unless a kernel may write to x; the write is not recorded."""
    check_writable(name, x)
    if mode.enabled and current(x) is not None:
        raise GradientError(
            f"{name}: the kernel writes into {describe(x)}, through which gradients flow, but a custom kernel is not "
            "recorded; pass x.detach().clone(), or launch the kernel under mg.no_grad()",
            op=name,
        )
    observed.write(name, x.storage)


def kernel(function: Callable[..., Any]) -> Kernel:
    """Make a CUDA kernel of a function of pointers to elements of tensors, followed by integers.

    function: Function that runs once in each thread. In it, `cuda` has the names of numba.cuda: threadIdx, blockIdx,
    blockDim, gridDim, shared.array, syncthreads, shuffles and atomic. `np` and `math` are available; other globals are
    not.

    Returns: The kernel; `k[blocks, threads](*tensors, *ints)` launches it.

    Raises KernelError in the simulator, which runs the kernel thread by thread, for errors that a device does not
    report: a race, a barrier that some threads do not reach, an index out of range, or a read of memory that was never
    written.

    Gradient: A kernel is not recorded. It may read tensors that require gradients, as plain elements; it may write to
    them only under `mg.no_grad()`. A tensor counts as written if the function assigns to its elements, gives it another
    name or passes it to a function such as cuda.atomic.add. If a graph saved the values before the write, the backward
    pass raises an error.

    >>> @mg.cuda.kernel
    ... def double(x, out, n):
    ...     i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    ...     if i < n:
    ...         out[i] = x[i] * np.float32(2)
    >>> with mg.override(cuda="simulator"):
    ...     x, out = mg.arange(5, dtype="float32", device="cuda"), mg.empty(5, dtype="float32", device="cuda")
    ...     double[2, 4](x, out, 5)
    ...     out.tolist()
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    return Kernel(function)
