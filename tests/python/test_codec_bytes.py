"""The codec from Python: objects to packets and back, without needless copies, beside other threads."""

from __future__ import annotations

import array
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch import codec
from anabranch.base import core

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = np.random.default_rng(7).bytes(250_123)
THREE = codec.Config(len(DATA), 1000, blocks=3)
"""84, 84 and 83 symbols; the last ends in padding."""


def test_any_packets_that_suffice_give_the_object_back() -> None:
    sent = codec.encode(DATA, repair=20, config=THREE)
    assert len(sent) == 251 + 3 * 20
    keep = np.random.default_rng(1).permutation(len(sent))
    # Of each block, 18 packets are lost, source and repair alike: two more than K are left.
    lost = np.concatenate([keep[sent.block_numbers[keep] == block][:18] for block in range(3)])
    left = np.delete(sent.array, lost, axis=0)
    assert codec.decode(sent.config, left) == DATA
    assert codec.decode(sent.config.to_bytes(), left[::-1]) == DATA
    assert codec.decode(sent.config, (row.tobytes() for row in left)) == DATA


@given(
    data=st.binary(max_size=3000),
    symbol_size=st.integers(1, 64),
    blocks=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60)
def test_what_is_lost_is_recovered_or_counted(data: bytes, symbol_size: int, blocks: int, seed: int) -> None:
    config = codec.Config(len(data), symbol_size, blocks=blocks)
    encoder = codec.Encoder(data, config=config)
    decoder = codec.Decoder(config)
    source, repair = encoder.source_packets(), encoder.repair_packets(seed % 1000, 3)
    generator = np.random.default_rng(seed)
    for packets in (source, repair):
        decoder.add_many(packets.array[generator.random(len(packets)) < 0.7])
    start = 2000
    while not decoder.complete:
        missing = decoder.missing_by_block
        assert all(missing[block] <= k for block, k in enumerate(config.source_symbols))
        with pytest.raises(codec.IncompleteError) as caught:
            decoder.result()
        assert caught.value.missing == decoder.missing == sum(missing) > 0
        for block in np.flatnonzero(missing):
            decoder.add_many(encoder.repair_packets(start, missing[block], block=int(block)))
        start += max(missing)
    assert decoder.result() == data


def test_source_packets_are_the_object_and_ids_number_them() -> None:
    sent = codec.encode(DATA, repair=2, config=THREE)
    assert sent.config.source_symbols == (84, 84, 83)
    assert list(zip(sent.block_numbers.tolist(), sent.esis.tolist(), strict=True)) == [
        (block, esi) for block, k in enumerate((84, 84, 83)) for esi in range(k + 2)
    ]
    assert sent.is_repair.sum() == 6
    assert sent.symbols[~sent.is_repair].tobytes() == DATA + bytes(251_000 - len(DATA))
    assert bytes(sent[-1]) == sent.array[-1].tobytes() == list(sent)[-1].tobytes()
    assert sent.array.shape == (257, 1004)
    assert (sent.array.dtype.name, sent.esis.dtype.name) == ("uint8", "uint32")
    assert repr(sent) == "<257 packets of 1004 bytes>"
    with pytest.raises(IndexError):
        sent[257]


def test_an_encoder_makes_the_same_packets_as_encode_and_more() -> None:
    sent = codec.encode(DATA, repair=5, config=THREE)
    encoder = codec.Encoder(DATA, config=THREE, blocks_in_memory=1)
    assert encoder.config == THREE
    assert np.array_equal(encoder.source_packets().array, sent.array[~sent.is_repair])
    assert np.array_equal(encoder.repair_packets(0, 5).array, sent.array[sent.is_repair])
    one = encoder.repair_packets(3, 2, block=2)
    assert np.array_equal(one.array, sent.array[-2:])
    assert len(encoder.source_packets(block=2)) == 83
    last = encoder.repair_packets(2**24 - 84 - 1, 1, block=0)
    assert last.esis.tolist() == [2**24 - 1]


def test_a_decoder_tells_what_is_missing_and_ignores_what_comes_late() -> None:
    sent = codec.encode(DATA, repair=2, config=THREE)
    decoder = codec.Decoder(THREE)
    assert decoder.missing_by_block == (84, 84, 83)
    assert decoder.add(sent[0]) is False
    assert decoder.add(sent[0]) is False
    assert decoder.missing_by_block == (83, 84, 83)
    assert decoder.add_many(sent.array[:86]) is False
    assert decoder.missing_by_block == (0, 84, 83)
    assert decoder.add_many(sent) is True
    assert decoder.complete
    assert decoder.add(sent[5]) is True
    assert decoder.result() == decoder.result() == DATA


