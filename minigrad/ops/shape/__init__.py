"""Ops on shapes: views, joins, splits, padding, and writes into a part of a tensor."""
