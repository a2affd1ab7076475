"""Distances between all pairs of rows."""

from tests.benchmarks.case import Table, normal

TABLE = Table("pairs")
ROWS = ((500, 16), (400, 16))

for p in (1.0, 2.0, 3.0):
    TABLE.both(f"cdist p={p:g} of {ROWS}", normal(*ROWS), lambda m, x, y, p=p: m.cdist(x, y, p=p), tracks=2, rtol=2e-4)
TABLE.both("cdist of (8, 64, 64)", normal((8, 64, 64), (8, 64, 64)), lambda m, x, y: m.cdist(x, y), tracks=2, rtol=2e-4)
TABLE.both("pdist of (300, 32)", normal((300, 32)), lambda m, x: m.nn.functional.pdist(x), rtol=2e-4)