OBJECTS: list[Callable[[bytes], Any]] = [
    bytes,
    bytearray,
    memoryview,
    lambda data: memoryview(b"before" + data + b"after")[6:-5],
    lambda data: np.frombuffer(data, np.uint8),
    lambda data: np.frombuffer(data, np.uint8).copy(),
    lambda data: np.frombuffer(b"before.." + data, np.int16)[4:],
    lambda data: np.frombuffer(data, np.uint8).reshape(2, -1).copy().view(np.int8),
    lambda data: array.array("d", data),
]


@pytest.mark.parametrize("make", OBJECTS)
def test_all_that_has_contiguous_memory_is_encoded_alike(make: Callable[[bytes], Any]) -> None:
    data = DATA[:80_000]
    expected = codec.encode(data, symbol_size=100, repair=2)
    given = make(data)
    assert codec.encode(given, symbol_size=100, repair=2).data == expected.data
    encoder = codec.Encoder(given, 100)
    assert encoder.source_packets().data == expected.data[: 800 * 104]


PACKETS: list[Callable[[codec.Packets], Any]] = [
    lambda sent: sent,
    lambda sent: sent.data,
    lambda sent: bytearray(sent.data),
    lambda sent: memoryview(sent.data),
    lambda sent: sent.array,
    lambda sent: sent.array.copy(),
    lambda sent: sent.array.reshape(-1),
    lambda sent: sent.array[::-1],
    lambda sent: np.asfortranarray(sent.array),
    list,
    iter,
    lambda sent: [row.copy() for row in sent.array],
]


@pytest.mark.parametrize("make", PACKETS)
def test_packets_may_come_in_any_kind_of_memory(make: Callable[[codec.Packets], Any]) -> None:
    sent = codec.encode(DATA, config=THREE)
    assert codec.decode(THREE, make(sent)) == DATA


def test_an_object_of_no_bytes_has_no_packets_and_is_complete() -> None:
    for data in (b"", bytearray(), np.empty((0, 4))):
        sent = codec.encode(data, symbol_size=8, repair=3)
        assert len(sent) == 0
        assert sent.array.shape == (0, 12)
        assert codec.decode(sent.config, sent) == b""
        assert codec.decode(sent.config, []) == b""


def test_an_encoder_keeps_what_it_was_given() -> None:
    data = bytearray(DATA)
    encoder = codec.Encoder(data, config=THREE)
    first = encoder.repair_packets(0, 3).data
    data[:] = bytes(len(data))
    data.clear()  # no export is held
    assert encoder.repair_packets(0, 3).data == first
    assert codec.decode(THREE, encoder.source_packets()) == DATA


def test_numpy_sees_the_packets_without_a_copy() -> None:
    sent = codec.encode(DATA, repair=1, config=THREE)
    memory = np.frombuffer(sent.data, np.uint8)
    for view in (sent.array, sent.symbols, sent.block_numbers):
        assert np.shares_memory(view, memory)
        assert not view.flags.writeable
    assert np.shares_memory(np.frombuffer(sent[3], np.uint8), memory)


PEAK = """
import sys
import numpy as np
from anabranch import codec
def status(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key)) // 1024
def grown(work):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the highest resident size is from now on
    before = status("VmRSS")
    kept = work()
    return status("VmHWM") - before
data = np.random.default_rng(1).bytes(96 << 20)
shown = np.frombuffer(data, np.uint8).reshape(1024, -1)
config = codec.Config(len(data), 1024, blocks=96)
codec.encode(data[:5000], symbol_size=100, repair=1)
print(
    grown(lambda: codec.Encoder(data, config=config, blocks_in_memory=1).repair_packets(0, 1)),
    grown(lambda: codec.Encoder(shown, config=config, blocks_in_memory=1).repair_packets(0, 1)),
    grown(lambda: codec.Encoder(memoryview(data), config=config).source_packets(block=0)),
    grown(lambda: codec.encode(shown, repair=1, config=config)),
    grown(lambda: codec.encode(shown.copy(), repair=1, config=config)) - 96,
    grown(lambda: codec.Encoder(shown.copy(), config=config, blocks_in_memory=1)) - 96,
)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of memory is read from /proc")
def test_memory_that_bytes_own_is_not_copied() -> None:
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True, timeout=300)
    of_bytes, of_array, of_view, all_packets, of_writable, kept = map(int, done.stdout.split())
    # MiB beyond the object of 96; blocks have 1.
    assert max(of_bytes, of_array, of_view) < 16
    assert 96 <= all_packets < 96 + 16
    # The array itself, and its packets: a block at a time is copied.
    assert 96 <= of_writable < 96 + 16
    assert 90 < kept < 96 + 16


PROBE = """
import sys, threading, time
from anabranch import codec
data = bytes(8 << 20)
config = codec.Config(len(data), 1024, blocks=2)
sent = codec.encode(data, repair=40, config=config)
late = sent.array[30:].copy()
encoder, decoder = codec.Encoder(data, config=config), codec.Decoder(config)
turns, stop = 0, False
def count():
    global turns
    while not stop:
        turns += 1
        time.sleep(0)  # lets others go on
