"""Loss and what it costs TCP, by the models that Song's chapter 3 stands on: Eq. 3.1, Padhye's, and timeouts of blocks.

The thesis takes from Kulkarni (*Incast-free TCP for Data Center Networks*, Auburn University, 2012) that the onset of
Incast follows from loss, by an extension of Padhye's model of one flow to several that are synchronised. It gives none
of his equations: `block_goodput` extends Padhye's in the plainest way, so that only its premise is Kulkarni's.
"""

from __future__ import annotations

from math import inf, sqrt

TRIPLE = 3
"""Duplicate acknowledgements that repeat a packet without a timeout."""


def loss_rate(flows: float, pipe: float, buffer: float) -> float:
    """Loss of long TCP flows at a bottleneck, at most 1 (Eq. 3.1).

    From Dhamdhere and Dovrolis, *Open issues in router buffer sizing*, 2006.

    Parameters
    ----------
    flows
        Flows that the link limits, N.
    pipe, buffer
        Packets in flight on the idle path, C T_p, and in the buffer, B.

    Examples
    --------
    >>> round(loss_rate(16, 167, 200), 5)
    0.00144
    """
    return min(1.0, (0.87 * flows / (pipe + buffer)) ** 2)


def window(loss: float, acked: float = 2) -> float:
    """Mean window in packets when a loss ends its growth (Padhye et al. 1998, *Modeling TCP throughput*, Eq. 13).

    Parameters
    ----------
    loss
        Chance that a packet is lost that is the first of its round, or whose predecessor arrived: p, above 0.
    acked
        Packets that an acknowledgement acknowledges, b.
    """
    constant = (2 + acked) / (3 * acked)
    return constant + sqrt(8 * (1 - loss) / (3 * acked * loss) + constant**2)


def timeout_share(loss: float, acked: float = 2) -> float:
    """How many losses end in a timeout, not in three duplicate acknowledgements (Padhye, Eq. 25): min(1, 3 / window).

    Examples
    --------
    >>> timeout_share(0.0), round(timeout_share(0.01), 2), timeout_share(0.5)
    (0.0, 0.25, 1.0)
    """
    return min(1.0, TRIPLE / window(loss, acked)) if loss > 0 else 0.0


def backoff(loss: float) -> float:
    """Mean length of a sequence of timeouts, in units of the first: they double, six times (Padhye, Eq. 29)."""
    f = 1 + loss + 2 * loss**2 + 4 * loss**3 + 8 * loss**4 + 16 * loss**5 + 32 * loss**6
    return f / (1 - loss) if loss < 1 else inf


def throughput(loss: float, rtt_s: float, rto_s: float, *, most: float = inf, acked: float = 2) -> float:
    """Packets that a long flow sends in a second (Padhye, Eq. 30 in its approximation, Eq. 33).

    Parameters
    ----------
    loss, acked
        As for `window`; without loss the window is always the largest.
    rtt_s, rto_s
        Round-trip time and first timeout, T_0, in seconds.
    most
        Largest window in packets, W_max.

    Examples
    --------
    >>> round(throughput(0.01, 0.1, 0.2))
    83
    """
    if loss == 0:
        return most / rtt_s
    rounds = rtt_s * sqrt(2 * acked * loss / 3)
    waits = rto_s * min(1.0, 3 * sqrt(3 * acked * loss / 8)) * loss * (1 + 32 * loss**2)
    return min(most / rtt_s, 1 / (rounds + waits))


def block_goodput(senders: int, packets: float, loss: float, *, packets_per_s: float, rto_s: float) -> float:
    """Share of the link that barrier-synchronised blocks get: no sender goes on while another waits for its timer.

    Each of a sender's packets begins a timeout with `loss` times `timeout_share`, by itself; one timeout of any sender
    holds the block up.

    Parameters
    ----------
    senders, packets
        Senders of a block, and packets that each of them sends.
    loss
        As for `window`.
    packets_per_s, rto_s
        Rate of the link; first timeout in seconds.

    Examples
    --------
    >>> block_goodput(8, 180, 0.0, packets_per_s=83_333, rto_s=0.2)
    1.0
    >>> round(block_goodput(8, 180, 0.01, packets_per_s=83_333, rto_s=0.2), 2)
    0.08
    """
    calm: float = (1 - loss * timeout_share(loss)) ** (senders * packets)
    link = senders * packets / packets_per_s
    return link / (link + (1 - calm) * rto_s * backoff(loss))
