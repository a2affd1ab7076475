"""The exercises of each notebook, with reference solutions that the notebooks do not show."""