# Nobody is made to stop: a thread goes on until it waits of its own accord, and `other` counts when we do.
sys.setswitchinterval(1000)
other = threading.Thread(target=count)
other.start()
def during(work):
    before = turns
    # A short piece of work may be done before the system wakes the other thread.
    return any(turns > before for _ in range(200) if work() or True)
print(*(during(work) for work in (
    lambda: sum(range(50_000)),
    lambda: codec.encode(data, repair=40, config=config),
    lambda: codec.encode(bytearray(data), repair=40, config=config),
    lambda: encoder.repair_packets(0, 100),
    lambda: decoder.add_many(sent.array[40:]),
    lambda: codec.Decoder(config).add_many(late),
    lambda: decoder.result(),
)))
stop = True
"""


def test_other_threads_go_on_meanwhile() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["False", *["True"] * 6]


def test_threads_may_share_a_decoder_and_an_encoder() -> None:
    encoder, decoder = codec.Encoder(DATA, config=THREE, blocks_in_memory=1), codec.Decoder(THREE)
    failed = []

    def work(number: int) -> None:
        try:
            for block in range(3):
                decoder.add_many(encoder.repair_packets(100 * number, 25, block=block))
        except Exception as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert decoder.result() == DATA


SIGNALS = """
import signal
from anabranch import codec
data = bytes(32 << 20)
config = codec.Config(len(data), 64, blocks=255)
calls, most = 0, 1000
def count(*_):
    global calls
    calls += 1
    if calls > most:
        signal.setitimer(signal.ITIMER_PROF, 0)
        raise KeyboardInterrupt
signal.signal(signal.SIGPROF, count)
signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)  # of the processor's time
codec.encode(data, repair=100, config=config)
# Were they noticed only at the end, all of them would be one.
print(calls > 3)
most = calls + 2
try:
    codec.encode(data, repair=100, config=config)
except KeyboardInterrupt:
    print("stopped")
