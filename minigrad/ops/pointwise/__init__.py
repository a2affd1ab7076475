"""Ops that treat each element alone."""
