"""The declarations: every op once, with its kernel, its rules for dtype and shape, and its derivative."""
