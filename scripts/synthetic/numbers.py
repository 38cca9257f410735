"""Invented identifiers: phones, record numbers, accounts, licences, vehicles, devices, network addresses."""

from __future__ import annotations

from .draw import Draw

_PHONE_US = (
    "(^##) ^##-####",
    "^##-^##-####",
    "^##-^##-####",
    "^##.^##.####",
    "(^##)^##-####",
    "^## ^## ####",
    "^##/^##-####",
    "1-^##-^##-####",
    "+1 ^## ^## ####",
    "^#########",
    "^##-####",
    "+1-^##-^##-####",
    "(^##) 555-01##",
    "^##-555-####",
)
_PHONE_UK = (
    "01### ######",
    "020 7### ####",
    "0117 9## ####",
    "07### ######",
    "07### ### ###",
    "+44 7### ######",
    "0161-###-####",
    "(01###) ######",
    "01## ### ####",
    "0##########",
    "028 #### ####",
)
_PAGER = ("#####", "%####", "%###", "%##-####", "#%###", "%##-%##-####", "####")
_EXT = ("x####", "x%###", "%-####", "%####", "X%###", "x%-####", "x%####")
_MRN = (
    "#######",
    "########",
    "######",
    "##-##-##",
    "###-##-##",
    "###-##-####",
    "@#######",
    "@@######",
    "##########",
    "00######",
    "%###### #",
    "MR#######",
    "E########",
    "### ## ##",
    "#-###-###",
    "M%########",
)
_NHS = ("### ### ####", "### ### ####", "##########", "###-###-####", "@######", "@@######", "RXH%#####")
_IDS: dict[str, tuple[str, ...]] = {
    "acc": (
        "@##-#####",
        "@-##-####",
        "@@##-#####",
        "##-@-######",
        "#######",
        "@@-##-%####",
        "@@@##-####",
        "%#######",
        "##:@@#####@",
        "RAD-########",
        "##S-#####",
        "%####-##",
        "@#########",
        "##-######",
    ),
    "ord": ("%########", "ORD-######", "#######", "@%######", "%####-%##", "####-######"),
    "case": ("####-####", "@@-####-##", "%######", "##-CV-####", "C######", "@@##/####", "%#-#####"),
    "csn": ("#########", "%###########", "%########", "1########"),
    "job": ("######", "%#######", "J######", "####-######", "%########"),
    "spec": ("@##-####", "##.@#######", "%#####-%", "SP#######", "#######@"),
    "badge": ("%####", "E%####", "RN%###", "%#####", "T####", "EMP-####", "#%##", "@%###"),
    "claim": (
        "%############",
        "CLM%######",
        "##@#######",
        "%####-####-##",
        "E%########",
        "########%##",
        "WC-##-######",
    ),
    "auth": ("A%#######", "%########", "PA-######", "@@%#####", "##########", "######-###", "OP%######"),
    "tin": ("##-#######", "##-#######", "#########"),
    "rx": ("%######", "####-######", "C%######", "N######", "%#####-#####", "#######"),
    "doc": ("%#######", "########-##", "D#######", "DOC######", "*****-****", "%##-####-##"),
}
_ACCOUNT = (
    "##########",
    "%########",
    "@#########",
    "%###-####-##",
    "####-####",
    "V%#########",
    "%##########",
    "00########",
    "H########",
)
_PLAN = (
    "@@@%########",
    "%########-##",
    "@#######@",
    "###-##-####A",
    "%@@#-@@#-@@##",
    "W### #####",
    "XYZ%########",
    "@@#########",
    "#########M",
    "%#########",
    "R########",
    "@@ ######@",
)
_GROUP = ("%####", "######", "%####-##", "@@@%##", "00%####", "@%####@", "%###")
_LICENSE: dict[str, tuple[str, ...]] = {
    "dea": ("@@#######", "B@#######", "A@#######", "F@#######"),
    "npi": ("1#########",),
    "dl": (
        "@#######",
        "@###-####-####",
        "#########",
        "@@######",
        "##-###-####",
        "S%##-####-####-##",
        "@##-##-####",
        "@@@@@######@@#@@",
    ),
    "med": ("MD######", "@-#####", "ME#####", "##.#######", "G#####", "036-######", "#####-@"),
    "rn": ("RN######", "#######", "RN-#####", "##@######@"),
    "gmc": ("#######", "#######", "##@####@"),
}
_PLATE_US = ("@@@-####", "@@@ ####", "#@@@###", "%##-@@@", "%##@@@", "@@#-###", "%@@ @##", "@@@####")
_PLATE_UK = ("@@## @@@", "@### @@@", "@@##@@@", "@@@ ##%@")
_DEVICE = (
    "SN@@#######",
    "%########",
    "@@@######@",
    "#@@#####",
    "PJN######@",
    "######-@",
    "##-####-####",
    "@#&&#&&##",
    "@@####-@##",
    "@@#####",
    "(01)00########%####",
    "%##@@#####",
)
_BIO = (
    "FP-#####-@",
    "VPR######",
    "IRIS-########",
    "@@@-####-&&&&",
    "BIO-######",
    "RET#####-##",
    "****-****-****",
    "fpt_#######",
)


