"""What the steps of networks consist of, at the sizes that small networks have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.case import Table, normal

TABLE = Table("parts")


def with_minus_infinity(*shape: int) -> Callable[[np.random.Generator], list[np.ndarray]]:
    """Scores of causal attention: -inf above the diagonal."""
    hidden = np.triu(np.full(shape[-2:], -np.inf, np.float32), 1)
    return lambda rng: [rng.standard_normal(shape).astype(np.float32) + hidden]


def sequence(m: Any, z: Any, w: Any) -> Any:
    """A recurrence in tensor code, which takes one slice for each time."""
    h = m.zeros(z.shape[1], z.shape[2])
    for t in range(z.shape[0]):
        h = m.tanh(z[t] + h @ w)
    return h


def recurrent(name: str) -> Callable[..., Any]:
    """A recurrent layer with given weights, those of the modules in their order."""

    def outputs(m: Any, x: Any, *weights: Any) -> Any:
        key = (name, m.__name__, x.shape, weights[1].shape)
        layer = LAYERS.get(key)
        if layer is None:
            layer = LAYERS[key] = getattr(m.nn, name)(x.shape[2], weights[1].shape[1])
        names = [each for each, _ in layer.named_parameters()]
        return m.func.functional_call(layer, dict(zip(names, weights, strict=True)), (x,))[0]

    return outputs


LAYERS: dict[Any, Any] = {}

for shape in ((32, 8, 8, 8), (32, 16, 4, 4), (64, 32, 32, 32)):
    pool = lambda m, x: m.nn.functional.max_pool2d(x, 2)
    TABLE.both(f"max_pool2d 2x2 of {shape}", normal(shape), pool, goal=1.0, goal2=1.0)
    pool = lambda m, x: m.nn.functional.avg_pool2d(x, 2)
    TABLE.both(f"avg_pool2d 2x2 of {shape}", normal(shape), pool, goal=1.0, goal2=1.0)

for image, outs in (((64, 1, 8, 8), 32), ((64, 32, 8, 8), 64), ((64, 64, 4, 4), 64), ((32, 64, 28, 28), 64)):
    conv = lambda m, x, w, b: m.nn.functional.conv2d(x, w, b, padding=1)
    data = normal(image, (outs, image[1], 3, 3), (outs,))
    products = 2 * outs * 9 * int(np.prod(image))
    name = f"conv2d {image} 3x3 to {outs}"
    TABLE.add(name, data, conv, flops=products, rtol=1e-4, goal=1.0)
    TABLE.add(f"{name}, backward", data, conv, tracks=3, flops=3 * products, rtol=1e-3, goal=1.0)

product = lambda m, a, b: a @ b
for n in (100, 300, 777):
    TABLE.add(f"product of {n} f32", normal((n, n), (n, n)), product, flops=2 * n**3, rtol=1e-4, goal=1.0)
square = normal((500, 500), (500, 500), dtype="float64")
TABLE.add("product of 500 f64", square, product, flops=2 * 500**3, rtol=1e-11, goal=1.0)
linear = lambda m, x, w: m.nn.functional.linear(x, w)
turned = lambda m, a, b: a.transpose(-2, -1) @ b
for title, fn, a, b in (
    ("an MLP's layer (64, 784) x (512, 784).T", linear, (64, 784), (512, 784)),
    ("an LSTM's step (64, 128) x (512, 128).T", linear, (64, 128), (512, 128)),
    ("an LSTM's weight (2240, 512).T x (2240, 128)", turned, (2240, 512), (2240, 128)),
    ("a transformer's layer (2048, 512) x (128, 512).T", linear, (2048, 512), (128, 512)),
    ("attention's P V (128 of 64, 64 x 32)", product, (128, 64, 64), (128, 64, 32)),
    ("attention's P.T G (128 of 64, 64 x 32)", turned, (128, 64, 64), (128, 64, 32)),
):
    TABLE.add(title, normal(a, b), fn, rtol=1e-4, goal=1.0)

for causal in (False, True):
    attend = lambda m, q, k, v, c=causal: m.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=c)
    for shape in ((4, 8, 512, 64), (8, 4, 64, 16)):
        name = f"attention {shape}{', causal' if causal else ''}"
        TABLE.both(name, normal(shape, shape, shape), attend, tracks=3, rtol=1e-3, goal=1.0, goal2=1.0)

for shape in ((64, 32, 8, 8), (64, 64, 28, 28)):
    # A relu follows, as in networks: the gradient of the plain sum is 0 but for rounding.
    norm = lambda m, x, w, b: m.relu(m.nn.functional.batch_norm(x, None, None, w, b, training=True))
    TABLE.both(
        f"batch_norm {shape}, relu",
        normal(shape, shape[1:2], shape[1:2]),
        norm,
        tracks=3,
        rtol=1e-3,
        goal=1.0,
        goal2=1.0,
    )
    # Smooth, since among millions of elements one is so near to a kink that rounding decides its gradient.
    norm = lambda m, x, w, b: m.nn.functional.silu(m.nn.functional.group_norm(x, 8, w, b))
    TABLE.both(
        f"group_norm {shape}, silu",
        normal(shape, shape[1:2], shape[1:2]),
        norm,
        tracks=3,
        rtol=1e-3,
        goal=1.0,
        goal2=1.0,
    )

for shape in ((64, 32, 8, 8), (8, 128, 16, 16)):
    norm = lambda m, x, w, b: m.relu(m.nn.functional.instance_norm(x, None, None, w, b))
    data = normal(shape, shape[1:2], shape[1:2])
    TABLE.both(f"instance_norm {shape}, relu", data, norm, tracks=3, rtol=1e-3, goal=1.0, goal2=1.0)

for name, count in (("LSTM", 4), ("GRU", 3)):
    for times, batch, size in ((12, 16, 32), (35, 64, 128)):
        gates = count * size
        shapes = ((times, batch, size), (gates, size), (gates, size), (gates,), (gates,))
        data = lambda rng, shapes=shapes: [rng.standard_normal(s).astype(np.float32) * 0.1 for s in shapes]
        title = f"{name} ({times}, {batch}, {size})"
        TABLE.both(title, data, recurrent(name), tracks=5, rtol=1e-3, goal=1.0, goal2=1.0)

for shape in ((32, 64, 64), (32, 512, 512)):
    TABLE.add(f"softmax {shape} with -inf", with_minus_infinity(*shape), lambda m, x: m.softmax(x, -1), goal=1.0)

for times in (35, 140):
    data = lambda rng, times=times: [
        rng.standard_normal(s).astype(np.float32) * 0.1 for s in ((times, 64, 64), (64, 64))
    ]
    TABLE.add(f"a loop over {times} slices, backward", data, sequence, tracks=2, rtol=1e-3, goal=1.0)
