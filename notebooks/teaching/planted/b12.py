"""The logarithm of a sum of exponentials, as it stands in the book. With small numbers it works."""

import minigrad as mg


def log_sum_exp(x):
    return x.exp().sum().log()


x = mg.Var([1.0, 800.0, 3.0], dtype="float64", name="x")
