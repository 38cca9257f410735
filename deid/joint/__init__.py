"""Where notes and tables meet: one release of both, and one person in both.

extracting  notes to rows of persons
plan        which column is replaced in notes as in the table
view        the table's part of a joint release
release     scrubbed notes and an anonymized table that go together
options     where a person stands that is to be forgotten
assessing   which levels a published table reaches, its codes included
forgetting  one person out of everything that is kept
"""
