"""Linear algebra: products, factors, solutions of systems, singular values and eigenvalues."""
