"""Every command that writes leaves a manifest: it holds, finds changes, tells nothing planted, and is the same twice.

Identifiers are planted in names of files and folders, ids, fields, texts and options.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from commands import call

from deid.cli.commands import COMMANDS as PANELS
from deid.cli.commands import load
from deid.manifest import ManifestRun, check_manifests, log_of, manifest_path
from deid.manifest.content import read_manifest

COMMANDS = {name: load(name, target) for rows in PANELS.values() for name, (target, _) in rows.items() if target}
PLANTED = ("Zebulon", "Quartermain", "Ulaanbaatar", "555-0142", "zq@ulaan.org", "77812")
TEXT = "Dr. Zebulon Quartermain, Ulaanbaatar, (617) 555-0142, zq@ulaan.org, MRN ZQ-77812, seen 03/14/2019 for asthma.\n"
RULES = ("--model", "none")
PEOPLE = ("--patient-pattern", "(Quartermain_.*)/")
NOTES, TABLE, CODES = "Zebulon_notes", "Quartermain.csv", "codes_77812.csv"

RUNS: dict[str, tuple[str, ...]] = {
    "scrub": (NOTES, "{out}", *RULES, *PEOPLE, "--policy", "Zebulon.toml", "--edits", "Zebulon.jsonl"),
    "scrub keep": (NOTES, "{out}", *RULES, "--keep", "filename", "--deny", "Zebulon_list.txt"),
    "scrub file": ("records_Zebulon.jsonl", "{out}.jsonl", *RULES, "--known-field", "Quartermain=DOCTOR",
                   "--keep", "Quartermain"),
    "tag": (NOTES, "{out}", *RULES, *PEOPLE, "--to", "jsonl"),
    "convert": ("records_Zebulon.jsonl", "{out}.csv", "--to", "csv"),
    "generalize": (NOTES, "{out}", "--plausible", "4", *PEOPLE),
    "extract": (NOTES, "{out}.csv", *RULES, *PEOPLE),
    "link": (TABLE, "-o", "{out}.csv", "--kind", "disease=same", "--report", "{out}.html", "--save-model",
             "{out}.model.json"),
    "link encode": (TABLE, "-o", "{out}.csv", "--ids", "{out}.ids.csv", "--text-column", "sex", "--key-file",
                    "Zebulon.key"),
    "codes anonymize": (CODES, "--codes", "code", "--k", "2", "--m", "1", "-o", "{out}.csv", "--report",
                        "{out}.html"),
    "genomes anonymize": ("Zebulon.fasta", "-o", "{out}.fasta", "--method", "dnala"),
    "anonymize": (TABLE, "--qi", "age,sex", "--sensitive", "disease", "--drop", "mrn", "--k", "3", "-o", "{out}.csv",
                  "--report", "{out}.html", "--save-scheme", "{out}.scheme.json", "--aligned", "{out}.aligned.csv"),
    "perturb": (TABLE, "--qi", "age,sex", "--sensitive", "disease", "--drop", "mrn", "--round", "age=5",
                "-o", "{out}.csv"),
    "filter": ("records_Zebulon.jsonl", "--output", "{out}", "--from", "ndjson", *RULES,
               "--manifest", "{out}.manifest.json", "--patient-field", "Quartermain"),
    "watch": ("{in}", "{out}", "--once", "--settle", "0", *RULES, "--manifest", "{out}.manifest.json"),
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    notes = tmp_path / NOTES / "Quartermain_Zebulon"
    notes.mkdir(parents=True)
    (notes / "ZQ-77812.txt").write_text(TEXT)
    (notes / "Zebulon 1960.txt").write_bytes(b"\xff\xfeZ")
    for folder in ("one", "two"):
        (tmp_path / f"inbox_{folder}").mkdir()
        (tmp_path / f"inbox_{folder}" / "Zebulon.txt").write_text(TEXT)
    row = {"id": "ZQ-77812", "text": TEXT, "Quartermain": "Zebulon"}
    (tmp_path / "records_Zebulon.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "Zebulon_list.txt").write_text("Ulaanbaatar\n")
    (tmp_path / "Zebulon.toml").write_text('description = "Zebulon"\n[default]\noperator = "redact"\n')
    (tmp_path / CODES).write_text("ward,code\n" + "Quartermain,250.00\nUlaanbaatar,401.10\n" * 3)
    rows = [f"{30 + n % 5},{'FM'[n % 2]},flu{n % 3},ZQ-77812{n}" for n in range(24)]
    (tmp_path / TABLE).write_text("\n".join(["age,sex,disease,mrn", *rows]) + "\n")
    (tmp_path / "Zebulon.fasta").write_text("".join(f">Zebulon{n}\nACGTAC{'GT'[n % 2]}T\n" for n in range(6)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without_checksums(manifest: Path) -> str:
    """Return what a manifest says; a checksum may hold any five digits by chance."""
    return re.sub("[0-9a-f]{16,}", "", manifest.read_text())


@pytest.mark.parametrize("name", RUNS)
def test_every_file_that_a_run_writes_stands_in_its_manifest(
    name: str, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (place / "one").mkdir()
    there = {path for path in place.rglob("*") if path.is_file()} - {place / "Zebulon.jsonl"}
    given = [text.replace("{out}", "one/Zebulon").replace("{in}", "inbox_one") for text in RUNS[name]]
    command = name.removesuffix(" keep").removesuffix(" file").split()
    assert call(*command, *given) in (0, 1, 3), capfd.readouterr().err
    first = next((place / "one").glob("*.manifest.json"))
    out = first.with_name(first.name.removesuffix(".manifest.json"))
    new = {path for path in place.rglob("*") if path.is_file() and not path.name.startswith(".")} - there
    new -= {first, place / "Zebulon.key", *out.rglob("*"), out}
    new = {path for path in new if "failed" not in path.name and path.parent.name != "done"}
    beside = read_manifest(first).run["beside"]
    assert len(beside) == len(new)
    options = {flag.removeprefix("--"): place / path for flag, path in pairwise(given)}
    named = {what: options.get(what) or out.with_name(f"{out.stem}.{what}.csv") for what in beside}
    args = [text for what, path in named.items() for text in ("--beside", f"{what}={path}")]
    capfd.readouterr()
    assert call("manifest", "verify", str(out), *args) == 0
    assert "not compared" not in capfd.readouterr().err
    for what, path in named.items():
        path.write_bytes(path.read_bytes() + b" ")
        assert call("manifest", "verify", str(out)) == 0
        assert what in capfd.readouterr().err
        assert call("manifest", "verify", str(out), *args) == 1
        assert f"changed: {what}" in capfd.readouterr().err
        path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("name", RUNS)
def test_every_run_that_writes_is_proved(name: str, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    compared = []
    for folder in ("one", "two"):
        (place / folder).mkdir()
        out = f"{folder}/Zebulon"
        given = [text.replace("{out}", out).replace("{in}", f"inbox_{folder}") for text in RUNS[name]]
        command = name.removesuffix(" keep").removesuffix(" file").split()
        assert call(*command, *given) in (0, 1, 3), capfd.readouterr().err
        first = next((place / folder).glob("*.manifest.json"))
        written = first.with_name(first.name.removesuffix(".manifest.json"))
        assert written.exists()
        content = without_checksums(first)
        for word in PLANTED:
            assert word.casefold() not in content.casefold(), word
        manifest = read_manifest(first)
        files = [path for path in written.rglob("*") if path.is_file()] if written.is_dir() else [written]
        assert len(manifest.run["outputs"]) == len(files)
        assert manifest.run["inputs"]
        assert manifest.run["command"] == " ".join(command)
        compared.append(manifest.compared())
        assert call("manifest", "verify", str(written)) == 0, capfd.readouterr().err
        changed = files[0].read_bytes()
        files[0].write_bytes(changed[:-1] + b"?")
        assert call("manifest", "verify", str(written)) == 1
        said = capfd.readouterr()
        assert not any(word in line for word in PLANTED for line in said.err.splitlines() if line.startswith("changed"))
        files[0].write_bytes(changed)
    assert compared[0] == compared[1]


@pytest.mark.parametrize("name", RUNS)
def test_what_a_killed_run_left_beside_the_output_is_removed(
    name: str, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It may be PHI: a part of a view, or of the rows behind a release."""
    left = place / ".deid-part-x1y2"
    left.write_text("Quartermain, Zebulon")
    given = [text.replace("{out}", "out").replace("{in}", "inbox_one") for text in RUNS[name]]
    assert call(*name.removesuffix(" keep").removesuffix(" file").split(), *given) in (0, 1, 3)
    assert "1 hidden part files that a killed run had left were removed" in capfd.readouterr().err
    assert not left.exists()


