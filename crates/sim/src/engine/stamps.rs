//! What switches have written into packets that are on their way ([telemetry](anabranch_transport::telemetry)), beside the packets: ports don't
//! see headers. It is added to the header when a packet reaches its host, or goes to another part of the run.

use super::arena::PacketId;
use anabranch_transport::telemetry::{Hop, Telemetry};

/// By packet. Without any telemetry it takes no memory.
#[derive(Default)]
pub struct Stamps(Vec<Telemetry>);

impl Stamps {
    /// A port sends a packet.
    pub fn add(&mut self, id: PacketId, port: u32, hop: Hop) {
        let place = id as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, Telemetry::EMPTY);
        }
        self.0[place].push(port, hop);
    }

    /// What has been written into a packet, which is then forgotten.
    pub fn take(&mut self, id: PacketId) -> Telemetry {
        self.0.get_mut(id as usize).map_or(Telemetry::EMPTY, |telemetry| std::mem::replace(telemetry, Telemetry::EMPTY))
    }

    /// Whether nothing has been written since all was [taken out](Self::drain).
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// That of all packets, among them packets that are no more.
    pub fn drain(&mut self) -> impl Iterator<Item = (PacketId, Telemetry)> + '_ {
        (0..).zip(self.0.drain(..)).filter(|(_, telemetry)| !telemetry.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_transport::Rate;
    use anabranch_transport::telemetry::RateCode;

    #[test]
    fn each_packet_has_its_own_and_once() {
        let mut stamps = Stamps::default();
        let hop = |n| Hop::new(RateCode::of(Rate::from_gbps(n)), 0, 0, 0);
        for (id, port) in [(7, 1), (3, 2), (7, 3)] {
            stamps.add(id, port, hop(u64::from(port)));
        }
        let rates = |telemetry: Telemetry| -> Vec<_> {
            telemetry.hops().expect("few").map(|hop| hop.rate.rate().bps() / 1_000_000_000).collect()
        };
        assert_eq!(rates(stamps.take(7)), [1, 3]);
        assert!(stamps.take(7).is_empty() && stamps.take(1000).is_empty());
        assert_eq!(stamps.drain().map(|(id, telemetry)| (id, rates(telemetry))).collect::<Vec<_>>(), [(3, vec![2])]);
        assert!(stamps.take(3).is_empty());
    }
}
