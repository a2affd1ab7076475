"""Rows of the op table that have grown into modules of their own: one a family, each with a list `ROWS`."""
