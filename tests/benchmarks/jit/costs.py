def report(): pass
