"""Who runs a loop: one interface, one implementer a device."""
