"""The logarithm of a sum of exponentials, as textbooks write it. It works for small numbers."""

import minigrad as mg


def log_sum_exp(x):
    return x.exp().sum().log()


x = mg.Var([1.0, 800.0, 3.0], dtype="float64", name="x")
