"""Where there is no room, or no permission, each command that writes says so and leaves nothing torn."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import call, full_disk

from deid.cli.commands import COMMANDS as PANELS
from deid.cli.common import Summary
from deid.dp.budget import Ledger

NAMES = frozenset(name for rows in PANELS.values() for name, (target, _) in rows.items() if target)
TEXT = "Dr. Alice Baker saw John Smith (MRN: 4711203) on 03/14/2019 in Boston, MA.\n"
RULES = ("--model", "none")
COLUMNS = ("--qi", "age,sex", "--sensitive", "disease", "--k", "3", "--publish", "id")
CUBE = ("table.csv", "--dims", "sex,age", "--domain", "sex=F,M", "--domain", "age=30..34")
VISITS = ("visits.csv", "--periods", "a,b", "--domain", "level=0..2")
NOISE = ("--epsilon", "1", "--not-private-seed", "1", "--output", "{out}.csv")
PLOT = ("--report", "{out}.html")
OUT = ("--output", "{out}.csv")

RUNS: dict[str, tuple[str, ...]] = {
    "scrub": ("notes", "{out}", *RULES),
    "scrub file": ("notes.jsonl", "{out}.jsonl", *RULES, "--edits", "{out}.edits.jsonl"),
    "tag": ("notes", "{out}", *RULES, "--to", "jsonl"),
    "filter": ("notes.jsonl", "--output", "{out}", "--from", "ndjson", *RULES),
    "watch": ("notes", "{out}", "--once", "--settle", "0", *RULES),
    "verify": ("notes", "scrubbed", "--json", "{out}.json", *RULES),
    "map": ("spans.jsonl", "--edits", "edits.jsonl", "--offsets", "original", "--output", "{out}.jsonl"),
    "audit": ("scrubbed", "--sheet", "{out}.csv", "--sample", "1"),
    "generalize": ("notes", "{out}", "--plausible", "4"),
    "convert": ("notes.jsonl", "{out}.csv", "--to", "csv"),
    "train": ("gold.jsonl", "--output", "{out}", "--iterations", "1"),
    "model export": ("model", "--output", "{out}.crfsuite"),
    "annotate import": ("{out}.annotations", "gold.jsonl", "--layer", "eva"),
    "annotate export": ("eva.annotations", "{out}.csv", "--to", "csv", "--annotator", "eva"),
    "annotate train": ("eva.annotations", "--annotator", "eva", "--start", "none", "--output", "{out}"),
    "annotate history": ("eva.annotations", "--output", "{out}.csv"),
    "annotate decisions": ("found.annotations", "verify", "--annotator", "eva", "--output", "{out}.csv"),
    "report open": ("scores.json", "--output", "{out}.html"),
    "evaluate": ("gold.jsonl", "gold.jsonl", *PLOT),
    "calibrate": ("gold.jsonl", "--output", "{out}.json", "--model", "model", "--recall", ".1"),
    "crossval": ("gold.jsonl", "--output", "{out}.csv", "--folds", "2", "--iterations", "1"),
    "extract": ("notes", "{out}.csv", *RULES),
    "link": ("people.csv", "--output", "{out}.csv"),
    "link encode": ("people.csv", "--output", "{out}.csv", "--ids", "{out}.ids.csv", "--key-file", "key",
                    "--text-column", "last_name", "--text-column", "first_name"),
    "link match": ("filters.csv", "filters.csv", "--output", "{out}.csv"),
    "write-back": ("view.csv", "view.csv", "{out}"),
    "schema": ("table.csv", "--output", "{out}.toml"),
    "anonymize": ("table.csv", *COLUMNS, "--output", "{out}.csv", *PLOT),
    "ru-map": ("table.csv", *COLUMNS[:4], "--output", "{out}.svg"),
    "risk": ("table.csv", "--qi", "age,sex", "--expert-report", "{out}.html"),
    "budget init": ("{out}.ledger", "--epsilon", "1"),
    "cube": (*CUBE, *NOISE),
    "query": ("table.csv", "SELECT COUNT(*) GROUP BY sex", "--domain", "sex=F,M", *NOISE),
    "keys": ("table.csv", "--column", "sex", "--keys-delta", "0.01", *NOISE),
    "sequences": (*VISITS, *NOISE),
    "synthesize": ("cube.csv", "--output", "{out}.csv", "--rows", "9"),
    "codes anonymize": ("codes.csv", "--codes", "code", "--k", "2", "--m", "1", "--output", "{out}.csv", *PLOT),
    "trajectories anonymize": ("diagnoses.csv", "--k", "2", "--output", "{out}.csv"),
    "genomes anonymize": ("genomes.fasta", "--output", "{out}.fasta", "--method", "dnala"),
    "vault init": ("{out}.vault", "--key-file", "key"),
    "perturb": ("table.csv", *COLUMNS[:4], "--drop", "id", "--round", "age=5", "--output", "{out}.csv"),
    "release": ("plan.toml", "{out}", "--key-file", "key"),
    "annotate review": ("{out}.annotations", "found.json"),
    "annotate lists": ("eva.annotations", "--annotator", "eva", "--deny-list", "{out}", "--allow-list", "{out}.allow"),
    "experiment tables": ("table.csv", *COLUMNS[:4], "--ks", "2", *OUT),
    "experiment trajectories": ("diagnoses.csv", "--ks", "2", *OUT),
    "experiment same-disease": ("table.csv", "--population", "table.csv", "--qi", "age,sex", "--zips", "age", *OUT),
    "experiment conclusions": ("table.csv", "table.csv", "--qi", "age,sex", "--outcome", "disease=flu1", *OUT),
    "experiment models": ("table.csv", "table.csv", "--qi", "age,sex", "--target", "disease", *OUT),
    "experiment dp": (*CUBE, "--slice", "sex", "--methods", "cells", "--epsilons", "1", "--runs", "1", *OUT),
    "experiment sequences": (*VISITS, "--methods", "tree", "--epsilons", "1", "--runs", "1", *OUT),
    "experiment sampling": ("gold.jsonl", "--folds", "2", "--iterations", "1", *OUT),
    "experiment learning-curve": ("gold.jsonl", "--test", "gold.jsonl", "--sizes", "2", "--iterations", "1", *OUT),
    "experiment learners": ("gold.jsonl", "--test", "gold.jsonl", "--algorithms", "sgd", "--iterations", "1", *OUT),
    "experiment hips": ("gold.jsonl", "--test", "gold.jsonl", "--iterations", "1", *OUT),
    "experiment features": ("gold.jsonl", "--folds", "2", "--iterations", "1", "--features", "ra", *OUT),
    "experiment active-learning": ("gold.jsonl", "--test", "gold.jsonl", "--seeds", "1", "--first-notes", "2",
                                   "--most", "3", "--iterations", "1", *OUT),
    "experiment linkage": ("--sizes", "20", "--methods", "exact", "--resamples", "0", *OUT),
    "experiment private-linkage": ("--persons", "50", "--harden", "none", *OUT),
    "experiment codes": ("codes.csv", "--codes", "code", "--k", "2", "--m", "1", "--attacked", "0",
                         "--methods", "km", *OUT),
    "reproduce": ("claims", "--output", "{out}"),
    "manifest key": ("--output", "{out}.pem"),
    "manifest page": ("scrubbed", "--output", "{out}.html"),
}  # fmt: skip

_STAYING = frozenset((".deid-watch.lock",))
"""A lock stays: who removes one can remove that of somebody else."""
READERS = frozenset(
    {"explain", "records check", "records show", "model audit", "compare", "link explain", "privacy", "budget show",
     "budget history", "slice", "survival", "prefixes", "fidelity", "codes risk", "genomes verify",
     "genomes attack membership", "genomes attack linkage", "policy check", "policy show", "vault reidentify",
     "vault audit", "manifest verify", "doctor", "experiment robustness", "annotate agreement", "serve"}
)  # fmt: skip
"""What writes a summary alone, for which `test_laws_of_commands` stands."""
IN_PLACE: dict[str, tuple[str, ...]] = {
    "vault rotate": ("rows.vault", "--key-file", "key", "--new-key-file", "key.new"),
    "forget": ("p1", "--in-vault", "rows.vault", "--key-file", "key", "--why", "request 7"),
    "annotate": ("gold.jsonl", "--project", "eva.annotations", "--annotator", "ann", "--start", "none",
                 "--no-browser"),
    "annotate adjudicate": ("eva.annotations", "--annotator", "chief", "--between", "eva", "--between", "ben"),
}  # fmt: skip
"""What changes a file that is there: with what file, tried on a full disk."""
SPARK = ("spark scrub", "spark tag")
"""What is tried without any room, before Spark starts."""
ELSEWHERE = {"relay": "tests/streaming/test_relay.py"}
"""What needs other processes, and where it is tried."""


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay what the commands read."""
    pytest.importorskip("joblib")  # first met on a full disk, it would stay in serial mode for all tests behind
    place = tmp_path_factory.mktemp("laid")
    for number in range(2):
        (place / "notes").mkdir(exist_ok=True)
        (place / "notes" / f"note{number}.txt").write_text(TEXT)
    spans = [{"start": 4, "end": 15, "label": "DOCTOR"}, {"start": 20, "end": 30, "label": "PATIENT"}]
    rows = [{"id": f"note{number}", "text": TEXT, "spans": spans} for number in range(6)]
    (place / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (place / "notes.jsonl").write_text(json.dumps({"id": "note", "text": TEXT}) + "\n")
    (place / "rows.jsonl").write_text(json.dumps({"id": "note", "text": TEXT, "patient": "p1"}) + "\n")
    (place / "key.new").write_text("7c" * 32)
    (place / "key.new").chmod(0o600)
    table = [f"{n},{30 + n % 5},{'FM'[n % 2]},flu{n % 3}" for n in range(24)]
    (place / "table.csv").write_text("\n".join(["id,age,sex,disease", *table]) + "\n")
    people = [f"Smith{n},Ann,1960-01-{n + 1:02d},F" for n in range(9)]
    (place / "people.csv").write_text("\n".join(["last_name,first_name,birth_date,sex", *people]) + "\n")
    roles = 'sex = "quasi-identifier"\nage = "quasi-identifier"\ndisease = "sensitive"\n'
    (place / "plan.toml").write_text(
        f'model = "none"\nk = 2\n[tables.t]\npath = "table.csv"\npatient = "id"\n[tables.t.columns]\n{roles}'
    )
    (place / "codes.csv").write_text("ward,code\n" + "a,250.00\nb,401.10\n" * 3)
    (place / "diagnoses.csv").write_text(
        "person,code,age\n" + "".join(f"{n},{('E11.65', 'I10')[n % 2]},{40 + n}\n" for n in range(6))
    )
    (place / "visits.csv").write_text("a,b\n" + "0,1\n2,0\n" * 9)
    (place / "genomes.fasta").write_text("".join(f">g{n}\nACGTAC{'GT'[n % 2]}T\n" for n in range(6)))
    with contextlib.chdir(place), pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(place / "config"))
        assert call("scrub", "notes", "scrubbed", *RULES, "--edits", "edits.jsonl", "--keep", "id") == 0
        assert call("train", "gold.jsonl", "--output", "model", "--iterations", "1") == 0
        assert call("model", "audit", "model") in (0, 1)
        assert call("cube", *CUBE, *(word.replace("{out}", "cube") for word in NOISE)) == 0
        assert call("evaluate", "gold.jsonl", "gold.jsonl", "--json", "scores.json") == 0
        assert call("annotate", "import", "eva.annotations", "gold.jsonl", "--layer", "eva") == 0
        assert call("verify", "notes", "notes", *RULES, "--json", "found.json") == 1
        assert call("annotate", "review", "found.annotations", "found.json") == 0
        assert call("annotate", "import", "eva.annotations", "gold.jsonl", "--layer", "ben") == 0
        assert call("extract", "notes", "view.csv", *RULES) == 0
        encoded = ("--text-column", "last_name", "--text-column", "first_name", "--key-file", "key")
        assert call("scrub", "notes.jsonl", "one.jsonl", *RULES, "--key-file", "key") == 0
        with_vault = ("--vault", "rows.vault", "--key-file", "key", "--patient-field", "patient")
        assert call("vault", "init", "rows.vault", "--key-file", "key") == 0
        assert call("scrub", "rows.jsonl", "two.jsonl", *RULES, *with_vault) == 0
        assert call("link", "encode", "people.csv", "--output", "filters.csv", "--ids", "ids.csv", *encoded) == 0
    (place / "spans.jsonl").write_text(
        json.dumps({"document": "note0", "start": 4, "end": 15, "label": "DOCTOR"}) + "\n"
    )
    return place


