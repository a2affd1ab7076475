"""Mean and variance in one pass, the functions of a reduction with three accumulators (Welford 1962, Chan 1983)."""


def step(mean, m2, n, x):
    """The mean and the variance in one pass."""
    count = n + 1
    delta = x - mean
    new = mean + delta / count
    return new, m2 + delta * (x - new), count


def joined(mean, m2, n, other_mean, other_m2, other_n):
    total = n + other_n
    delta = other_mean - mean
    share = other_n / (total if total > 0 else 1)
    return mean + delta * share, m2 + other_m2 + delta * delta * n * share, total


def moments(mean, m2, n):
    return mean, m2 / n
