"""Reading a text, before anything is looked for in it, in the order in which a note passes.

line_ends     what ends a line
accents       letters without their marks
alphabet      which character is a letter, a digit, a mark
tokenization  tokens for the tagger
normalize     the text without tricks (look-alike letters, zero-width characters), and the way back
dictionaries  word lists from dictionaries/
phrases       lists of phrases, all matched at once
vocabulary    words and phrases of a language, as data
lexicon       what the lists know about each word
view          the words of a text, in arrays
casing        what letter case tells in a text
misreading    letters that a scanner mistook
scans         numbers and words of a scanned document
passages      a long text in pieces
centuries     years that are written with two digits
day_order     whether days stand before months
identity      the forms of a person's names, dates and numbers
"""

import deid.base.compiled  # before a compiled module could stand in for an edited source
