"""Loops over strided memory: scalar functions, templates, and the modules that are written from both."""
