"""The commands filter, watch and relay: a feed of records, files or messages, scrubbed as it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deid.base.errors import ConfigError
from deid.base.keys import load_key
from deid.cli import EXIT_LEFT_OUT, Summary, argument, command, growing, option, size_of, tell
from deid.cli.option_groups import WorkOptions
from deid.pipeline.options import PipelineOptions
from deid.streaming.options import FeedOptions, LineOptions, MessageOptions, RecordOptions, StreamOptions, WatchOptions

if TYPE_CHECKING:
    from deid.streaming.crew import FeedRun
    from deid.streaming.proof import Proof
    from deid.streaming.work import Shape


def _finished(told: Summary, run: FeedRun, status: int) -> int:
    """Tell the summary, and return the exit status: as given, else by what was left out."""
    totals = run.totals
    notes, figures = totals.settled()
    told.documents, told.left_out, told.categories = totals.records, totals.failed, Counter(totals.spans)
    told.notes[:0] = [*run.crew.notes, *notes]
    told.extra |= figures
    told_proof(told, run.proof)
    return status or (EXIT_LEFT_OUT if totals.failed or totals.unmet else 0)


@command
def filter(
    told: Summary,
    *,
    source: Path | None = argument("File to read instead of standard input.", metavar="IN", default=None, dash=True),
    output: Path | None = option(None, "Write a new file F instead of standard output.", "--output", "-o", dash=True),
    said: PipelineOptions,
    work: WorkOptions,
    feed: StreamOptions,
    records: RecordOptions,
) -> int:
    """Replace the PHI in a stream of records.

    Records come out in order, each as soon as it is done. One that fails is left out, never passed on, and the exit
    status is 3; 143, 130 and 129 after SIGTERM, Ctrl-C and SIGHUP, when what was read is written; 141 when nobody
    reads the output.

    Example: deid filter --from ndjson --text-field note.text --dead-letters dead.jsonl < notes.ndjson > out.ndjson
    """
    from deid.streaming.filtering import Feed, filter_feed
    from deid.streaming.work import PipelineRecipe
    from deid.streaming.writing import is_file

    output = None if str(output) == "-" else output
    if output is None and str(told.said.json) == "-":
        raise ConfigError("the summary and the records cannot both go to standard output", "name a file")
    source = None if str(source) == "-" else source
    files = source is not None and source.is_file() and is_file(output)
    shape = records.shape("plain", said, add_id=feed.journal is not None and not files)
    with feeding(told, said, work, feed, shape) as run:
        options = PipelineRecipe(run.key, said).fingerprint()
        flow = Feed(source, output, feed.dead_letters, feed.journal, options)
        size = source.stat().st_size if files and source is not None else None
        with growing("filtering", size, lambda: run.totals.read, shown=files):
            complete = filter_feed(flow, run)
    if run.proof is not None:
        run.proof.finish(source, output, complete=complete)
    if not complete:
        told.notes.append(_stopped(feed.journal is not None, output))
    return _finished(told, run, 0 if complete else run.stop.status)


@command
def watch(
    told: Summary,
    *,
    inbox: Path = argument("Folder that files come into.", metavar="INBOX"),
    outbox: Path = argument("Folder for the results; made if missing.", metavar="OUTBOX"),
    said: PipelineOptions,
    work: WorkOptions,
    feed: WatchOptions,
    records: RecordOptions,
) -> int:
    """Replace the PHI in files as they come into a folder.

    Results appear in OUTBOX whole, under pseudonyms (--keep filename keeps the names). Inputs then move to INBOX/done,
    or to INBOX/failed when something was left out. Files whose names begin with a dot or end in .part or .tmp are left.

    Example: deid watch inbox outbox --from ndjson --policy safe-harbor
    """
    from deid.streaming.watching import Folders
    from deid.streaming.watching import watch as watch_folders

    folders = Folders(inbox, outbox, "filename" in said.keep, feed.settle)
    folders.check()
    shape = records.shape("whole", said)
    failed = 0
    with feeding(told, said, work, feed, shape) as run:
        run.crew.wait_ready()  # what cannot be loaded is told now, not when the first file comes
        for seen in watch_folders(folders, run, poll=feed.poll, once=feed.once):
            failed += seen.failed
            if seen.error is not None:
                tell(f"failed: {seen.error}")
            elif seen.failed or not told.said.quiet:
                tell(f"{'failed in part' if seen.failed else 'done'}: {seen.name}")
    if run.proof is not None:
        run.proof.finish(None, None, complete=feed.once)
    told.extra = {"failed_files": failed}
    return _finished(told, run, EXIT_LEFT_OUT if failed else 0)


@contextmanager
def feeding(
    told: Summary, said: PipelineOptions, work: WorkOptions, feed: FeedOptions, shape: Shape
) -> Iterator[FeedRun]:
    """Start workers, counters and manifests of a feed, and end them."""
    from deid.streaming.crew import Crew, FeedRun
    from deid.streaming.metrics import serve_metrics
    from deid.streaming.stopping import Stop
    from deid.streaming.totals import Totals
    from deid.streaming.work import PipelineRecipe

    key, created = load_key(work.key_file)  # told at once: a feed may never end
    recipe = PipelineRecipe(key, said)
    totals = Totals(tell=tell, note=None if told.said.quiet else tell)
    proof = feed.proof(told.begin, key, recipe.pipeline, totals, tell)
    with ExitStack() as stack:
        stop = stack.enter_context(Stop())
        if created:
            tell(created)
        if feed.metrics_port is not None:
            chosen = stack.enter_context(serve_metrics(feed.metrics_port, totals))
            tell(f"metrics: http://127.0.0.1:{chosen}/metrics")
        stack.enter_context(feed.watching(totals, tell))
        crew = stack.enter_context(Crew(recipe, replace(shape, drift=feed.drift is not None), work.processes))
        yield FeedRun(crew, shape, key, totals, stop, proof)


def told_proof(told: Summary, proof: Proof | None) -> None:
    """Say where the last manifest is, and whether some were taken away."""
    if proof is not None:
        told.places += [f"manifest: {place}" for place in proof.places[-1:]]
        told.lost = proof.lost


def _stopped(journal: bool, target: Path | None) -> str:
    if journal:
        return "stopped before the end; the same command goes on where it was"
    if target is not None and not target.exists():
        return "stopped before the end; nothing was left behind (--journal makes a run resumable)"
    return "stopped before the end; what was read is written"


@command
def relay(
    told: Summary,
    *,
    listen: str = option("127.0.0.1:2575", "Where to listen; port 0 for any free one.", metavar="HOST:PORT"),
    forward: str | None = option(None, "Receiver of the scrubbed messages.", metavar="HOST:PORT"),
    output: Path | None = option(None, "Write the scrubbed messages to files in a folder.", "--output", "-o"),
    said: PipelineOptions,
    work: WorkOptions,
    dead_letters: Path | None = option(
        None, "Note messages that were left out in F: offset, length, keyed hash, error.", panel="Messages"
    ),
    journal: Path | None = option(
        None, "Note in F what is safe; by default in the folder of --output.", panel="Messages"
    ),
    rotate: int = option(
        64 << 20, "A file of --output is complete with SIZE bytes.", metavar="SIZE", read=size_of, panel="Messages"
    ),
    lines: LineOptions,
    messages: MessageOptions,
    feed: FeedOptions,
) -> int:
    """Replace the PHI in HL7 v2 messages between sender and receiver (MLLP).

    A message is acknowledged when it is on the disk, or when the receiver has acknowledged it; one that fails is
    refused, never passed on. It runs until SIGTERM or Ctrl-C: what is under way is finished first. The exit status is 3
    when messages were left out.

    Example: deid relay --listen 127.0.0.1:2575 --output scrubbed --policy safe-harbor
    """
    from deid.base.network import Address, tls_client
    from deid.records.hl7v2 import BORDER, BORDER_BYTES
    from deid.streaming.framing import Delimited
    from deid.streaming.relay import Relay, run_relay
    from deid.streaming.work import Shape

    certificate = lines.certificate
    plan = Relay(
        Address.read(listen),
        Address.read(forward) if forward else None,
        output,
        journal,
        dead_letters,
        messages.max_record,
        rotate,
        lines.idle or None,
        lines.patience,
        lines.connections,
        certificate.server(lines.tls_clients) if certificate else None,
        tls_client(lines.forward_tls) if lines.forward_tls else None,
    )
    shape = Shape(
        Delimited(BORDER, BORDER_BYTES),
        "hl7v2",
        encoding=messages.encoding,
        max_record=messages.max_record,
        timeout=messages.timeout,
        places=messages.places,
    )

    def ready(address: Address) -> None:
        tell(f"listening on {address}")
        if not address.loopback and plan.tls is None:
            tell("other machines reach this without TLS: notes can be read on the way (--tls-certificate)")

    with feeding(told, said, work, feed, shape) as run:
        run_relay(plan, run, ready)
    return _finished(told, run, 0)
