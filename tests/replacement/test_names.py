"""Surrogate names: one person stays one person, and nobody shares a name."""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from deid.base.keys import Key
from deid.reading.identity import name_key
from deid.replacement.names import NameMap, match_case
from deid.replacement.permutation import Keyed
from deid.replacement.pools import name_pool

KEY = Key(b"a key of the tests")


def name_map(scope: str = "patient:1", *texts: str, language: str = "en", originals: tuple[str, ...] = ()) -> NameMap:
    names = NameMap(Keyed(KEY, scope), language, originals)
    names.learn([names.parse(text) for text in texts])
    return names


@pytest.mark.parametrize("scope", [f"patient:{n}" for n in range(8)])
def test_all_forms_of_a_name_become_forms_of_one_name(scope: str) -> None:
    """Every form is replaced by a map of its own, as if it stood alone in its document."""
    full = name_map(scope).replace("John Smith")
    given, family = full.split(" ")
    forms = {
        "Smith, John": f"{family}, {given}",
        "Mr Smith": f"Mr {family}",
        "JOHN": given.upper(),
        "john smith": full.lower(),
        "Johnny": given,
        "Smith's": f"{family}'s",
        "J. Smith": f"{given[0]}. {family}",
        "JS": given[0] + family[0],
        "J.S.": f"{given[0]}.{family[0]}.",
        "SMITH^JOHN": f"{family}^{given}".upper(),
        "Smith-Smith, John": f"{family}-{family}, {given}",
        "Dr. John Smith, MD": f"Dr. {full}, MD",
        'John "Johnny" Smith Jr.': f'{given} "{given}" {family} Jr.',
    }
    assert {form: name_map(scope).replace(form) for form in forms} == forms
    logins = {
        "jsmith": (given[0] + family).lower(),
        "john.smith": f"{given}.{family}".lower(),
        "smithj": (family + given[0]).lower(),
        "JSmith": given[0] + family.title(),
    }
    assert {login: name_map(scope).username(login) for login in logins} == logins


def test_logins_are_taken_apart_into_names_of_the_document_and_initials() -> None:
    """Two names, a name between initials, a name cut off at its end; words of the document before common names."""
    for scope in (f"patient:{n}" for n in range(6)):
        names = name_map(scope, "Johanna Smithson")
        given, family = names.replace("Johanna Smithson").lower().split(" ")
        first, last = names.initials("j"), names.initials("s")
        expected = {
            "johannasmithson": given + family,
            "smithsonjohanna": family + given,
            "smithsonj": family + first,
            "jsmithson": first + family,
            "jsmithsonj": first + family + first,
            "sjsmithson": last + first + family,
            "smithson": family,
            "jsmi": first + family[:3],
            "jsmiths": first + family[:6],
            "smi": names.initials("smi"),  # three letters alone are initials
            "johannasmi": given + family[:3],
            "js": first + last,
        }
        assert {login: names.username(login) for login in expected} == expected


