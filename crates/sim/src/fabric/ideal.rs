//! The completion time of a transfer that is alone on the idle fabric.

use anabranch_transport::units::PS_PER_S;
use anabranch_transport::{Duration, Rate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// In what order and in what pieces the packets of an object leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pieces {
    /// Full packets from one sender, the shorter one last.
    #[default]
    InOrder,
    /// Full packets, and the shorter one at any time: one of several senders or connections may begin with it.
    AnyOrder,
    /// Packets of any length: the object is cut anew on the way, or provided little by little.
    Any,
}

/// Links of which every packet of a flow crosses one, at least, between those of the layers before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layer {
    /// Rate of the fastest.
    pub fastest: Rate,
    /// The shortest delay.
    pub delay: Duration,
    /// How many there are.
    pub links: u32,
    /// Bits per second of all of them.
    pub total: u64,
}

impl Layer {
    /// A layer of one link.
    pub fn one(rate: Rate, delay: Duration) -> Self {
        Self { fastest: rate, delay, links: 1, total: rate.bps() }
    }

    /// With another link.
    #[must_use]
    pub fn with(self, rate: Rate, delay: Duration) -> Self {
        Self {
            fastest: self.fastest.max(rate),
            delay: self.delay.min(delay),
            links: self.links.saturating_add(1),
            total: self.total.saturating_add(rate.bps()),
        }
    }

    /// Whether all its links have the same rate.
    fn is_even(&self) -> bool {
        self.fastest.bps().checked_mul(u64::from(self.links)) == Some(self.total)
    }

    /// The time below which no `lanes` links carry so many full packets and, where there is one, the last.
    fn carries(&self, lanes: u32, count: u64, full: u64, last: Option<u64>) -> Duration {
        let links = u64::from(self.links.min(lanes).max(1));
        let (rate, extra) = (self.fastest, last.unwrap_or(0));
        if links > 1 && !self.is_even() {
            return self.carries_bytes(lanes, u128::from(count) * u128::from(full) + u128::from(extra));
        }
        let all = count + u64::from(last.is_some());
        let most = all.div_ceil(links);
        // The busiest link. With the shorter packet it may be the only one that carries as many.
        match last {
            Some(last) if links == 1 || all % links == 1 => {
                rate.transmit_time(full) * most.saturating_sub(1) + rate.transmit_time(last)
            }
            _ => rate.transmit_time(full) * most,
        }
    }

    /// The same for bytes in packets of any length.
    fn carries_bytes(&self, lanes: u32, bytes: u128) -> Duration {
        let links = u128::from(self.links.min(lanes).max(1));
        let bps = u128::from(self.total).min(links * u128::from(self.fastest.bps())).max(1);
        Duration(u64::try_from(bytes.saturating_mul(8 * u128::from(PS_PER_S)) / bps).unwrap_or(u64::MAX))
    }
}

/// The links on a path: rate and delay of each.
pub type Links = Vec<(Rate, Duration)>;

/// The part of the fabric that a flow may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ways {
    /// The paths of which the best depends on the object: no other is as fast as one of these on every link, and as short.
    /// None where packets need not keep to shortest paths, or come from several senders.
    pub paths: Vec<Links>,
    /// All of it, from the senders to the receiver.
    pub layers: Vec<Layer>,
    /// Where all links are alike: how many paths there are at most that share no link. So many links, not all of the same layer
    /// perhaps, are in the way of every packet.
    pub disjoint: Option<u32>,
}

/// What an ideal completion time depends on, besides the packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct IdealPath {
    /// Links on a shortest path.
    pub hops: u8,
    /// What the flow may use.
    pub ways: Arc<Ways>,
    /// How many paths it may use at once.
    pub lanes: u32,
    /// How its packets leave.
    pub pieces: Pieces,
}

impl IdealPath {
    /// The time below which no object of these packets can be complete: with packets that keep to one path and their order,
    /// the time that a sender at line rate takes when nobody else sends.
    pub fn completion_time(&self, packets: &Packets) -> Duration {
        let one = |path: &Links| match self.pieces {
            Pieces::InOrder => completion_time(path, packets),
            _ => alone(path).completion_time(1, self.pieces, packets),
        };
        let best = self.ways.paths.iter().map(one).min().filter(|_| self.lanes <= 1);
        best.unwrap_or_else(|| self.ways.completion_time(self.lanes, self.pieces, packets))
    }
}

