"""The instructor's pack: a plan for a course, bugs to plant, pictures for slides, and a script that marks."""
