"""The exercises of each notebook, with references that the notebooks do not show."""