def test_a_login_follows_its_parts_however_they_are_put_together() -> None:
    """Up to two initials, a name, and initials or another name; who is named in the document comes first."""
    for scope in (f"patient:{n}" for n in range(4)):
        names = name_map(scope, "Johanna Smithson")
        given, family = names.replace("Johanna Smithson").lower().split(" ")
        parts = {"johanna": given, "smithson": family, "smiths": family[:6]}
        parts |= {word: names.username(word) for word in ("kimberly", "gonzalez")}  # common names
        starts = {letters: names.initials(letters) for letters in ("", "q", "qx")}
        ends = starts | parts
        for (start, first), (word, new), (end, last) in itertools.product(starts.items(), parts.items(), ends.items()):
            if not (len(start) > 1 and len(end) > 2):  # initials and two names are too much
                login = start + word + end
                assert names.username(login) == first + new + last, login
                assert names.username(login.upper()) == (first + new + last).upper()
    # three letters are initials, unless the document has such a name
    names = name_map("patient:1", "Amy Lee")
    assert names.username("lee") == names.replace("Lee").lower()
    assert names.username("amy") == names.replace("Amy").lower()
    assert names.username("lex") == names.initials("lex")
    assert names.username("bx") == names.initials("bx")
    # one long name counts more than two; of two that a login may be cut from, the first in the alphabet
    names = name_map("patient:1", "Annabell Anna", "Bell Smithson", "Bell Smithers")
    assert names.username("annabell") == names.replace("Annabell").lower()
    assert names.username("smith") == names.replace("Smithers").lower()[:5]
    # what is no name, is too much for one, or has letters that fold into two becomes other letters
    given, family = names.replace("Annabell").lower(), names.replace("Smithson").lower()
    for login in ("zzxqwv", "qxannabellsmithson", "\ufb01smithson", "smithson" * 40):
        new = names.username(login)
        assert new != login
        assert len(new) == len(login)
        assert given not in new
        assert family not in new
    # a cut word counts more than a common name that it begins like; a common name of three letters is none
    names = name_map("patient:1", "Kimberley Quux")
    assert names.username("kimb") == names.replace("Kimberley").lower()[:4]
    assert names.username("amy") == names.initials("amy")


def test_of_two_ways_to_read_a_login_the_nearer_one_counts() -> None:
    """Each is read in another way where one of the weights of names, cut names and initials is forgotten."""
    for scope in (f"patient:{n}" for n in range(4)):
        # a name cut off at its end, before a letter and a whole name; of one name and two, one
        names = name_map(scope, "Janice Orme", "Ani Birch", "Annabelle Orme", "Anna Bell")
        janice, annabelle = (names.replace(f"{given} Orme").lower().split(" ")[0] for given in ("Janice", "Annabelle"))
        assert names.username("jani") == janice[:4]
        assert names.username("annabell") == annabelle[:8]
        names = name_map(scope, "Dale Orme", "Anna Ormeson")
        assert names.username("ormes") == names.replace("Ormeson").lower()[:5]
        # a letter before a name, before one behind it; the shorter of two names, where the rest is one then
        names = name_map(scope, "Ann Nna", "Quor Bly", "Quo Rzed")
        assert names.username("anna") == names.initials("a") + names.replace("Nna").lower()
        assert names.username("quorzed") == names.replace("Quo Rzed").lower().replace(" ", "")
        # a name of two letters is initials, three letters before a name are too many
        names = name_map(scope, "Li Chen")
        assert names.username("lichen") == names.initials("li") + names.replace("Chen").lower()
        assert names.replace("Chen").lower() not in names.username("qxzchen")
        # a word of the document, though cut and behind two letters, before a common name
        names = name_map(scope, "Dale Thewson")
        assert names.username("mathew") == names.initials("ma") + names.replace("Thewson").lower()[:4]
        # a rare name before a frequent one and a letter
        assert name_map(scope).username("martins") == name_map(scope).word("martins")


def test_digits_of_a_login_change() -> None:
    new = name_map().username("jsmith22")
    assert re.fullmatch(r"[a-z]+\d\d", new)
    assert not new.endswith("22")


def test_a_short_form_follows_the_full_name_of_its_document() -> None:
    """Alex is Alexander unless the document names Alexandra; Bob's initial in a document that knows Robert is R."""
    alone = name_map().replace("Alex")
    assert alone == name_map().replace("Alexander")
    texts = ("Alexandra Jones", "Alex Jones")
    names = name_map("patient:1", *texts)
    assert names.replace("Alex Jones").split()[0] == names.replace("Alexandra Jones").split()[0] != alone
    names = name_map("patient:1", "Robert Jones", "Bob Jones", "B. Jones")
    assert names.replace("B. Jones")[0] == names.replace("Robert Jones")[0]


def test_plurals_particles_and_connecting_words() -> None:
    names = name_map("patient:1", "John Smith", "the Smiths")
    family = names.replace("John Smith").split()[1]
    assert names.replace("the Smiths") in (f"the {family}s", f"the {family}es")
    assert re.fullmatch(r"\w+ van der \w+", names.replace("Anna van der Berg"))