"""


def test_signals_are_noticed_between_blocks() -> None:
    done = subprocess.run([sys.executable, "-c", SIGNALS], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["True", "stopped"]


ERRORS: list[tuple[Callable[[], object], str]] = [
    (
        lambda: codec.encode("text"),  # type: ignore[arg-type]
        "the object: expected bytes, a bytearray, a memory view or a NumPy array, got str",
    ),
    (lambda: codec.encode(np.arange(10)[::2]), "the object: expected a C-contiguous array\nhint: numpy.ascontig"),
    (lambda: codec.encode(np.array([None])), "the object: expected bytes or numbers, got an array of Python objects"),
    (lambda: codec.encode(DATA, symbol_size=0), "symbol_size = 0: expected 1 to 65535 bytes"),
    (lambda: codec.encode(DATA, symbol_size=65536), "symbol_size = 65536: expected 1 to 65535 bytes"),
    (lambda: codec.encode(DATA, symbol_size=9.5), "symbol_size = 9.5: expected a whole number"),  # type: ignore[arg-type]
    (lambda: codec.encode(DATA, repair=-1), "repair = -1: expected 0 to 16777216"),
    (
        lambda: codec.encode(DATA, repair=2**24),
        "16777216 repair packets from number 0 on: a block of 175 source symbols",
    ),
    (
        lambda: codec.encode(DATA[1:], config=THREE),
        "the object has 250122 bytes, its transmission information says 250123",
    ),
    (lambda: codec.encode(DATA, symbol_size=8, config=THREE), "symbol_size = 8: expected 1000, as in `config`\nhint: "),
    (lambda: codec.Encoder(DATA, blocks_in_memory=0), "blocks_in_memory = 0: expected 1 to 255"),
    (lambda: codec.Encoder(DATA, config=THREE).source_packets(block=3), "block = 3: expected 0 to 2"),
    (lambda: codec.Config(9, 8, alignment=3), "symbol size T = 8 is not a multiple of the alignment Al = 3"),
    (lambda: codec.Config(10**9, 8), "a block would have 125000000 source symbols, more than 56403"),
    (
        lambda: codec.Config.for_object(10**10, 1000),
        "10000000000 bytes are 957 blocks of 10 MiB, expected at most 255\nhint",
    ),
    (lambda: codec.Config.from_bytes(b"short"), "object transmission information has 12 bytes, not 5"),
    (lambda: codec.Decoder(bytes(12)), "the symbol size T must be positive"),
    (
        lambda: codec.decode(THREE, np.zeros((3, 5), np.uint8)),
        r"the packets: expected an array of shape (n, 1004), that is",
    ),
    (
        lambda: codec.decode(THREE, np.zeros((3, 1004))),
        "the packets: expected an array of bytes (uint8), got elements of",
    ),
    (lambda: codec.decode(THREE, bytes(1003)), "1003 bytes: expected packets of 4 + T = 1004 bytes"),
    (lambda: codec.decode(THREE, 5), "the packets: expected bytes, a bytearray"),  # type: ignore[arg-type]
    (lambda: codec.decode(THREE, [bytes(1004), bytes(3)]), "packet 1: a packet starts with a payload ID of 4 bytes"),
    (lambda: codec.decode(THREE, [b"\x09" + bytes(1003)]), "packet 0: there is no block 9 in an object of 3"),
    (
        lambda: codec.decode(THREE, bytes(1004) + b"\x09" + bytes(1003)),
        "packet 1: there is no block 9 in an object of 3",
    ),
    (
        lambda: codec.decode(THREE, [bytes(1000)]),
        "packet 0: 996 bytes are not symbols of 1000 bytes\nhint: a packet is",
    ),
    (lambda: codec.Limits(object_bytes=-1), "object_bytes = -1: expected 0 to 18446744073709551615"),
]


@pytest.mark.parametrize(("wrong", "message"), ERRORS, ids=[message[:40] for _, message in ERRORS])
def test_errors_say_what_was_expected(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(codec.CodecError) as caught:
        wrong()
    assert str(caught.value).startswith(message)


def test_too_few_packets_are_an_error_that_counts_what_is_missing() -> None:
    sent = codec.encode(DATA, repair=1, config=THREE)
    with pytest.raises(codec.IncompleteError) as caught:
        codec.decode(sent.config, sent.array[sent.esis > 9])
    assert str(caught.value) == (
        "the object is not complete: at least 27 more symbols are needed, in 3 of 3 blocks "
        "(block 0: 9, block 1: 9, block 2: 9)\n"
        "hint: add packets of these blocks with ESIs that have not arrived yet: more repair packets"
    )
    assert caught.value.missing == 27


def test_a_packet_that_does_not_fit_changes_nothing() -> None:
    sent = codec.encode(DATA, config=THREE)
    decoder = codec.Decoder(THREE)
    for wrong in (b"", bytes(4), bytes(1003), b"\xff" * 1004):
        with pytest.raises(codec.CodecError):
            decoder.add(wrong)
    assert decoder.missing == 251
    assert decoder.add_many(sent)


def test_a_hostile_description_is_beyond_the_limits() -> None:
    huge = codec.Config(900_000_000_000, 65_535, blocks=255).to_bytes()
    with pytest.raises(codec.CodecError) as caught:
        codec.Decoder(huge)
    assert str(caught.value) == (
        "the object has 900000000000 bytes; the limit is 1073741824\n"
        "hint: if the sender can be trusted, raise `Limits.object_bytes`"
    )
    assert codec.Decoder(huge, limits=codec.Limits.none()).missing == 13_733_120
    for limits, named in (
        (codec.Limits(object_bytes=250_122), "Limits.object_bytes"),
        (codec.Limits(block_bytes=83_999), "Limits.block_bytes"),
        (codec.Limits(source_symbols=83), "Limits.source_symbols"),
    ):
        with pytest.raises(codec.CodecError, match=named):
            codec.Decoder(THREE, limits=limits)
    one = codec.Decoder(THREE, limits=codec.Limits(blocks_in_progress=1))
    with pytest.raises(codec.CodecError, match=r"packet 1: 1 blocks are in progress.*\n.*Limits.blocks_in_progress"):
        one.add_many(codec.encode(DATA, config=THREE).array[[0, 90]])


def test_the_limits_are_those_of_the_crate() -> None:
    limits = codec.Limits()
    fields = ("object_bytes", "block_bytes", "source_symbols", "blocks_in_progress", "extra_symbols")
    assert tuple(getattr(limits, field) for field in fields) == core.codec("codec_limits")


def test_a_description_is_what_other_implementations_write() -> None:
    # RFC 6330 §3.3.2 and §3.3.3: F in 5 bytes, one reserved, T in 2; Z in 1, N in 2, Al in 1.
    config = codec.Config(1_000_000, 1280, blocks=2, sub_blocks=3, alignment=8)
    assert bytes(config) == bytes([0, 0, 0x0F, 0x42, 0x40, 0, 5, 0, 2, 0, 3, 8])
    assert codec.Config.from_bytes(bytearray(bytes(config))) == config
    chosen = codec.Config.for_object(100_000_000, 1280)
    assert (chosen.blocks, chosen.sub_blocks, chosen.packet_size) == (10, 1, 1284)
    assert max(chosen.source_symbols) * 1280 <= 10 * 2**20
