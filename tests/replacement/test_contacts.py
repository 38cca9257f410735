"""Telephone numbers, e-mail and network addresses in ranges that belong to nobody."""

from __future__ import annotations

import ipaddress
import re

import phonenumbers
import pytest

from deid.replacement.contacts import replace_email, replace_ip, replace_phone, replace_url
from tests.replacement.making import make_choices


def digits(text: str) -> str:
    return re.sub(r"\D", "", text)


@pytest.mark.parametrize(
    "number",
    [
        "(617) 234-5678",
        "617-234-5678",
        "617.234.5678",
        "6172345678",
        "+1 617 234 5678",
        "1-617-234-5678",
        "617/234-5678",
    ],
)
def test_american_numbers_are_fictional(number: str) -> None:
    for scope in range(20):
        new = replace_phone(make_choices(f"p{scope}"), number)
        assert re.sub(r"\d", "9", new) == re.sub(r"\d", "9", number)
        national = digits(new)[-10:]
        assert re.fullmatch(r"\d{3}55501\d\d", national)
        assert phonenumbers.is_possible_number(phonenumbers.parse(national, "US"))
        assert digits(new)[:-10] == digits(number)[:-10]


def test_toll_free_stays_toll_free() -> None:
    assert replace_phone(make_choices(), "1-800-234-5678").startswith("1-800-555-01")


def test_local_numbers_extensions_and_words() -> None:
    assert re.fullmatch(r"555-01\d\d", replace_phone(make_choices(), "234-5678"))
    new = replace_phone(make_choices(), "617-234-5678 ext. 4411")
    assert re.fullmatch(r"\d{3}-555-01\d\d ext\. \d{4}", new)
    assert not new.endswith("4411")
    assert re.fullmatch(r"pager \d{5}", replace_phone(make_choices(), "pager 44112"))
    assert re.fullmatch(r"\d-\d{3}-[A-Z]{7}", replace_phone(make_choices(), "1-800-FLOWERS"))


@pytest.mark.parametrize(
    ("number", "pattern"),
    [
        ("020 7123 4567", r"020 7946 0\d{3}"),
        ("07712 345678", r"07700 900\d{3}"),
        ("0113 212 3456", r"011[3-8] 496 0\d{3}"),
        ("01904 123456", r"01632 960\d{3}"),
        ("0121 212 3456", r"01(?:[2-6]1|91) 49[68] 0\d{3}"),
        ("0800 123 4567", r"0808 157 0\d{3}"),
        ("+44 20 7123 4567", r"\+44 20 7946 0\d{3}"),
        ("+44 (0)20 7123 4567", r"\+44 \(0\)20 7946 0\d{3}"),
        ("0044 7712 345678", r"0044 7700 900\d{3}"),
        ("01904 12345", r"01632 960\d\d"),
        ("016977 1234", r"016329 60\d\d"),
        ("0800 123 456", r"0808 157 0\d\d"),
    ],
)
def test_british_numbers_are_those_set_aside_for_drama(number: str, pattern: str) -> None:
    assert re.fullmatch(pattern, replace_phone(make_choices(), number))


@pytest.mark.parametrize("number", ["0500 123 4567", "0500 123 456", "+44 500 123456", "0345 12 345 67"])
def test_british_numbers_of_no_kind_that_is_set_aside_keep_their_form(number: str) -> None:
    new = replace_phone(make_choices(), number)
    assert digits(new) != digits(number)
    assert re.sub(r"\d", "9", new) == re.sub(r"\d", "9", number)


@pytest.mark.parametrize("number", ["917 277 336", "+34 630 75 89 15", "0034 963862500"])
def test_spanish_numbers_keep_country_and_first_digit(number: str) -> None:
    new = replace_phone(make_choices(language="es"), number)
    kept = digits(number)[:-8]
    assert digits(new).startswith(kept)
    assert digits(new) != digits(number)
    assert re.sub(r"\d", "9", new) == re.sub(r"\d", "9", number)


def test_numbers_of_a_document_are_distinct_until_there_are_no_more() -> None:
    choices = make_choices()
    seen = {replace_phone(choices, f"234-{n:04}") for n in range(60)}
    assert len(seen) == 60
    rest = {replace_phone(choices, f"234-{n:04}") for n in range(60, 150)} - {""}
    assert len(seen | rest) == 100