def test_digits_inside_a_name_do_not_stay() -> None:
    assert not set("4512") & set(re.findall(r"\d+", name_map().replace("John Smith 4512")))


@pytest.mark.parametrize("language", ["en", "es", "de", "fr", "nl"])
def test_no_two_words_of_the_pool_share_a_surrogate(language: str) -> None:
    names = name_map(language=language)
    words = name_pool(language).words[::17]
    found = {word: names.word(word) for word in words}
    assert len(set(found.values())) == len(words) > 3000
    assert not any(word == new for word, new in found.items())


def test_invented_words_share_no_surrogate_within_a_document() -> None:
    names = name_map()
    words = [f"{a}{b}{c}okwu" for a in "bdgkmnprst" for b in "aeiou" for c in "lmnrz"]
    assert not any(name_pool("en").place(w) for w in words)
    assert len({names.word(w) for w in words}) == len(words)


def test_initials_follow_the_name() -> None:
    names = name_map()
    words = [w for w in name_pool("en").words[::101] if w[0] != "x"]
    assert all(names.word(w)[0] == names.letter(w[0]) for w in words)
    letters = {letter: names.letter(letter) for letter in "abcdefghijklmnopqrstuvwyz"}
    assert len(set(letters.values())) == 25
    assert not any(a == b for a, b in letters.items())


def census(file: str) -> dict[str, float]:

    names = pytest.importorskip("names", reason="the package names is not installed")
    rows = (line.split() for line in (Path(names.__file__).parent / file).read_text().splitlines())
    return {row[0].lower(): float(row[1]) for row in rows}


def test_gender_stays() -> None:
    """By the US Census: names borne ten times more often by one sex become names of the same sex."""
    male, female = census("dist.male.first"), census("dist.female.first")
    names = name_map()
    for own, other in ((male, female), (female, male)):
        words = [w for w in list(own)[:300] if own[w] > 10 * other.get(w, 0)]
        new = [names.word(w) for w in words]
        kept = sum(own.get(w, 0) >= other.get(w, 0) for w in new)
        assert kept > 0.97 * len(words)


@pytest.mark.parametrize(
    ("original", "pattern"),
    [
        ("Anne-Marie O'Hara", r"[A-Z][a-z]+-[A-Z]\w+ [A-Z]\w+"),
        ("  Smith ,\tJOHN (Q.)", r"  [A-Z]\w+ ,\t[A-Z]+ \([A-Z]\.\)"),
        ("mcdonald", r"[a-z]+"),
        ("McDONALD", r"[A-Z]\w+"),
    ],
)
def test_case_and_punctuation_stay(original: str, pattern: str) -> None:
    assert re.fullmatch(pattern, name_map().replace(original))


def test_accents_as_in_the_original() -> None:
    """Spanish documents get accents; English ones where the original has some."""
    plain = [name_map(f"p{n}").replace("Garcia") for n in range(30)]
    accented = [name_map(f"p{n}", language="es").replace("Garcia") for n in range(30)]
    assert all(name.isascii() for name in plain)
    assert not all(name.isascii() for name in accented)
    marked = name_map("p1").replace("García")
    assert "".join(c for c in unicodedata.normalize("NFKD", marked) if not unicodedata.combining(c)) == plain[1]


def test_spanish_names_become_spanish_names() -> None:
    pool = name_pool("es")
    words = ["garcia", "fernandez", "rodriguez", "lopez", "sanchez", "perez", "gomez", "martin", "jimenez", "ruiz"]
    new = [name_map(f"p{n}", language="es").word(w) for n in range(10) for w in words]
    cells = [pool.place(w) for w in new]
    assert sum(cell is not None and cell[0].origin == "spanish" for cell in cells) > 0.8 * len(new)


