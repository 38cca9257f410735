"""Sequence labelling: label schemes, sampling, training, decoding, and the taggers that join them."""
