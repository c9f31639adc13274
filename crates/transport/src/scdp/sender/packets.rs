//! The packets of a sender: their sizes and priorities.

use super::numbering::Numbering;
use super::stream::Due;
use crate::demotion::Demotion;
use crate::scdp::config::ScdpConfig;
use crate::scdp::header::{Header, Mode, Options, Symbol};
use crate::scdp::layout::Layout;
use crate::{GROUP, Peer, Transmit};

/// How symbols become packets.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    options: Options,
    symbol_size: u32,
    /// Size of the packet with the object's last source symbol, which is sent without its padding (RFC 6330 §4.4.2).
    last_size: u32,
    header_size: u32,
    /// Symbols are ECN-capable.
    ect: bool,
    demotion: Demotion,
    bytes_sent: u64,
}

impl Packets {
    pub(super) fn new(config: &ScdpConfig, options: Options, layout: &Layout) -> Self {
        let Options { object_bytes, mode, .. } = options;
        let last = layout.last_symbol_bytes(object_bytes, u64::from(options.symbol_bytes));
        Self {
            options,
            symbol_size: config.packet.0 as u32,
            last_size: (config.header.0 + last) as u32,
            header_size: config.header.0 as u32,
            ect: config.ecn && (mode != Mode::OneToMany || config.ecn_in_groups),
            demotion: Demotion::new(&config.priority_thresholds, config.priority_by, object_bytes),
            bytes_sent: 0,
        }
    }

    /// Those for one receiver of a group that is sent the rest alone.
    pub(super) fn for_one(&self) -> Self {
        Self { options: Options { mode: Mode::Unicast, ..self.options }, ..self.clone() }
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// A symbol for all receivers. Its priority falls with the bytes sent (multi-level feedback queueing, §IV-C).
    #[inline]
    pub(super) fn symbol(&mut self, due: Due, numbering: &Numbering) -> Transmit<Header> {
        let to = if self.options.mode == Mode::OneToMany { GROUP } else { 0 };
        let Due { block, index, urgent, syn } = due;
        let priority = if syn || urgent { 0 } else { self.demotion.priority(self.bytes_sent) };
        let esi = numbering.esi(block, index);
        let size = if numbering.layout().is_last(block, esi) { self.last_size } else { self.symbol_size };
        self.bytes_sent += u64::from(size - self.header_size);
        let header = Header::Symbol(Symbol { block, esi, index, options: self.options, syn });
        Transmit { priority, ect: self.ect, pushed: syn, ..Transmit::data(header, to, size, self.header_size) }
    }

    /// A symbol that one receiver is to answer. It carries the options like the initial window, but does not belong to it.
    pub(super) fn probe(&mut self, due: Due, numbering: &Numbering, to: Peer) -> Transmit<Header> {
        Transmit { to, pushed: false, ..self.symbol(due, numbering) }
    }

    /// Tells a receiver that it was given up.
    pub(super) fn given_up(&self, to: Peer) -> Transmit<Header> {
        Transmit::control(Header::GivenUp, to, self.header_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scdp::config::Repair;

    #[test]
    fn the_last_source_symbol_is_short_and_what_is_urgent_is_not_demoted() {
        let config = ScdpConfig::default();
        let bytes = 20 * config.symbol_bytes() + 1;
        let options = Options {
            object_bytes: bytes,
            symbol_bytes: config.symbol_bytes() as u16,
            block_symbols: 100,
            window: 12,
            lanes: 1,
            mode: Mode::OneToMany,
        };
        let layout = Layout::from_options(&options).expect("sound");
        let numbering = Numbering::new(layout, 0, 1, Repair::Partitioned);
        let mut packets = Packets::new(&config, options, &layout);
        let due = |index, urgent| Due { block: 0, index, urgent, syn: false };
        let sent: Vec<_> = (0..21).map(|index| packets.symbol(due(index, false), &numbering)).collect();
        assert_eq!((sent[19].size, sent[20].size, sent[0].to), (1500, 65, GROUP));
        assert_eq!((sent[0].priority, sent[20].priority), (0, 1), "after 10 kB");
        let mut alone = packets.for_one();
        assert_eq!(alone.symbol(due(21, true), &numbering).priority, 0);
        let next = alone.symbol(due(22, false), &numbering);
        assert_eq!((next.priority, next.to, next.size), (1, 0, 1500), "what was sent to all counts");
        let probe = packets.probe(Due { syn: true, ..due(0, true) }, &numbering, 3);
        assert_eq!((probe.to, probe.pushed, probe.priority), (3, false, 0));
    }
}