@pytest.mark.parametrize("name", sorted(RUNS.keys() - {"filter", "watch"}))  # of these what was read is told
@pytest.mark.parametrize("changed", [True, False])
def test_an_input_that_changes_during_a_run_is_told_by_its_content(
    name: str, changed: bool, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Another content with the size and the times of before is told; the same one with other times is not."""
    finish = ManifestRun.finish

    def meddling(run: ManifestRun, *args: Any, **facts: Any) -> Path:
        if run.command == name.removesuffix(" keep").removesuffix(" file"):
            for path in inputs:
                there, content = path.stat(), path.read_bytes()
                path.write_bytes(bytes(reversed(content)) if changed else content)
                if changed:
                    os.utime(path, ns=(there.st_atime_ns, there.st_mtime_ns))
        return finish(run, *args, **facts)

    source = place / RUNS[name][0]
    inputs = [path for path in ([source] if source.is_file() else source.rglob("*")) if path.is_file()]
    monkeypatch.setattr(ManifestRun, "finish", meddling)
    given = [text.replace("{out}", "out") for text in RUNS[name]]
    assert call(*name.removesuffix(" keep").removesuffix(" file").split(), *given) in (0, 1, 3), capfd.readouterr().err
    told = read_manifest(next(place.glob("out*.manifest.json"))).run["inputs"].values()
    assert len(told) == len(inputs)
    assert all(digest.startswith("keyed:") for digest in told)
    assert all(digest.endswith(" (changed during the run)") == changed for digest in told)


def test_releases_with_noise_tell_nothing_but_the_release(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No checksum of the table, no count of it; the metadata beside a CSV belong to the release and are checked."""
    cube = ("cube", TABLE, "--dims", "sex,age", "--domain", "sex=F,M", "--domain", "age=30..34", "--epsilon", "1")
    assert call(*cube, "--not-private-seed", "1", "-o", "Zebulon.csv") == 0, capfd.readouterr().err
    told = read_manifest(manifest_path(place / "Zebulon.csv")).run
    assert told["inputs"] == "withheld"
    assert told["outputs"].keys() == {"OUT", "OUT.json"}
    assert told["documents"] == 0
    assert call("synthesize", "Zebulon.csv", "-o", "drawn.csv", "--rows", "9") == 0
    assert len(read_manifest(manifest_path(place / "drawn.csv")).run["inputs"]) == 1
    for out in ("Zebulon.csv", "drawn.csv"):
        assert call("manifest", "verify", out) == 0
        assert not any(word in without_checksums(manifest_path(place / out)) for word in PLANTED)
    (place / "Zebulon.csv.json").write_text("{}")
    assert call("manifest", "verify", "Zebulon.csv") == 1
    (place / "Zebulon.csv.json").unlink()
    assert call("manifest", "verify", "Zebulon.csv") == 1


WRITERS = frozenset(
    {"scrub", "tag", "generalize", "verify", "audit", "filter", "watch", "convert", "extract", "write-back", "train",
     "anonymize", "perturb", "codes anonymize", "trajectories anonymize", "genomes anonymize", "release", "cube",
     "sequences", "synthesize", "query", "keys", "schema", "calibrate", "link", "link encode", "link match",
     "annotate train", "spark scrub", "spark tag", "serve", "relay"}
)  # fmt: skip
FIGURES = ("crossval", *(f"experiment {name}" for name in ("features", "sampling", "learning-curve", "learners", "hips",
           "dp", "sequences", "conclusions", "models", "linkage", "private-linkage", "tables", "codes",
           "trajectories", "same-disease")))  # fmt: skip
OTHERS = {
    **dict.fromkeys(FIGURES, "figures"),
    "ru-map": "a plot",
    **dict.fromkeys(("annotate export", "annotate decisions", "annotate history"), "a project, which has a history"),
    "map": "spans of the user's own, moved",
    "model export": "a file of a model that has a manifest",
    "manifest page": "the manifests themselves",
    "manifest key": "a public key",
    "experiment active-learning": "figures",
    "report open": "a page of figures",
    "reproduce": "figures",
    "manifest verify": "nothing: it reads OUT",
}


def test_every_command_that_writes_is_one_of_these() -> None:
    """A command with an output has a manifest, or stands in the list of those that publish nothing."""
    outputs = {"out", "output", "target", "outbox", "page", "public"}
    for name, command in COMMANDS.items():
        code = inspect.getsource(command.callback)
        kinds = (": FeedOptions", ": StreamOptions", ": WatchOptions", ": ServiceOptions")
        proved = any(word in code for word in ("begin(", "release_paid(", *kinds))
        assert proved == (name in WRITERS), name
        places = {p.name for p in command.params if p.name in outputs and p.type.name == "path"}
        assert proved or not places or name in OTHERS, (name, places)


def test_checking_goes_on_with_the_chain(place: Path) -> None:
    """The check's manifest names the run's, keeps its list of files, and tells of failures by pseudonyms."""
    out = place / "out"
    assert call("scrub", NOTES, "out", *RULES) == 1
    assert call("verify", NOTES, "out", *RULES) == 1  # one of the originals cannot be read
    manifests = [read_manifest(path) for _, path in log_of(manifest_path(out))]
    assert [m.run["command"] for m in manifests] == ["scrub", "verify"]
    assert manifests[1].previous == manifests[0].digest()
    assert manifests[0].run["outputs"]
    assert not manifests[1].run["outputs"]
    assert manifests[1].run["tree"] == manifests[0].run["tree"]
    assert len(manifests[0].run["failures"]) == 1
    assert manifests[0].run["failures"][0]["file"] in manifests[0].run["inputs"]
    assert not check_manifests(out).faults
    next(out.rglob("*.txt")).write_text("changed")
    call("verify", NOTES, "out", *RULES)
    assert [fault.what for fault in check_manifests(out).faults] == ["changed"]


def test_a_feed_has_a_manifest_for_every_stretch(place: Path) -> None:
    feed = place / "feed.jsonl"
    feed.write_text("".join(json.dumps({"id": str(n), "text": TEXT}) + "\n" for n in range(2000)))
    every = ("--manifest", "feed.json", "--manifest-every", "500")
    assert call("filter", "feed.jsonl", "--output", "out", "--from", "ndjson", *RULES, *every) == 0
    manifests = [read_manifest(path) for _, path in log_of(place / "feed.json")]
    assert len(manifests) > 1
    assert sum(m.run["documents"] for m in manifests) == 2000
    at = 0
    for manifest in manifests:
        begin, at_end = manifest.run["results"]["read"]
        assert begin == at
        at = at_end
    assert at == feed.stat().st_size
    assert call("manifest", "verify", "out", "--first", "feed.json") == 0
    assert sum(m.run["categories"]["PHONE"] for m in manifests) == 2000