/// A path by itself.
fn alone(path: &[(Rate, Duration)]) -> Ways {
    Ways { layers: path.iter().map(|&(rate, delay)| Layer::one(rate, delay)).collect(), ..Ways::default() }
}

/// The ideal paths of many flows, each kept once: most flows of a fabric have one of a few.
#[derive(Clone, Debug, Default)]
pub struct IdealPaths {
    known: Vec<IdealPath>,
    numbers: BTreeMap<IdealPath, u32>,
}

impl IdealPaths {
    /// The number of a path.
    pub fn number(&mut self, path: IdealPath) -> u32 {
        *self.numbers.entry(path).or_insert_with_key(|path| {
            self.known.push(path.clone());
            (self.known.len() - 1) as u32
        })
    }

    /// The path with a number.
    pub fn get(&self, number: u32) -> &IdealPath {
        &self.known[number as usize]
    }
}

/// The packets of an object on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// How many.
    pub count: u64,
    /// Bytes on the wire of all but the last.
    pub full: u64,
    /// Bytes on the wire of the last.
    pub last: u64,
    /// Bytes on the wire of the shortest packet with data.
    pub least: u64,
}

/// The time from the sender's first bit to the receiver's last, over store-and-forward links of these rates and delays,
/// when the sender sends at line rate and nobody else does.
///
/// Packets of equal size leave the j-th link of a tandem at `sum of transmission times + delays before + (n - 1) x the
/// slowest transmission so far`; the last packet, which may be shorter, follows the one before it link by link.
pub fn completion_time(path: &[(Rate, Duration)], packets: &Packets) -> Duration {
    let mut ahead = Duration::ZERO; // the last but one packet leaves this link
    let mut last = Duration::ZERO; // the last packet arrives at this link
    let (mut sum, mut slowest) = (Duration::ZERO, Duration::ZERO);
    for &(rate, delay) in path {
        let full = rate.transmit_time(packets.full);
        sum = sum + full;
        slowest = slowest.max(full);
        if packets.count > 1 {
            ahead = sum + slowest * (packets.count - 2);
        }
        last = last.max(ahead) + rate.transmit_time(packets.last) + delay;
        sum = sum + delay;
    }
    last
}

impl Ways {
    /// The time below which no object arrives by these ways, of which `lanes` can be used at once.
    ///
    /// Every packet crosses every layer. So, for each layer: no packet is there before the fastest way has brought it, then all
    /// of them have to cross, and the last to do so has the rest of the way before it. Which packet is first and which is last
    /// is up to chance where packets take different ways: the shorter one may overtake the others. The best of these bounds
    /// holds; and the least of those that hold if only `disjoint` links of a layer can be used, as such links are in the way
    /// somewhere.
    fn completion_time(&self, lanes: u32, pieces: Pieces, packets: &Packets) -> Duration {
        let layers = &self.layers;
        let (&Packets { count, full, last, least }, before) = (packets, packets.count - 1);
        let one_packet = |bytes: u64| self.arrivals(bytes).pop().unwrap_or_default();
        let (of_full, of_last, of_least) = (self.arrivals(full), self.arrivals(last), self.arrivals(least));
        // A sender with one link has sent the others when it begins with the last.
        let waits = match layers.first() {
            Some(first) if pieces == Pieces::InOrder && first.links.min(lanes) == 1 => {
                first.carries(1, before, full, None)
            }
            _ => Duration::ZERO,
        };
        let in_pieces = |j: usize, lanes: u32| {
            let bytes = u128::from(before) * u128::from(full) + u128::from(last);
            of_least[j] + layers[j].carries_bytes(lanes, bytes) + self.rest(&of_least, j, least)
        };
        let in_packets = |j: usize, lanes: u32| {
            let without = of_full[j] + layers[j].carries(lanes, before, full, None) + self.rest(&of_full, j, full);
            let first = if j == 0 { Duration::ZERO } else { of_full[j].min(waits + of_last[j]) };
            let with = first + layers[j].carries(lanes, before, full, Some(last)) + self.rest(&of_last, j, last);
            without.max(with)
        };
        let (one, crossing): (Duration, &dyn Fn(usize, u32) -> Duration) = match pieces {
            Pieces::Any => (one_packet(least), &in_pieces),
            _ if count <= 1 => return one_packet(last),
            _ => (one_packet(full), &in_packets),
        };
        let bounds = |lanes: u32| (0..layers.len()).map(move |layer| crossing(layer, lanes));
        let somewhere = self.disjoint.and_then(|disjoint| bounds(lanes.min(disjoint.max(1))).min());
        bounds(lanes).chain(somewhere).fold(one, Duration::max)
    }

