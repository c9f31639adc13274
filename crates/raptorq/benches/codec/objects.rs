//! Both codecs by the calls that their READMEs begin with: `Encoder` and `Decoder`, one object of one block.

use crate::measure::{Contender, batch_for};
use crate::workload::Workload;
use anabranch_raptorq::{Decoder, Encoder, EncodingPacket, Level, ObjectTransmissionInformation, PayloadId, PlanCache};
use std::hint::black_box;

/// Where plans come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plans {
    /// The process has coded an object of this size before.
    Made,
    /// It has not.
    New,
}

/// What describes the workload's object.
fn description(workload: &Workload) -> ObjectTransmissionInformation {
    let symbol_size = workload.symbol_size.try_into().expect("T is at most 65535");
    ObjectTransmissionInformation::new(workload.block.len() as u64, symbol_size, 1, 1, 1).expect("one block")
}

fn peer_description(workload: &Workload) -> raptorq::ObjectTransmissionInformation {
    let symbol_size = workload.symbol_size.try_into().expect("T is at most 65535");
    raptorq::ObjectTransmissionInformation::new(workload.block.len() as u64, symbol_size, 1, 1, 1)
}

/// Takes packets as they come from a socket, until the object is there.
pub(crate) struct Receive<'a> {
    workload: &'a Workload,
    plans: Plans,
    level: Level,
    next: usize,
}

impl<'a> Receive<'a> {
    pub(crate) fn new(workload: &'a Workload, plans: Plans, level: Level) -> Self {
        Self { workload, plans, level, next: 0 }
    }
}

impl Contender for Receive<'_> {
    type Input = Vec<Vec<u8>>;
    type Output = (Decoder, Option<Vec<u8>>, Vec<Vec<u8>>);

    fn batch(&self) -> usize {
        batch_for(self.workload.block.len())
    }

    fn prepare(&mut self) -> Vec<Vec<u8>> {
        self.next += 1;
        let packet = |(esi, symbol): (u32, &[u8])| {
            EncodingPacket::new(PayloadId::new(0, esi).expect("an ESI"), symbol.to_vec()).serialize()
        };
        self.workload.arrivals(self.next - 1).map(packet).collect()
    }

    fn run(&mut self, packets: Vec<Vec<u8>>) -> Self::Output {
        let mut decoder = Decoder::new(black_box(description(self.workload))).expect("within the limits");
        if self.plans == Plans::New {
            decoder = decoder.with_cache(&PlanCache::new());
        }
        decoder = decoder.with_level(self.level).expect("an available level");
        let object = packets.iter().find_map(|packet| decoder.decode(packet).expect("a packet of the object"));
        (decoder, object, packets)
    }

    fn check(&mut self, (_, object, _): Self::Output) {
        assert!(object.expect("two symbols more than needed") == self.workload.block, "other bytes are decoded");
    }
}

/// The peer, which takes packets as its own type, and keeps what it needs of them.
pub(crate) struct PeerReceive<'a> {
    workload: &'a Workload,
    next: usize,
}

impl<'a> PeerReceive<'a> {
    pub(crate) fn new(workload: &'a Workload) -> Self {
        Self { workload, next: 0 }
    }
}

impl Contender for PeerReceive<'_> {
    type Input = Vec<raptorq::EncodingPacket>;
    type Output = (raptorq::Decoder, Option<Vec<u8>>);

    fn batch(&self) -> usize {
        batch_for(self.workload.block.len())
    }

    fn prepare(&mut self) -> Self::Input {
        self.next += 1;
        let id = |esi| raptorq::PayloadId::new(0, esi);
        let arrivals = self.workload.arrivals(self.next - 1);
        arrivals.map(|(esi, symbol)| raptorq::EncodingPacket::new(id(esi), symbol.to_vec())).collect()
    }

    fn run(&mut self, packets: Self::Input) -> Self::Output {
        let mut decoder = raptorq::Decoder::new(black_box(peer_description(self.workload)));
        let object = packets.into_iter().find_map(|packet| decoder.decode(packet));
        (decoder, object)
    }

    fn check(&mut self, (_, object): Self::Output) {
        assert!(object.expect("two symbols more than needed") == self.workload.block, "the peer decodes other bytes");
    }
}

/// Makes all source packets of an object, and so many for repair. The process has coded an object of this size before.
pub(crate) struct Send<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) repairs: u32,
}

impl Contender for Send<'_> {
    type Input = ();
    type Output = Vec<EncodingPacket>;

    fn batch(&self) -> usize {
        batch_for(self.workload.block.len())
    }

    fn prepare(&mut self) {}

    fn run(&mut self, (): ()) -> Self::Output {
        let encoder = Encoder::new(black_box(&self.workload.block), description(self.workload)).expect("one object");
        let packets = encoder.packets(self.repairs).expect("so many packets");
        packets.collect::<Result<_, _>>().expect("the object is there")
    }

    fn check(&mut self, packets: Self::Output) {
        check(self.workload, self.repairs, packets.iter().map(EncodingPacket::data));
    }
}

/// The peer does it.
pub(crate) struct PeerSend<'a>(pub(crate) Send<'a>);

impl Contender for PeerSend<'_> {
    type Input = ();
    type Output = Vec<raptorq::EncodingPacket>;

    fn batch(&self) -> usize {
        self.0.batch()
    }

    fn prepare(&mut self) {}

    fn run(&mut self, (): ()) -> Self::Output {
        let Send { workload, repairs } = self.0;
        raptorq::Encoder::new(black_box(&workload.block), peer_description(workload)).get_encoded_packets(repairs)
    }

    fn check(&mut self, packets: Self::Output) {
        check(self.0.workload, self.0.repairs, packets.iter().map(raptorq::EncodingPacket::data));
    }
}

/// Panics unless the packets are the block and the first repair symbols.
fn check<'p>(workload: &Workload, repairs: u32, packets: impl ExactSizeIterator<Item = &'p [u8]>) {
    assert_eq!(packets.len() as u32, workload.source_symbols + repairs, "so many packets");
    assert!(packets.enumerate().all(|(esi, data)| data == workload.symbol(esi as u32)), "other packets");
}