def test_one_number_in_several_forms_has_one_surrogate() -> None:
    choices = make_choices()
    assert digits(replace_phone(choices, "617-234-5678")) == digits(replace_phone(choices, "(617) 234 5678"))


@pytest.mark.parametrize("address", ["john.smith@hospital.org", "JSMITH@MAIL.EXAMPLE.COM", "x_y+z9@a.b.c"])
def test_mail_goes_to_reserved_domains(address: str) -> None:
    new = replace_email(make_choices(), address)
    local, _, domain = new.partition("@")
    assert re.fullmatch(r"(?:\w+\.)*example\.(?:com|net|org)", domain.lower())
    assert local.lower() != address.partition("@")[0].lower()
    assert new.isupper() == address.isupper()


def test_addresses_of_one_domain_stay_together() -> None:
    choices = make_choices()
    a, b, c = (replace_email(choices, x).split("@")[1] for x in ("a@one.org", "b@one.org", "a@two.org"))
    assert a == b != c


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        (
            "http://www.hospital.org/portal/john?id=77",
            r"http://www\.(?:\w+\.)*example\.\w+/[a-z]{6}/[a-z]{4}\?[a-z]{2}=\d\d",
        ),
        ("https://host.edu:8080/a.html", r"https://(?:\w+\.)*example\.\w+:\d{4}/[a-z]\.html"),
        ("www.clinic.com", r"www\.(?:\w+\.)*example\.\w+"),
    ],
)
def test_urls_keep_their_layout(url: str, pattern: str) -> None:
    assert re.fullmatch(pattern, replace_url(make_choices(), url))


@pytest.mark.parametrize("address", ["10.1.2.3", "192.168.0.255", "8.8.8.8"])
def test_addresses_of_version_4_are_for_documentation(address: str) -> None:
    new = ipaddress.ip_address(replace_ip(make_choices(), address))
    assert replace_ip(make_choices(), f"{address}.") == f"{new}."
    nets = [ipaddress.ip_network(n) for n in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
    assert any(new in net for net in nets)


@pytest.mark.parametrize("address", ["2607:f8b0:4004:809::200e", "fe80::1", "2001:0DB8:85A3:0000:0000:8A2E:0370:7334"])
def test_addresses_of_version_6_are_for_documentation(address: str) -> None:
    new = replace_ip(make_choices(), address)
    assert ipaddress.ip_address(new) in ipaddress.ip_network("2001:db8::/32")
    assert ipaddress.ip_address(new) != ipaddress.ip_address(address)


def test_ports_and_hardware_addresses_change() -> None:
    new = replace_ip(make_choices(), "10.1.2.3:8443")
    assert not new.endswith(":8443")
    assert re.fullmatch(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", replace_ip(make_choices(), "00:1a:2b:3c:4d:5e"))


@pytest.mark.parametrize("said", ["STRICKLAND-PC", "ws12.northfield.org", "10.7.33.201 STRICKLAND", "seen by zobub"])
def test_no_name_of_a_host_stays_beside_an_address(said: str) -> None:
    new = replace_ip(make_choices(), said).lower()
    assert new
    assert not any(word in new for word in said.lower().replace(".", " ").replace("-", " ").split() if len(word) > 2)


@pytest.mark.parametrize(
    "said",
    [
        "STRICKLAND 10.7.33.201",
        "ws12: 10.1.2.3/24, 10.1.2.4/24; and 10.1.2.3 again",
        "10.1.2.3:8443 (port 8443)",
        "a.10.1.2.3",
    ],
)
def test_what_stands_around_addresses_keeps_its_layout(said: str) -> None:
    address = re.compile(r"\d+\.\d+\.\d+\.\d+")
    new = replace_ip(make_choices(), said)
    before, after = (re.sub(r"[a-z]", "a", re.sub(r"\d", "9", address.sub("*", t).lower())) for t in (said, new))
    assert before == after
    pairs = {*zip(address.findall(said), address.findall(new), strict=True)}
    assert len(pairs) == len(dict(pairs)) == len(dict(map(reversed, pairs)))  # one to one
    assert all(one != other for one, other in pairs)


def test_without_a_domain_that_is_left_nothing_stands_for_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    choices = make_choices()
    monkeypatch.setattr(choices, "claim", lambda *_, **__: "")
    assert [replace_url(choices, "https://host.edu/a"), replace_email(choices, "a@host.edu")] == ["", ""]
