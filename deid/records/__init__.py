"""Hospital records in place: what stands where in a record, and how it is written back without touching the rest.

A record is read as a list of places (`deid.records.record`): a path, a stretch of the record, its decoded text, and
what it is: free text, an identifier of a known category, or blocked, for nobody knows what it is. All that is no place
is kept, to the byte. Which path is what is data (`deid.records.tables`); `deid.records.hl7v2` reads messages,
`deid.records.ccda` clinical documents, `deid.records.fhir` resources; `deid.records.json_positions` and
`deid.records.markup` say where the values of JSON and the words of XHTML stand.
"""

import deid.base.compiled  # before a compiled module could stand in for an edited source
