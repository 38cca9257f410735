"""Reversible replacement: the text itself, encrypted with the user's key, in place of the span.

AES-256-GCM. The nonce is a keyed hash of document, place and text, so that the same run gives the same bytes (nothing
is drawn at random) while equal texts at two places do not look alike. The text is padded to multiples of 16 bytes
before it is encrypted, so that the token does not tell its length. The coarse group is authenticated with it: a token
that was altered, or moved under another label, cannot be decrypted.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence

from deid.base.errors import ConfigError, InputError
from deid.base.keys import Key
from deid.document import Document, Span
from deid.phi import GROUPS
from deid.replacement.operators import word_for
from deid.replacement.scope import Operator, Scope

_TOKEN = re.compile(rf"\[({'|'.join((*GROUPS, 'PHI'))}):([A-Z2-7]{{40,}})\]")
_NONCE = 12
_BLOCK = 16


def encrypt() -> Operator:
    """Return the operator that writes ``[NAME:...]`` with the encrypted text; `decrypt_text` reads it again."""

    def operate(document: Document, spans: Sequence[Span], scope: Scope) -> list[str]:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        cipher = AESGCM(scope.key.derive("operator:encrypt").secret)
        nonces = scope.key.derive("operator:encrypt:nonce")
        tokens = []
        for span in spans:
            text = document.text[span.start : span.end]
            kind = word_for(span.category, text)
            nonce = nonces.mac(scope.document_id, str(span.start), kind, text)[:_NONCE]
            sealed = nonce + cipher.encrypt(nonce, _pad(text.encode("utf-8", "surrogatepass")), kind.encode())
            # base 32 makes it one word, in which no short original can stand by itself
            tokens.append(f"[{kind}:{base64.b32encode(sealed).decode().rstrip('=')}]")
        return tokens

    return operate


def decrypt_text(text: str, key: Key) -> str:
    """Return a text with every token of `encrypt` replaced by what it holds.

    Parameters
    ----------
    text : str
        A scrubbed text, or a part of it.
    key : Key
        The key that it was scrubbed with.

    Raises
    ------
    ConfigError
        When a token was not made with this key, or was altered.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher = AESGCM(key.derive("operator:encrypt").secret)

    def open_token(found: re.Match[str]) -> str:
        kind, body = found.groups()
        try:
            sealed = base64.b32decode(body + "=" * (-len(body) % 8))
            padded = cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], kind.encode())
        except (InvalidTag, ValueError):
            raise ConfigError(
                "an encrypted span cannot be opened with this key",
                "use the key file that the text was scrubbed with; an altered token cannot be recovered",
                position=f"offset {found.start()}",
            ) from None
        return _unpad(padded).decode("utf-8", "surrogatepass")

    return _TOKEN.sub(open_token, text)


def _pad(raw: bytes) -> bytes:
    if len(raw) >= 1 << 32:
        raise InputError("a span is too long to be encrypted", "no identifier is that long: check the annotations")
    framed = len(raw).to_bytes(4, "big") + raw
    return framed + bytes(-len(framed) % _BLOCK)


def _unpad(padded: bytes) -> bytes:
    length = int.from_bytes(padded[:4], "big")
    return padded[4 : 4 + length]
