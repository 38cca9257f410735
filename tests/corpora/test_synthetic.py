"""The synthetic corpus: its spans, its two parts, its slot language, its generator."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from synthetic import corpus, noise, places, pools, render, wording
from synthetic.draw import Draw
from synthetic.template import Choice, Slot, TemplateError, from_text, parse
from synthetic.wording import Piece

from deid.document import Document, check_spans
from deid.io import read
from deid.phi import CATEGORIES

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = ROOT / "scripts" / "build_synthetic_corpus"


@pytest.fixture(scope="module")
def records() -> dict[str, list[corpus.Record]]:
    return {part: list(corpus.documents(part, 1, 7)) for part in pools.PARTS}


def fill(text: str, **story: str) -> list[Piece]:
    template = from_text("x", "x", text)
    return render.Story((1, "test"), pools.load("train"), template).fill(template)


def test_every_body_is_filled_completely_and_its_spans_are_sound(records: dict[str, list[corpus.Record]]) -> None:
    for record in [*records["train"], *records["dev"]]:
        text, spans = record["text"], record["spans"]
        assert not re.search(r"[{}]|a\(n\)", text), record["id"]
        end = 0
        for span in spans:
            assert end <= span["start"] < span["end"] <= len(text), record["id"]
            filling = text[span["start"] : span["end"]]
            assert filling == filling.strip()
            end = span["end"]


def test_spans_are_exactly_the_fillings_of_the_slots_without_noise() -> None:
    """Without noise a document is the body with each slot replaced, and the spans are those replacements."""
    for body in corpus.bodies():
        pieces = render.Story((7, body.name), pools.load(corpus.part(body)), body).fill(body)
        for text, label in pieces:
            assert label is None or label in corpus.LABELS
            assert label is None or (text and text == text.strip())


def test_titles_and_possessives_stand_outside() -> None:
    pieces = fill("{{p.Mr}} {{p.l}}'s son saw Dr. {{d1.l}}, MD")
    assert [label for _, label in pieces] == [None, "PATIENT", None, "DOCTOR", None]
    assert pieces[0][0] in ("Mr. ", "Ms. ")
    assert pieces[2][0] == "'s son saw Dr. "


def test_one_reference_is_one_person() -> None:
    pieces = [text for text, label in fill("{{p.fl}}; {{p.f}}; {{p.l}}; {{p.mrn}} {{p.mrn}}") if label]
    assert pieces[0] == f"{pieces[1]} {pieces[2]}"
    assert pieces[3] == pieces[4]


def test_last_four_digits_are_those_of_the_whole_number() -> None:
    for number, label in (("mrn", "MEDICALRECORD"), ("ssn", "SSN"), ("phone", "PHONE"), ("acct", "ACCOUNT")):
        whole, cut = [piece for piece in fill(f"{{{{p.{number}}}}}, ending {{{{p.{number}4}}}}") if piece[1]]
        assert cut == (re.sub("[^0-9]", "", whole[0])[-4:], label)


def test_forms_of_columns() -> None:
    given, family, comma, blank = (text for text, _ in fill("{{p.f}} - {{p.l}} - {{p.lfc}} - {{p.lb}}")[::2])
    assert comma.startswith(f"{family},{given}")
    assert blank.startswith(f"{family} {given}")


def test_kinds_of_organization_are_common_to_both_parts() -> None:
    train, dev = pools.load("train"), pools.load("dev")
    for kind in ("rx", "fh", "law", "dme", "ems"):
        assert train.institutions[kind] == dev.institutions[kind]
        ((name, label),) = fill(f"{{{{o1.{kind}}}}}")[:1]
        assert label == "ORGANIZATION"
        assert name.endswith(train.institutions[kind])


def test_compact_dates_are_the_same_day() -> None:
    whole, compact, day, born, year = (
        text for text, label in fill("{{t.iso}}; {{t.c}}; {{t.dm}}; {{p.dobc}}; {{p.doby}}") if label
    )
    y, m, d = whole.split("-")
    assert compact in (m + d + y[2:], m + d + y, y + m + d, y[2:] + m + d)
    assert str(int(d)) in day
    assert year[2:] in born


def test_institutions_by_a_word_of_their_name() -> None:
    for n in range(1, 9):
        full, word = (text for text, label in fill(f"{{{{h{n}}}}} / {{{{h{n}.k}}}}") if label)
        assert word[:4].removesuffix("'") in full


def test_kinship_gives_the_sex() -> None:
    for relation, pronoun in (("sister", "she"), ("uncle", "he")):
        for n in range(8):
            text = f"%% era=19{n + 10}-2020\nHer {relation} {{{{r1.f}}}}: {{{{r1.he}}}}"
            assert fill(text)[-1] == (f": {pronoun}\n", None)


def test_dates_of_one_note_share_their_base() -> None:
    first, second = (text for text, label in fill("{{t.iso}} {{t-40.iso}}") if label)
    import datetime as dt

    assert dt.date.fromisoformat(first) - dt.date.fromisoformat(second) == dt.timedelta(days=40)


def test_dictated_forms_say_numbers_and_letters() -> None:
    day = fill("%% era=2021-2021\n{{t.iso}} {{t.spk}}")
    assert re.fullmatch(r"[A-Za-z, -]+", day[2][0])
    assert fill("{{age:43-43}}/{{agef:43-43}}/{{agef:16-16}}")[2:] == [
        ("forties", "AGE"),
        ("/", None),
        ("teens", "AGE"),
        ("\n", None),
    ]
    spelled, family = (text for text, label in fill("{{d1.let}}: {{d1.l}}") if label)
    assert [c for c in spelled if c.isalpha()] == [c for c in family.upper() if c.isalpha()]
    number = fill("{{mrn1.w}}")[0]
    assert re.fullmatch(r"(zero|one|two|three|four|five|six|seven|eight|nine|[A-Z]| )+", number[0])
    assert number[1]


def test_dates_in_words_are_true() -> None:
    said = {n: wording.ordinal_in_words(n) for n in (1, 2, 3, 5, 8, 9, 12, 15, 20, 21, 30)}
    assert (
        " ".join(said.values())
        == "first second third fifth eighth ninth twelfth fifteenth twentieth twenty-first thirtieth"
    )
    years = {y: wording.year_in_words(y) for y in (1900, 1907, 1998, 2000, 2007, 2021)}
    assert list(years.values()) == [
        "nineteen hundred",
        "nineteen oh seven",
        "nineteen ninety-eight",
        "two thousand",
        "two thousand seven",
        "twenty twenty-one",
    ]
    assert re.fullmatch(r"\d+(st|nd|rd|th) of [A-Z][a-z]+(, \d+)?", fill("{{t.dof}}")[0][0])
    assert re.fullmatch(r"Q[1-4]( of)?( '?\d+)?", fill("{{t.q}}")[0][0])


def test_hospitals_are_called_by_nickname_and_roads_by_number() -> None:
    made = [fill(f"%% era=2{n:03}-2{n:03}\nat {{{{h1.{form}}}}}") for n in range(9) for form in ("nk", "va", "u")]
    assert all(pieces[-2][1] == "HOSPITAL" and not pieces[-2][0].startswith("the ") for pieces in made)
    assert any("VA" in pieces[-2][0] for pieces in made)
    assert places.nickname("St. Luke's Hospital", "St. Luke's", Draw("x")) in ("Luke's", "St. L's", "Saint Luke's")
    assert places.nickname("Elmford General Hospital", "Elmford", Draw("x")) == "the General"
    assert re.search(r"\d", fill("{{street1.hw}}")[0][0])


def test_article_agrees_and_stays_outside() -> None:
    assert fill("a(n) {{PROFESSION=umpire}}")[0] == ("an ", None)
    assert fill("A(n) {{PROFESSION=judge}}")[0] == ("A ", None)
    holidays = [fill(f"{{{{t-{n}.hol}}}}") for n in range(400)]
    assert not any(text.startswith("the ") for pieces in holidays for text, label in pieces if label)


def test_template_errors_are_found() -> None:
    for text in ("{{p.fl}", "{a|b", "a}b", "{{ p }}"):
        with pytest.raises(TemplateError):
            parse(text, "x")
    with pytest.raises(TemplateError):
        fill("{{nobody}}")
    with pytest.raises(TemplateError):
        fill("{{p.nothing}}")


def test_choices_nest_slots() -> None:
    nodes = parse("a {b|{{p.f}}} c", "x")
    assert isinstance(nodes[1], Choice)
    assert isinstance(nodes[1].options[1][0], Slot)


def test_pools_of_the_parts_are_disjoint() -> None:
    train, dev = pools.load("train"), pools.load("dev")

    def words(p: pools.Pools) -> set[str]:
        flat = [*p.surnames, *p.given["M"], *p.given["F"], *p.nicknames, *p.countries]
        flat += [w for group in p.origins for names in group for w in names]
        flat += [w for names in p.ambiguous.values() for w in names]
        flat += [job[0] for job in p.jobs] + [name for name, _ in p.states]
        flat += [city for cities in p.us_cities.values() for city in cities]
        flat += [city for city, _ in (*p.uk_cities, *p.world)]
        flat += [w for kind in ("saint", "virtue", "place", "streetword", "loc") for w in p.institutions[kind]]
        return {pools.fold(w) for w in flat}

    assert not words(train) & words(dev)
    assert len(words(dev)) > 0.1 * len(words(train))


def test_parts_share_no_template() -> None:
    for kind in ("headers", "footers", "inserts", "fillers"):
        for uk in (False, True):
            train, dev = (corpus.extras(kind, part, uk) for part in pools.PARTS)
            assert train
            assert dev
            assert not {b.name for b in train} & {b.name for b in dev}


def test_invented_names_stay_in_their_part(records: dict[str, list[corpus.Record]]) -> None:
    """No surname that a training note has stands in a development note."""
    found = {}
    for part, notes in records.items():
        found[part] = {
            pools.fold(note["text"][s["start"] : s["end"]])
            for note in notes
            for s in note["spans"]
            if s["label"] in ("PATIENT", "DOCTOR") and s["end"] - s["start"] > 12
        }
    assert not found["train"] & found["dev"]


def test_paragraphs_without_phi_have_no_slot_with_phi() -> None:
    for uk in (False, True):
        for part in pools.PARTS:
            for block in corpus.extras("fillers", part, uk):
                story = render.Story((1, block.name), pools.load(part), block)
                assert [label for _, label in story.fill(block)] == [None], block.name


def test_every_category_is_present(records: dict[str, list[corpus.Record]]) -> None:
    assert set(corpus.LABELS) == set(CATEGORIES) - {"OTHER"}
    for part in pools.PARTS:
        counts = Counter(span["label"] for note in records[part] for span in note["spans"])
        assert set(counts) <= set(corpus.LABELS)
    assert not set(corpus.LABELS) - {s["label"] for note in corpus.documents("train", 2, 1) for s in note["spans"]}


@pytest.mark.slow
def test_same_seed_same_documents_in_another_process(tmp_path: Path) -> None:
    """Neither the hash seed of Python nor the order of documents matters; another seed gives other fillings."""
    for hashes, name in (("1", "a"), ("2", "b")):
        subprocess.run(
            [sys.executable, str(SCRIPT), "--copies", "1", "--seed", "3", str(tmp_path / name)],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": hashes, "PYTHONUTF8": "1"},
        )
    a, b = ((tmp_path / x / "dev.jsonl").read_bytes() for x in "ab")
    assert a == b
    first = json.loads(a.partition(b"\n")[0])["text"]
    assert next(iter(corpus.documents("dev", 1, 3)))["text"] == first
    assert next(iter(corpus.documents("dev", 1, 4)))["text"] != first
    body = corpus.bodies()[5]
    line = next(
        x
        for x in (tmp_path / "a" / f"{corpus.part(body)}.jsonl").open()
        if f'"syn-{body.kind}-{corpus.number(body):02}-1"' in x
    )
    assert json.loads(line) == corpus.make(body, 1, 3)


def test_files_are_read_by_deid_io(tmp_path: Path, records: dict[str, list[corpus.Record]]) -> None:
    path = tmp_path / "dev.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records["dev"]), encoding="utf-8")
    documents = [d for d in read(path) if isinstance(d, Document)]
    assert [d.id for d in documents] == [r["id"] for r in records["dev"]]
    for document, record in zip(documents, records["dev"], strict=True):
        check_spans(len(document.text), document.spans, document.name)
        assert [(s.start, s.end, s.category) for s in document.spans] == [
            (s["start"], s["end"], s["label"]) for s in record["spans"]
        ]


def test_checked_in_documents_are_those_of_the_script() -> None:
    """When this fails, run: scripts/build_synthetic_corpus --copies 1 corpora/synthetic."""
    for part in pools.PARTS:
        with (ROOT / "corpora" / "synthetic" / f"{part}.jsonl").open(encoding="utf-8") as stream:
            assert [json.loads(line) for line in stream] == list(corpus.documents(part, 1, 1))


def test_each_type_has_bodies_to_train_on_and_127_types_have_some_to_measure_on() -> None:
    """Types that came later are for training alone: what was measured on the development part stays comparable."""
    train, dev = ({body.kind for body in corpus.bodies() if corpus.part(body) == part} for part in pools.PARTS)
    assert dev <= train
    assert len(dev) >= 127


def test_numbers_of_a_type_are_consecutive() -> None:
    for kind in {body.kind for body in corpus.bodies()}:
        own = [body for body in corpus.bodies() if body.kind == kind]
        numbers = [corpus.number(body) for body in own]
        parts = {corpus.part(body) for body in own}
        free = [n for n in range(1, 2 * len(own) + 2) if n % 5 != 3 or "dev" in parts]
        assert numbers == free[: len(own)]


def test_clinical_words_are_not_those_of_war_or_of_animals() -> None:
    clinical = pools.load("train").negatives
    assert {"banzai charge", "naval campaign", "combat intelligence"}.isdisjoint(clinical["procedure"])
    assert {"fetlock", "wing"}.isdisjoint(clinical["anatomy"])
    assert {"appendectomy", "transurethral resection of the prostate"} <= set(clinical["procedure"])


def test_casing_noise_keeps_pieces_apart() -> None:
    pieces = [("Seen by Dr. ", None), ("José Peña", "DOCTOR"), (" today.", None)]
    for option, expected in (("caps", "JOS"), ("lower", "jos")):
        noisy = noise.apply(pieces, frozenset({option}), Draw("noise"))
        assert [label for _, label in noisy] == [None, "DOCTOR", None]
        assert noisy[1][0].startswith(expected)


def test_wrapping_keeps_the_length() -> None:
    text = "word " * 60
    wrapped = noise.wrap(text, Draw("wrap"), frozenset({"wrap"}))
    assert len(wrapped) == len(text)
    assert max(len(line) for line in wrapped.split("\n")) <= 100


@pytest.mark.night
def test_check_reports_counts_and_that_bodies_differ_from_each_other() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check", "--copies", "1"], check=True, capture_output=True, text=True
    )
    assert f"bodies: {len(corpus.bodies())} of" in done.stdout
    alike = re.search(r"largest Jaccard similarity of two bodies [^:]*: (\S+)", done.stdout)
    assert alike
    assert 0 < float(alike[1]) < 0.2
