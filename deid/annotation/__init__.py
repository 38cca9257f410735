"""Annotating notes by hand, with a tagger that learns meanwhile: the project, its queue, its quality."""