@pytest.mark.parametrize(
    ("language", "women", "men", "family"),
    [
        (
            "de",
            "Ursula Heike Sabine Gudrun",
            "Jürgen Wolfgang Uwe Helmut",
            "Müller Schneider Weber Achleitner Ochsenknecht",
        ),
        (
            "fr",
            "Odette Brigitte Sylvie Agathe",
            "Gérard Benoît Thierry Guillaume",
            "Lefèvre Tremblay Girard Moreau Abgrall",
        ),
        ("nl", "Femke Sanne Lotte Fleur", "Thijs Bram Daan Niels", "Janssens Mulder Bakker Hoekzema Visser"),
    ],
)
def test_names_of_a_language_become_names_of_it(language: str, women: str, men: str, family: str) -> None:
    """Of the same sex; names that no list has become names of the language too; English names stay English ones."""
    pool = name_pool(language)
    home = {name for (_, origin, _), names in pool.reserve.items() if origin == "home" for name in names}
    own = every = 0
    for scope in (f"p{n}" for n in range(8)):
        names = name_map(scope, language=language)
        for kinds, words in (("FU", women), ("MU", men), ("S", family)):
            for word in words.split():
                new = names.word(name_key(word))
                cell = pool.place(new)
                every += 1
                if cell is not None and cell[0].origin == "home":
                    assert set(cell[0].kind) & set(kinds)
                    own += 1
                own += new in home
        english = pool.place(names.word("johnson"))
        assert names.word("johnson") not in home
        assert english is None or english[0].origin == "general"
    assert own >= 0.95 * every


def test_english_names_are_those_of_versions_before() -> None:
    """A vault goes on: what is no German, French or Dutch text has the names that it had."""
    names = name_map()
    assert [names.word(word) for word in ("smith", "mary", "muller", "jurgen")] == [
        "reeves",
        "wynell",
        "walaszek",
        "petrucci",
    ]


def test_a_spanish_name_has_two_family_names_in_every_document() -> None:
    text = "Ana Lucia Quispe Mamani"
    for names in (name_map(language="es"), name_map("patient:1", "Jorge Vega Ruiz", language="es")):
        assert names.parse(text).keys("family") == ("quispe", "mamani")
        assert names.parse(text).keys("middle") == ("lucia",)
    for names in (name_map(), name_map("patient:1", "Jorge Vega")):
        assert names.parse(text).keys("family") == ("mamani",)


def test_no_surrogate_is_an_original_of_the_document() -> None:
    """A surrogate that would be an original gives way to another one, and the collision is counted."""
    usual = name_map().word("smith")
    names = name_map(originals=("smith", usual))
    assert names.word("smith") not in ("smith", usual)
    assert names.word("smith")[0] == usual[0]
    assert names.collisions == 1


def test_no_surrogate_holds_its_own_original() -> None:
    for scope in range(40):
        names = name_map(f"p{scope}")
        for word in ("li", "an", "lee", "ann", "son", "ed"):
            assert word not in names.word(word)


def test_another_scope_or_key_gives_other_names() -> None:
    words = ("smith", "johnson", "mary", "robert", "nguyen")
    maps = [
        name_map("patient:1"),
        name_map("patient:2"),
        NameMap(Keyed(Key(b"another key, longer"), "patient:1"), "en", ()),
    ]
    found = [tuple(m.word(w) for w in words) for m in maps]
    assert len(set(found)) == 3


def test_a_document_that_names_everybody_still_gets_names() -> None:
    pool = name_pool("en")
    everybody = {*pool.words, *(name for names in pool.reserve.values() for name in names)}
    names = name_map(originals=tuple(everybody))
    words = ["smith", "johnson", "mary", "a", "o"]
    found = [names.word(word) for word in words]
    assert len(set(found)) == len(words)
    assert everybody.isdisjoint(found)
    assert all(word not in new for word, new in zip(words, found, strict=True))


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("Ruiz", "SMITH", "RUIZ"),
        ("Ruiz", "smith", "ruiz"),
        ("Ruiz", "Smith", "Ruiz"),
        ("Ruiz", "deShawn", "Ruiz"),
        ("R", "S", "R"),
    ],
)
def test_match_case(new: str, old: str, expected: str) -> None:
    assert match_case(new, old) == expected


