"""Who is who: rows of tables of notes, visits or registers, and the persons that they are of.

columns      what the columns tell of a person, and rows in a form in which they can be compared
clustering   pairs of rows become persons, but where they contradict
exact        rules that need no estimate
comparisons  how alike two values are, level by level
blocking     which pairs are compared at all
model        what each level says: learnt and applied by Splink
linking      a table in, the id of each row's person out
linked_files what is read and written beside a linked table
explaining   why two rows are one person, or two
report       a linkage on one page
studio       its persons one by one, on another
measures     how good a clustering is, where the truth is known
encodings    records as keyed filters, to be compared by who may not see them
look_alikes  how many persons of a table seem to be others of it
"""
