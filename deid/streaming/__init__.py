"""Feeds of records: filtered from stream to stream or file to file, taken from an inbox folder, or from the network.

The process that the user starts only cuts the input into records, keeps their order and writes; worker processes hold
model and policy. So a record that kills its worker costs that record alone. `deid.streaming.filtering` has the loop,
`deid.streaming.watching` the inbox; `deid.streaming.framing` says what a record is, `deid.streaming.records` what is
in it, `deid.streaming.journal` how a run goes on after a crash. `deid.streaming.relay` takes messages of HL7 v2 over
the network, `deid.streaming.keeping` makes them safe, `deid.streaming.mllp` says how they stand on the line.
`deid.streaming.drift` compares what a source sends
with the weeks before.
"""