def phone(draw: Draw, uk: bool) -> str:
    """Return a telephone number."""
    return draw.digits(draw.pick(_PHONE_UK if uk else _PHONE_US))


def local(draw: Draw) -> str:
    """Return a number that belongs to one person or department: with an extension."""
    if draw.chance(0.5):
        return draw.digits(draw.pick(_EXT))
    return phone(draw, False) + draw.digits(
        draw.pick((" x###", " ext %###", ", ext. ##", " x%####", " Ext ####", "x###"))
    )


def pager(draw: Draw, uk: bool) -> str:
    """Return a pager number."""
    return draw.digits(draw.pick(("%###", "%##", "####", "#%#") if uk else _PAGER))


def room(draw: Draw, bed: bool) -> str:
    """Return the number of a room, or of a bed as boards and lists write it."""
    if bed:
        return draw.digits(
            draw.pick(("%#", "%", "%#@", "@%", "%@-##", "@##", "%##-%", "%##.%", "##", "%@##", "%##/@", "@-%#"))
        )
    return draw.digits(draw.pick(("%##", "%##", "%###", "%##-@", "%#", "%##@", "%@", "%#-%")))


def mrn(draw: Draw, uk: bool) -> str:
    """Return a medical record number (NHS or hospital number in the UK)."""
    return draw.digits(draw.pick(_NHS if uk else _MRN))


def ssn(draw: Draw) -> str:
    """Return a social security number, in some cases masked but for the last digits."""
    return draw.digits(draw.weighted((("%##-##-####", 80), ("%########", 8), ("%## ## ####", 8), ("xxx-xx-####", 4))))


def identifier(draw: Draw, kind: str) -> str:
    """Return an accession, order, case, encounter, job, specimen, document, badge, claim or other number."""
    return draw.digits(draw.pick(_IDS[kind]))


def account(draw: Draw) -> str:
    """Return a billing account number."""
    return draw.digits(draw.pick(_ACCOUNT))


def plan(draw: Draw, group: bool = False) -> str:
    """Return a health plan beneficiary number, or the number of the group."""
    return draw.digits(draw.pick(_GROUP if group else _PLAN))


def licence(draw: Draw, kind: str) -> str:
    """Return a DEA, NPI, driver's, medical, nursing or GMC number."""
    return draw.digits(draw.pick(_LICENSE[kind]))


def plate(draw: Draw, uk: bool) -> str:
    """Return a vehicle's plate."""
    return draw.digits(draw.pick(_PLATE_UK if uk else _PLATE_US))


def vin(draw: Draw) -> str:
    """Return a vehicle identification number of 17 characters."""
    return draw.digits("%@@&&%#&#@&######")


def device(draw: Draw) -> str:
    """Return a device's serial number."""
    return draw.digits(draw.pick(_DEVICE))


def biometric(draw: Draw) -> str:
    """Return the number of a stored fingerprint, iris or voice sample."""
    return draw.digits(draw.pick(_BIO))


def ip(draw: Draw) -> str:
    """Return an IP address."""
    if draw.chance(0.12):
        return draw.digits("fe80::****:****:****:****") if draw.chance(0.5) else draw.digits("2001:db8:****::****")
    first = draw.pick(("10", "192.168", "172.16", str(draw.between(11, 223))))
    rest = [str(draw.between(1, 254)) for _ in range(4 - len(first.split(".")))]
    return ".".join([first, *rest])