@pytest.fixture
def place(laid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(laid, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def command_of(name: str) -> list[str]:
    return name.removesuffix(" file").split()


def files(folder: Path) -> set[str]:
    found = {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name not in _STAYING
    }
    # SQLite's own beside a database, which its next use takes in
    return {name for name in found if not name.endswith((".annotations-wal", ".annotations-shm"))}


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the limit of a file's size is one of POSIX")
@pytest.mark.parametrize("name", RUNS)
def test_a_full_disk_is_told_and_leaves_nothing(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files(place)
    capsys.readouterr()
    with full_disk():
        status = call(*command_of(name), *(text.replace("{out}", "Zed") for text in RUNS[name]))
    said = capsys.readouterr().err
    assert status not in (0, 141), said
    # a project is written to even where it is read, beside itself; some commands put aside what they have read
    places = ["Zed", f"{RUNS[name][0]}: the disk is full"]
    if name == "extract":  # what it knows of the notes lies there until all are read
        places.append("the folder of temporary files cannot be written")
    assert any(place in said for place in places), said
    assert "cannot" in said or "disk" in said, said
    assert "internal error" not in said, said
    assert "Traceback" not in said, said
    assert files(place) - {"Zed.failed"} == before, said  # which notes failed, for another run


SEVERAL: dict[str, tuple[str, ...]] = {
    "extract": (*RUNS["extract"],),
    "link": (*RUNS["link"], "--review", "{out}.review.csv", "--report", "{out}.html", "--studio", "{out}.studio.html",
             "--save-model", "{out}.json", "--method", "model"),
    "link encode": RUNS["link encode"],
    "anonymize": (*RUNS["anonymize"], "--aligned", "{out}.aligned.csv", "--save-scheme", "{out}.scheme.json"),
    "codes anonymize": RUNS["codes anonymize"],
    "trajectories anonymize": (*RUNS["trajectories anonymize"], *PLOT),
    "write-back": RUNS["write-back"],
    "cube": RUNS["cube"],
    "sequences": RUNS["sequences"],
}  # fmt: skip
"""What writes more than one file."""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the limit of a file's size is one of POSIX")
@pytest.mark.parametrize("name", SEVERAL)
def test_of_several_files_none_is_there_without_the_others(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever of them there is no room for; manifests come last, and say of nothing that it is not there."""
    before = files(place)

    def made(out: str) -> set[str]:
        found = {file.replace(out, "{out}", 1) for file in files(place) - before if file.startswith(out)}
        return {file for file in found if not file.endswith((".manifest.json", ".failed"))}

    assert call(*command_of(name), *(text.replace("{out}", "Good") for text in SEVERAL[name])) == 0
    whole = made("Good")
    assert len(whole) > 1
    sizes = {(place / file.replace("{out}", "Good")).stat().st_size for file in whole}
    for size in sorted(sizes):
        out = f"Zed{size}"
        capsys.readouterr()
        with full_disk(size - 1):
            status = call(*command_of(name), *(text.replace("{out}", out) for text in SEVERAL[name]))
        said = capsys.readouterr().err
        assert (status, made(out)) in ((2, set()), (2, whole)), (size, said)
        assert "Traceback" not in said, said
        assert not [file for file in files(place) if ".deid-part" in file]


@pytest.mark.parametrize("name", RUNS)
def test_a_folder_that_is_closed_is_told(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    closed = Path("/sys/kernel") if os.geteuid() == 0 else place / "closed"
    if os.geteuid():
        closed.mkdir(mode=0o500)
    with contextlib.suppress(OSError):
        (closed / "try").touch()
        pytest.skip("no folder is closed to this user")
    before = files(place)
    status = call(*command_of(name), *(text.replace("{out}", f"{closed}/Zed") for text in RUNS[name]))
    said = capsys.readouterr().err
    assert status not in (0, 141), said
    assert str(closed) in said, said
    assert "cannot" in said or "disk" in said, said
    assert "internal error" not in said, said
    assert "Traceback" not in said, said
    assert files(place) == before, said


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the limit of a file's size is one of POSIX")
@pytest.mark.parametrize("name", IN_PLACE)
def test_a_full_disk_changes_nothing_of_what_is_there(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (changed,) = {word for word in IN_PLACE[name] if word.endswith((".vault", ".annotations"))}
    before = (place / changed).read_bytes()
    with full_disk():
        status = call(*command_of(name), *IN_PLACE[name])
    said = capsys.readouterr().err
    assert (status, said.splitlines()[-1].startswith(f"error: {changed}: the disk is full")) == (2, True), said
    assert (place / changed).read_bytes() == before
    if name != "annotate":  # which goes on until it is stopped
        assert call(*command_of(name), *IN_PLACE[name]) == 0, capsys.readouterr().err


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the limit of a file's size is one of POSIX")
@pytest.mark.parametrize("name", SPARK)
def test_spark_is_not_started_where_nothing_can_be_written(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspark")
    pq.write_table(pa.table({"id": ["n1"], "text": [TEXT]}), "notes.parquet")
    before = files(place)
    with full_disk(0):
        status = call(*command_of(name), "notes.parquet", "Zed", *RULES)
    said = capsys.readouterr().err
    assert (status, said.startswith("error: Zed: cannot write")) == (2, True), said
    assert files(place) == before


def test_every_command_is_one_of_these() -> None:
    """A new command that writes has a run here, or where it says."""
    run = {name.removesuffix(" file") for name in RUNS}
    groups = (run, READERS, IN_PLACE.keys(), SPARK, ELSEWHERE.keys())
    assert set().union(*groups) == NAMES
    assert sum(map(len, groups)) == len(NAMES)
    root = Path(__file__).parents[2]
    assert all("full_disk" in (root / place).read_text() for place in ELSEWHERE.values())


@pytest.mark.parametrize("name", RUNS)
def test_an_output_named_dash_is_standard_output_or_refused(
    name: str, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = files(place)
    words = ["-" if word == "{out}" or word.startswith("{out}.") else word for word in RUNS[name]]
    status = call(*command_of(name), *words)
    said = capfd.readouterr()
    assert not Path("-").exists()
    if name in ("filter", "map", "verify"):
        assert (status, bool(said.out)) == (0, True)
    else:
        assert (status, files(place)) == (2, before)


@pytest.mark.parametrize("name", RUNS)
def test_the_name_of_a_file_ends_no_line_of_what_is_printed(
    name: str, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A line that a name could add may say what no command said."""
    odd = "o\nscrub: 9 documents, 0 failed\x1b[2J"
    for _ in range(2):  # the second time it is there already
        call(*command_of(name), *(word.replace("{out}", odd) for word in RUNS[name]))
        said = capfd.readouterr()
        assert "\x1b" not in said.out + said.err
        assert not re.search(r"^scrub: 9 documents, 0 failed\\x1b", said.err, re.M)


PAID = {
    "cube": CUBE,
    "sequences": VISITS,
    "query": ("table.csv", "SELECT COUNT(*) GROUP BY sex", "--domain", "sex=F,M"),
    "keys": ("table.csv", "--column", "sex", "--keys-delta", "0.01"),
    "fidelity": ("table.csv", "table.csv", "--release", "cube.csv", "--slice", "sex"),
}
"""What spends from a ledger."""


@pytest.mark.parametrize("moment", ["before the answer is kept", "behind it"])
@pytest.mark.parametrize("name", PAID)
def test_what_was_charged_is_told_by_a_command_that_fails_behind_its_charge(
    name: str, moment: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("budget", "init", "l.db", "--epsilon", "3", "--keys-delta", "0.05") == 0
    out = () if name == "fidelity" else ("--output", "Zed.toml" if name == "keys" else "Zed.csv")
    command = (*command_of(name), *PAID[name], *out, "--epsilon", "1", "--ledger", "l.db")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        if moment == "behind it":
            patch.setattr(Summary, "finish", full)
        else:
            patch.setattr(Ledger, "answer", full)
        assert call(*command) == 2
    said = capsys.readouterr().err
    assert said.count("the budget was charged all the same") == 1, said
    (request,) = re.findall(r"request ([0-9a-f]{16})", said)
    with contextlib.closing(Ledger.open("l.db")) as ledger:
        assert [(line.request, line.answer is None) for line in ledger.history()] == [(request, moment != "behind it")]
    again = call(*command, "--request", request)
    said = capsys.readouterr().err
    with contextlib.closing(Ledger.open("l.db")) as ledger:
        assert ledger.account().spent == 10**9, said
    assert "the budget was charged" not in said
    assert moment == "behind it" or again == 2
