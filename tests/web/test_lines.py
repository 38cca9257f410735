"""A stream of lines in and out: order, borders, bounded work, and clients that go away or do not read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import FormatError
from deid.web.lines import LineStream


class Client:
    """Sends pieces of a body, and takes what comes: all, or nothing."""

    def __init__(self, pieces: list[bytes], *, reads: bool = True, stays: bool = True) -> None:
        self.pieces, self.reads, self.stays = list(pieces), reads, stays
        self.got: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(0)
        if not self.pieces:
            return {"type": "http.request", "body": b""} if self.stays else {"type": "http.disconnect"}
        return {"type": "http.request", "body": self.pieces.pop(0), "more_body": True}

    async def send(self, message: Any) -> None:
        if not self.reads:
            await asyncio.Event().wait()
        self.got.append(message)

    @property
    def body(self) -> bytes:
        assert [one["type"] for one in self.got[:1]] == ["http.response.start"]
        assert not self.got[-1].get("more_body", False)
        return b"".join(one.get("body", b"") for one in self.got)


def stream(client: Client, most: list[int] | None = None, **said: Any) -> None:
    at_once = 0

    async def answer(lines: bytes, first: int) -> bytes:
        nonlocal at_once
        at_once += 1
        if most is not None:
            most.append(at_once)
        await asyncio.sleep(0.0001 * (len(lines) % 3))
        at_once -= 1
        told = enumerate(lines.split(b"\n"), first)
        return b"".join(b"%d:%s\n" % (number, line) for number, line in told if line)

    limits = {"longest": 1 << 20, "under_way": 2, **said}
    asyncio.run(LineStream(answer, "text/plain", **limits)({}, client.receive, client.send))


@given(st.lists(st.binary(max_size=40), max_size=60), st.integers(1, 50))
def test_every_line_is_answered_in_order_wherever_pieces_end(lines: list[bytes], size: int) -> None:
    data = b"\n".join(line.replace(b"\n", b"") for line in lines)
    client = Client([data[at : at + size] for at in range(0, len(data), size)])
    stream(client, longest=64)
    expected = enumerate(data.split(b"\n"), 1)
    assert client.body == b"".join(b"%d:%s\n" % (number, line) for number, line in expected if line)


def test_a_few_stretches_are_under_way_at_once() -> None:
    most: list[int] = []
    client = Client([b"x" * 100 + b"\n"] * 500)
    stream(client, most)
    assert client.body.count(b"\n") == 500
    assert max(most) <= 4  # two wait in order, one is waited for, one wants to be put there


def test_a_line_that_is_too_long_is_an_error_with_a_status() -> None:
    client = Client([b"x" * 999] * 3 + [b"\n"])
    with pytest.raises(FormatError, match="more than 1000 bytes"):
        stream(client, longest=1000)
    assert not client.got


def test_a_client_that_goes_away_or_takes_nothing_ends_its_stream() -> None:
    with pytest.raises(ConnectionResetError):
        stream(Client([b"a\n" * 10] * 10, stays=False))
    with pytest.raises(ConnectionAbortedError):
        stream(Client([b"a\n"], reads=False), patience=0.02)
    with pytest.raises(ConnectionAbortedError):  # answers wait for it, up to a limit
        stream(Client([b"abcdefgh\n" * 100] * 100, reads=False), unread=5000)
