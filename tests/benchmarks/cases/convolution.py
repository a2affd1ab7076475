"""Convolution and pooling of images."""

from tests.benchmarks.case import Table, normal

TABLE = Table("convolution")

for name, image, weight in (
    ("conv2d (32,64,56,56) 3x3 to 64", (32, 64, 56, 56), (64, 64, 3, 3)),
    ("conv2d (2,3,320,320) 3x3 to 16", (2, 3, 320, 320), (16, 3, 3, 3)),
):
    n, channels, high, wide = image
    products = 2 * n * high * wide * channels * weight[0] * 9
    data = normal(image, weight, (weight[0],))
    conv = lambda m, x, w, b: m.nn.functional.conv2d(x, w, b, padding=1)
    TABLE.add(name, data, conv, flops=products, rtol=1e-4, goal=0.9)
    TABLE.add(f"{name}, backward", data, conv, tracks=3, flops=3 * products, rtol=1e-3, goal=1.0)

for name, window, stride, padding in (("2x2", 2, 2, 0), ("3x3, stride 2", 3, 2, 1)):
    pool = lambda m, x, k=window, s=stride, p=padding: m.nn.functional.max_pool2d(x, k, s, p)
    TABLE.both(f"max_pool2d {name} of (32,64,56,56)", normal((32, 64, 56, 56)), pool, goal=1.0, goal2=1.0)
mean = lambda m, x: m.nn.functional.avg_pool2d(x, 2)
TABLE.both("avg_pool2d 2x2 of (32,64,56,56)", normal((32, 64, 56, 56)), mean, goal=1.0, goal2=1.0)
