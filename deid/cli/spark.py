"""The commands of Spark: notes of a data warehouse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.cli import EXIT_LEFT_OUT, OUT, KeyOptions, Summary, argument, command
from deid.detection.options import RecognizerOptions
from deid.pipeline.facts import facts_of, model_facts
from deid.pipeline.options import PipelineOptions
from deid.streaming.options import RowOptions

if TYPE_CHECKING:
    from deid.streaming.spark_tables import ParquetPlaces

_IN = argument("File or folder of Parquet, on a disk that all machines have.", metavar="IN")


@command
def scrub(
    told: Summary,
    *,
    source: Path = _IN,
    target: Path = OUT,
    said: PipelineOptions,
    key: KeyOptions,
    rows: RowOptions,
) -> int | None:
    """Replace the PHI in the notes of a table of Parquet, on Spark.

    OUT is a folder of Parquet with the same columns; each note is that of deid scrub with the same key. What fails is
    left out: OUT.rejects says which (pseudonymous ids) and why, and the exit status is 3. Key, model and files that
    options name must be at the same place on all machines.

    Example: deid spark scrub in.parquet out.parquet --patient-field person_id
    """
    from deid.streaming.arrow import KeyPlace, ScrubBatch
    from deid.streaming.spark import scrub_by
    from deid.streaming.spark_tables import ParquetPlaces, remarks, without_patient, write_counted

    places = ParquetPlaces.checked(source, target)
    site = KeyPlace.of(key.key_file)
    told.begin(target, told.key(key.key_file, create=False), inputs=places.files)
    with places.opened(rows.master) as (frame, part):
        batch = ScrubBatch(key=site, options=said, **rows.work(frame))
        pipeline = batch.make()
        counted = write_counted(scrub_by(frame, batch), batch.columns.id, part, without_patient(said))
    told.notes, told.extra = remarks(counted, batch, pipeline)
    return _finish(told, places, counted, **facts_of(pipeline))


@command
def tag(
    told: Summary,
    *,
    source: Path = _IN,
    target: Path = OUT,
    said: RecognizerOptions,
    rows: RowOptions,
) -> int | None:
    """Annotate the PHI in the notes of a table of Parquet, on Spark.

    OUT is a folder of Parquet with all columns as they are, and spans: an array of structs, those of deid tag. It holds
    the PHI as IN does, and only you may read it. What fails is left out: OUT.rejects has the ids and why, and the exit
    status is 3. Model and files that options name must be at the same place on all machines.

    Example: deid spark tag in.parquet tagged.parquet --model en
    """
    from deid.streaming.arrow import TagBatch
    from deid.streaming.spark import tag_by
    from deid.streaming.spark_tables import ParquetPlaces, write_counted

    places = ParquetPlaces.checked(source, target)
    told.begin(target, inputs=places.files)
    with places.opened(rows.master) as (frame, part):
        batch = TagBatch(options=said, **rows.work(frame))
        tagging = batch.make()
        counted = write_counted(tag_by(frame, batch), batch.columns.id, part)
    told.extra = {"ids_twice": counted["twice"]}
    return _finish(told, places, counted, model=model_facts(tagging.recognizer), private=True)


def _finish(told: Summary, places: ParquetPlaces, counted: dict[str, int], **facts: Any) -> int | None:
    """Tell what was done, and write the manifest; return the exit status."""
    told.documents, told.left_out = counted["notes"], counted["rejects"]
    beside = {".rejects": places.rejects} if counted["rejects"] else {}
    if beside:
        told.places.append(f"what was left out is listed in {places.target}.rejects")
    root = places.source if places.source.is_dir() else places.source.parent
    told.sign(places.target, beside=beside, root=root, **facts)
    return EXIT_LEFT_OUT if beside else None