def separability(originals: list[str], surrogates: list[str]) -> float:
    """Return the AUC of a classifier by letters that tells originals from surrogates, on names it has not seen."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline

    texts = originals + surrogates
    labels = np.r_[np.zeros(len(originals)), np.ones(len(surrogates))]
    model = make_pipeline(
        TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), min_df=2, sublinear_tf=True),
        LogisticRegression(max_iter=300),
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_predict(model, texts, labels, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(labels, scores))


def test_where_the_names_of_a_letter_run_out_two_of_them_stand_for_one() -> None:
    """Names that no list has, more than there are rare names to replace them: no surrogate is a made-up word."""
    names = name_map("patient:1")
    words = ["".join(parts) for parts in itertools.product("q", "aeiou", "bdfgklm", "aeio", "lnrst")]
    new = [names.word(word) for word in words]
    listed = {*names._pool.words, *itertools.chain(*names._pool.reserve.values())}
    assert len(set(new)) == len(words)
    assert any("-" in word for word in new)
    assert {part for word in new for part in word.split("-")} <= listed


def test_a_classifier_cannot_tell_surrogates_from_names_of_the_census() -> None:
    """Names drawn as often as they are borne; each word counts once, since repetition would tell the drawing apart."""
    rng = np.random.default_rng(7)
    originals: set[str] = set()
    surrogates: set[str] = set()
    for file in ("dist.all.last", "dist.male.first", "dist.female.first"):
        table = census(file)
        weights = np.array(list(table.values()))
        drawn = rng.choice(list(table), 700, p=weights / weights.sum())
        originals.update(drawn)
        surrogates.update(name_map(f"{file} {n}").word(str(w)) for n, w in enumerate(drawn))
    assert 0.4 < separability(sorted(originals), sorted(surrogates)) < 0.6


def test_a_classifier_cannot_tell_surrogates_from_names_of_notes(shared_data: Path) -> None:

    originals: set[str] = set()
    surrogates: set[str] = set()
    for line in (shared_data / "english" / "standoff.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        names = name_map(document["id"])
        for span in document["spans"]:
            if span.get("type", span.get("label")) in ("PATIENT", "DOCTOR"):
                for word in re.findall(r"[^\W\d_]{4,}", document["text"][span["start"] : span["end"]]):
                    originals.add(word.lower())
                    surrogates.add(names.spelled(name_key(word), word).lower())
    assert len(originals) > 500
    assert 0.4 < separability(sorted(originals), sorted(surrogates)) < 0.6


def test_two_names_for_one_are_both_written_with_their_accents() -> None:
    """As where a document names so many that no single name is left."""
    names = name_map(language="es")
    names._words["quendrith"] = "garcia-lopez"
    assert [names.spelled("quendrith", own) for own in ("Quendrith", "QUENDRITH")] == ["García-López", "GARCÍA-LÓPEZ"]


@pytest.mark.parametrize("language", ["en", "es", "de", "fr", "nl"])
@pytest.mark.parametrize("sex", "FM")
def test_a_given_name_that_no_list_has_becomes_one_of_the_sex_that_is_known(language: str, sex: str) -> None:
    """Where few of a letter are held in reserve, one of all that are common."""
    for letter in "abcdefghijklmnopqrstuvwxyz":
        name = f"{letter}uendrithxq"
        names = NameMap(Keyed(KEY, "p"), language, (), sexes={name: sex})
        names.learn([names.parse(f"{name.title()} Orme")])
        pool = names._pool
        held = {own for (kind, *_), found in pool.reserve.items() if kind == sex for own in found}
        for (kind, *_), cell in pool.by_kind.items():
            held |= {*pool.words[cell.start : cell.start + cell.size]} if kind == sex else set()
        assert name_key(names.replace(name.title())) in held


@pytest.mark.parametrize("name", ["傅 鎮宇", "傅", "김 철수", "Ж. Юнь", "Θ Νίκη"])
def test_one_sign_of_another_script_does_not_stay(name: str) -> None:
    new = name_map("patient:1", name).replace(name)
    assert new
    assert not {*name} & {*new} - {*" ."}
