"""Song's estimates of Incast: goodput with and without timeouts (§1.4, Eq. 1.2 to 1.8).

The model's oddities are part of it. The fitted number of timeouts (1.4) is negative at 3 senders, and 2.1 for a single
one, which no other can disturb: it gets 3.4 MB/s of a link of 125 MB/s under "Incast", so that to avoid Incast would
help it by 1760 %. The largest improvement, 3172 % ("more than 3000 %"), is at 8 senders, where the two fits meet.
Eq. 1.8 as printed is in per cent.
"""

from __future__ import annotations

BLOCK = 256 * 1024
"""Bytes of a block."""
DATA = 100 * BLOCK
"""Bytes that each sender has to send, D."""
BANDWIDTH = 125_000_000.0
"""Bytes per second of the link, 1 Gbit/s."""
SEGMENT = 1500
"""Bytes of a packet."""
RTO_S = 0.2
"""Least retransmission timeout, seconds, r."""
RTT_S = 0.002
"""Round-trip time of Eq. 1.7, seconds."""
KNEE = 8
"""Senders up to which the first of the two polynomials holds."""


def timeouts(senders: float) -> float:
    """R, the fitted number of timeouts (Eq. 1.4); negative at 3 senders.

    Examples
    --------
    >>> round(timeouts(3), 3)
    -0.509
    """
    s = senders
    return 0.679 * s**2 - 4.04 * s + 5.5 if s <= KNEE else -0.0859 * s**2 + 4.24 * s - 11.1


def packet_wait_ms(senders: float) -> float:
    """I, the fitted wait between packets (Eq. 1.5), in milliseconds, which the text leaves out."""
    s = senders
    return 0.0988 * s**2 - 0.485 * s + 0.786 if s <= KNEE else -0.00433 * s**2 + 0.237 * s + 1.63


def transfer_time_s(senders: float) -> float:
    """L, seconds that a transfer takes without timeouts (Eq. 1.3)."""
    return DATA * senders / BANDWIDTH + DATA / SEGMENT * packet_wait_ms(senders) / 1e3


def goodput_incast(senders: float) -> float:
    """Goodput of all senders under Incast, bytes per second (Eq. 1.2).

    Examples
    --------
    >>> round(goodput_incast(1) / 1e6, 1)
    3.4
    """
    return senders * DATA / (transfer_time_s(senders) + timeouts(senders) * RTO_S)


def goodput_incast_fitted(senders: float) -> float:
    """The same with Eq. 1.6's rounded coefficients."""
    s = senders
    below = 1.86 * s**2 - 9.07 * s + 14.84 if s <= KNEE else -0.0929 * s**2 + 5.20 * s + 26.3
    return 26_214_400 * s / below


def goodput_ideal(senders: float) -> float:
    """Goodput of all senders without Incast, bytes per second (Eq. 1.7)."""
    return BLOCK / (RTT_S + BLOCK * senders / BANDWIDTH) * senders


def improvement(senders: float) -> float:
    """What avoiding Incast may gain at best: 30 is 3000 % (Eq. 1.8, from Eq. 1.2 and 1.7).

    Examples
    --------
    >>> round(max(improvement(s) for s in range(1, 26)), 1), round(improvement(25), 1)
    (31.7, 17.0)
    """
    return goodput_ideal(senders) / goodput_incast(senders) - 1


def improvement_fitted(senders: float) -> float:
    """The same with Eq. 1.8's rounded coefficients; what it gives is in per cent, this is not."""
    s = senders
    over = 16384 * s + 15625
    if s <= KNEE:
        return 7_812_500 * (1.86 * s**2 - 9.28 * s + 14.6) / over / 100
    return -78_125 * (9.29 * s**2 - 499 * s - 2607) / over / 100
