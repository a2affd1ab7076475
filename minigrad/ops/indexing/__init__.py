"""Reads and writes with index tensors and masks, sorting, searching and histograms."""
