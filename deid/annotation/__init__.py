"""Annotating notes by hand, with a tagger that learns meanwhile: the project, its queue, its quality.

In order of flow: `editing` (marks, and what an annotator does to them), `tables` and `rows` (a project's file), `items`
(what is reviewed beside notes), `trainings` (what they gave), `project` (notes, layers, undo, suggestions, history),
`opening` (the project of some notes, and notes out of one), `queue` (what to annotate next, when to stop), `loop`
(training, scores, new suggestions).
"""
