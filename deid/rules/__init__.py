"""Rules: what can be known about a text without a model. Grammars above, machinery below.

expressions, programs, sieve   a compiler of regular expressions, and a filter of where they can match
patterns, checks, catalogue    the patterns under dictionaries/patterns and the checks of what they match
fields, layouts                labelled fields, tables and headers of a note
scene, word_classes            the words of a text and what each may be
certainties                    how sure the grammars are: names of the numbers in the data
person_words, evidence, names  names of persons
institutions, places           hospitals, streets, towns
professions                    occupations
rules                          all of them, as one recognizer
"""

import deid.base.compiled  # before a compiled module could stand in for an edited source