    /// When a packet alone arrives at each layer, and then at the receiver.
    fn arrivals(&self, bytes: u64) -> Vec<Duration> {
        let hop = |at: &mut Duration, layer: &Layer| {
            *at = *at + layer.fastest.transmit_time(bytes) + layer.delay;
            Some(*at)
        };
        std::iter::once(Duration::ZERO).chain(self.layers.iter().scan(Duration::ZERO, hop)).collect()
    }

    /// What a packet with these arrivals still needs when it has crossed a layer.
    fn rest(&self, arrivals: &[Duration], layer: usize, bytes: u64) -> Duration {
        let whole = arrivals.last().copied().unwrap_or_default();
        whole - arrivals[layer] - self.layers[layer].fastest.transmit_time(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GBPS: Rate = Rate::from_gbps(1);
    const US: fn(u64) -> Duration = Duration::from_us;
    /// The shortest packet with data: the last is never shorter.
    const LEAST: u64 = 65;

    fn packets(count: u64, last: u64) -> Packets {
        Packets { count, full: 1500, last, least: LEAST }
    }

    #[test]
    fn one_packet_is_stored_and_forwarded() {
        let path = [(GBPS, US(10)), (GBPS, US(10))];
        assert_eq!(completion_time(&path, &packets(1, 1500)), US(2 * 22));
        assert_eq!(completion_time(&path, &packets(10, 1500)), US(2 * 22 + 9 * 12));
    }

    fn over_layers(layers: &[Layer], lanes: u32, pieces: Pieces, packets: &Packets) -> Duration {
        Ways { layers: layers.to_vec(), ..Ways::default() }.completion_time(lanes, pieces, packets)
    }

    fn layers(links: u32, length: usize) -> Vec<Layer> {
        vec![Layer { fastest: GBPS, delay: US(10), links, total: GBPS.bps() * u64::from(links) }; length]
    }

    #[test]
    fn several_paths_share_the_packets() {
        let path = [(GBPS, US(10)), (GBPS, US(10))];
        let one_path = |count, last| completion_time(&path, &packets(count, last));
        for (paths, count, last, expected) in [
            (1, 9, 100, one_path(9, 100)),
            (2, 1, 100, one_path(1, 100)),
            (2, 2, 100, one_path(1, 1500)),
            (2, 10, 100, one_path(5, 1500)),
            (3, 10, 1500, one_path(4, 1500)),
            (5, 3, 100, one_path(1, 1500)),
            // The path with a packet more may have the shorter one, which may be its first: not those of 1500 bytes wait for it.
            (2, 9, 100, one_path(4, 1500)),
            (3, 9, 100, one_path(3, 1500)),
        ] {
            let of = over_layers(&layers(paths, 2), u32::MAX, Pieces::InOrder, &packets(count, last));
            assert_eq!(of, expected, "{count} over {paths}");
        }
        let lanes = |lanes| over_layers(&layers(4, 2), lanes, Pieces::InOrder, &packets(12, 1500));
        assert_eq!([1, 2, 3, 9].map(lanes), [12, 6, 4, 3].map(|most| one_path(most, 1500)));
    }

    /// Two paths at the ends that share a link in the middle: the shorter packet may use the other last link.
    #[test]
    fn a_shared_link_is_in_the_way_somewhere() {
        let ways = |disjoint| Ways { layers: layers(2, 5), disjoint, ..Ways::default() };
        let time = |disjoint, count, last| {
            ways(disjoint).completion_time(u32::MAX, Pieces::InOrder, &packets(count, last)) - US(50)
        };
        assert_eq!([time(None, 9, 1500), time(Some(2), 9, 1500)], [US(4 * 12 + 5 * 12); 2]);
        assert_eq!(time(Some(1), 9, 1500), US(4 * 12 + 9 * 12));
        assert_eq!(time(Some(1), 2, 900), US(5 * 12), "the first packet's way is the longer one");
    }

    #[test]
    fn unequal_links_carry_what_their_rates_add_up_to() {
        let slow = Layer::one(GBPS, US(10)).with(Rate::from_gbps(3), US(5));
        assert_eq!((slow.links, slow.total, slow.delay), (2, 4_000_000_000, US(5)));
        // 4 of 12 us each, 1 at 3 Gbps; whichever link is last, after 5 us at least.
        let of = over_layers(&[slow], u32::MAX, Pieces::InOrder, &packets(4, 1500));
        assert_eq!(of, US(12 + 5));
        assert_eq!(over_layers(&[slow], 1, Pieces::InOrder, &packets(4, 1500)), US(4 * 4 + 5));
    }

    #[test]
    fn a_slow_layer_in_the_middle_decides() {
        let mut of = layers(1, 3);
        (of[1].fastest, of[1].total) = (Rate::from_mbps(100), 100_000_000);
        let path: Links = of.iter().map(|layer| (layer.fastest, layer.delay)).collect();
        let one_path = completion_time(&path, &packets(9, 1500));
        assert_eq!(over_layers(&of, u32::MAX, Pieces::InOrder, &packets(9, 1500)), one_path);
        // Of several senders, one may begin with the shorter packet.
        let any = over_layers(&of, u32::MAX, Pieces::AnyOrder, &packets(9, 150));
        assert!(any <= completion_time(&path, &packets(9, 150)) && any >= US(8 * 120));
        let cut_anew = over_layers(&of, u32::MAX, Pieces::Any, &packets(9, 150));
        assert!(cut_anew < any && cut_anew >= US(8 * 120 + 12));
    }

    proptest! {
        /// Against a packet-by-packet computation.
        #[test]
        fn agrees_with_following_every_packet(
            path in prop::collection::vec((1u64..40, 0u64..20), 1..6),
            count in 1u64..40,
            last in LEAST..=1500,
        ) {
            let path: Vec<_> = path.into_iter().map(|(g, d)| (Rate::from_gbps(g), US(d))).collect();
            let packets = packets(count, last);
            let mut free = vec![Duration::ZERO; path.len()];
            let mut end = Duration::ZERO;
            for n in 0..count {
                let size = if n + 1 == count { last } else { 1500 };
                let mut at = Duration::ZERO;
                for (link, &(rate, delay)) in path.iter().enumerate() {
                    let left = at.max(free[link]) + rate.transmit_time(size);
                    free[link] = left;
                    at = left + delay;
                }
                end = at;
            }
            prop_assert_eq!(completion_time(&path, &packets), end);
            // Links one after the other are layers of one link: never more, and less by what the last packet may overtake.
            for pieces in [Pieces::InOrder, Pieces::AnyOrder, Pieces::Any] {
                prop_assert!(alone(&path).completion_time(1, pieces, &packets) <= end);
            }
            let one = Packets { count: 1, ..packets };
            prop_assert_eq!(alone(&path).completion_time(9, Pieces::InOrder, &one), completion_time(&path, &one));
        }

        /// Paths of equal links, as in most fabrics: what may take several ways is bounded as what takes one.
        #[test]
        fn equal_links_are_bounded_alike(length in 1usize..7, more in 0u64..40, last in LEAST..=1500, inner in 1u32..9) {
            let mut of = layers(1, length);
            for layer in of.iter_mut().skip(1).rev().skip(1) {
                *layer = layers(inner, 1)[0];
            }
            let packets = packets(length as u64 + more, last);
            let path: Links = of.iter().map(|layer| (layer.fastest, layer.delay)).collect();
            prop_assert_eq!(over_layers(&of, u32::MAX, Pieces::InOrder, &packets), completion_time(&path, &packets));
        }
    }
}
