//! Blocks that the application checks: wrong ones are fetched again from one sender, until it is known which sender sends wrong symbols.

use super::codec::{PLANS, Symbols, object, short};
use super::*;
use crate::scdp::{RaptorQDecoder, Symbol};
use crate::{Arrival, Peer};

/// A receiver and its senders, some of which send wrong symbols, on a network without delay that loses each `loss`-th symbol.
struct Fetch {
    receiver: Receiver,
    senders: Vec<Sender>,
    symbols: Symbols,
    object: Vec<u8>,
    block_bytes: usize,
    wrong: Vec<bool>,
    dead: Vec<bool>,
    /// The senders that withhold blocks requested from them alone, the part of the symbols that they send (one in `n`; 0: none), and whether
    /// they send the headers of the rest.
    withholds: Option<(Vec<usize>, u64, bool)>,
    /// The last header that a withholding sender has sent of a symbol that it withheld, and the sender. It repeats it with other symbols' numbers,
    /// however few symbols its receiver is granted.
    header: Option<(Peer, Symbol)>,
    loss: u64,
    sent: u64,
    now: Time,
    right: BTreeSet<u32>,
    excluded: Vec<Peer>,
    withheld: Vec<Peer>,
}

impl Fetch {
    fn new(bytes: u64, wrong: &[bool], loss: u64) -> Self {
        let config = short(|c| c.block_symbols = 20);
        let object = object(bytes);
        let decoder = RaptorQDecoder::new(super::codec::SHORT as usize, PLANS.clone()).keeping_evidence();
        let count = wrong.len() as u16;
        let receiver = Receiver::new(&config, count, 1).with_decoder(Box::new(decoder)).with_checks();
        let senders = (0..count).map(|n| Sender::many_to_one(&config, Some(bytes), n, count)).collect();
        Self {
            receiver,
            senders,
            symbols: Symbols::new(&config, &object),
            object,
            block_bytes: 20 * super::codec::SHORT as usize,
            wrong: wrong.to_vec(),
            dead: vec![false; wrong.len()],
            withholds: None,
            header: None,
            loss,
            sent: 0,
            now: Time::ZERO,
            right: BTreeSet::new(),
            excluded: Vec::new(),
            withheld: Vec::new(),
        }
    }

    fn deliver(&mut self) -> bool {
        let mut moved = false;
        while let Some(t) = self.receiver.poll_transmit(self.now).or_else(|| self.receiver.poll_pull(self.now)) {
            moved = true;
            let arrival = Arrival { header: t.header, from: 0, trimmed: false, ce: false, returned: false };
            self.senders[usize::from(t.to)].handle_packet(self.now, &arrival);
        }
        for n in 0..self.senders.len() {
            while let Some(t) = self.senders[n].poll_transmit(self.now) {
                moved = true;
                self.sent += 1;
                let Header::Symbol(symbol) = t.header else { continue };
                if self.dead[n] || self.loss > 0 && self.sent.is_multiple_of(self.loss) {
                    continue;
                }
                let mut bytes = self.symbols.get(symbol.block, symbol.esi);
                bytes[0] ^= u8::from(self.wrong[n]);
                let alone = self.receiver.sole_sender(symbol.block) == Some(n as Peer);
                let withholds = self.withholds.as_ref().filter(|(rogues, one_in, _)| {
                    alone && rogues.contains(&n) && (*one_in == 0 || !self.sent.is_multiple_of(*one_in))
                });
                if withholds.is_some_and(|(_, _, trims)| !trims) {
                    continue;
                }
                let trimmed = withholds.is_some();
                if trimmed {
                    self.header = Some((n as Peer, symbol));
                }
                let arrival = Arrival { header: t.header, from: n as Peer, trimmed, ce: false, returned: false };
                self.receiver.handle_payload(self.now, &arrival, if trimmed { &[] } else { &bytes });
                self.check();
            }
        }
        if !moved {
            self.repeat_header();
        }
        moved
    }

    fn repeat_header(&mut self) {
        let Some((from, symbol)) = &mut self.header else { return };
        if self.receiver.sole_sender(symbol.block) == Some(*from) {
            (symbol.esi, symbol.index) = (symbol.esi + 1, symbol.index + 1);
            let arrival =
                Arrival { header: Header::Symbol(*symbol), from: *from, trimmed: true, ce: false, returned: false };
            self.receiver.handle_payload(self.now, &arrival, &[]);
        }
    }

    fn check(&mut self) {
        self.receiver.check();
        while let Some(event) = self.receiver.poll_event() {
            if let Event::PeerWithholds(sender) = event {
                self.withheld.push(sender);
            }
            let Event::BlockReady(block) = event else { continue };
            let bytes = self.receiver.take_block(block);
            let start = block as usize * self.block_bytes;
            if bytes == self.object[start..start + bytes.len()] {
                assert!(self.right.insert(block), "confirmed once");
                self.receiver.confirm(self.now, block);
            } else if let Some(guilty) = self.receiver.sole_sender(block) {
                self.excluded.push(guilty);
                self.receiver.exclude(self.now, guilty);
                let Some(other) = self.receiver.another_sender(guilty) else { return };
                self.receiver.reject(self.now, block, other);
            } else {
                let evidence = self.receiver.decoder().expect("there is one").evidence(block);
                assert!(evidence.source.len() + evidence.repair.len() >= 20);
                let other = self.receiver.another_sender(0).expect("one answers");
                self.receiver.reject(self.now, block, other);
            }
        }
    }

    fn run(&mut self) {
        for _ in 0..100_000 {
            if self.right.len() * self.block_bytes == self.object.len() {
                return;
            }
            let pause = if self.deliver() { 1 } else { 100 };
            self.now += Duration::from_us(pause);
            self.receiver.handle_timeout(self.now);
            self.senders.iter_mut().for_each(|sender| sender.handle_timeout(self.now));
        }
        panic!("{}", self.receiver.waiting_for());
    }
}

#[test]
fn who_sends_wrong_symbols_is_excluded_and_the_others_deliver() {
    for wrong in [[true, false, false], [false, true, false], [false, false, true], [true, false, true]] {
        for loss in [0, 7] {
            let mut fetch = Fetch::new(160 * 150, &wrong, loss);
            fetch.run();
            assert_eq!(fetch.right.len(), 150, "{wrong:?} {loss}");
            assert!(fetch.excluded.iter().all(|&guilty| wrong[usize::from(guilty)]), "{:?}", fetch.excluded);
        }
    }
}

#[test]
fn a_block_that_is_asked_of_one_is_passed_on_when_that_one_is_silent() {
    let mut fetch = Fetch::new(160 * 20, &[true, false, false], 0);
    while (0..20).all(|block| fetch.receiver.sole_sender(block) != Some(1)) {
        fetch.deliver();
    }
    fetch.dead[1] = true;
    fetch.run();
    assert_eq!(fetch.right.len(), 20);
}

#[test]
fn a_block_that_one_withholds_is_asked_of_another_however_much_it_says() {
    let mut named = 0;
    // Headers alone; a symbol now and then; both.
    for (one_in, trims) in [(0, true), (20, false), (20, true), (1000, true)] {
        for loss in [0, 11] {
            let mut fetch = Fetch::new(160 * 40, &[true, false, false], loss);
            fetch.withholds = Some((vec![1], one_in, trims));
            fetch.run();
            assert_eq!(fetch.right.len(), 40, "{one_in} {trims} {loss}");
            // The other senders have sent it in time, or are left out because they are silent.
            let first = fetch.receiver.another_sender(0);
            assert!(one_in > 0 || loss > 0 || first == Some(2), "who has withheld a block is asked last");
            // A sender that is silent for long is passed over for that.
            let told = &fetch.withheld;
            assert!(told.is_empty() || *told == [1], "{one_in} {trims} {loss}: {told:?}");
            named += told.len();
        }
    }
    assert!(named > 0, "nobody was told");
}

#[test]
fn who_is_slow_is_waited_for_if_the_others_send_nothing() {
    let mut fetch = Fetch::new(160 * 4, &[true, false, false], 0);
    fetch.withholds = Some((vec![1, 2], 4, false));
    fetch.run();
    assert_eq!(fetch.right.len(), 4);
}

/// Delivers all that can be delivered; returns the receiver's events.
fn moved(fetch: &mut Fetch) -> Vec<Event> {
    let mut events = Vec::new();
    for _ in 0..1000 {
        while let Some(t) = fetch.receiver.poll_transmit(fetch.now).or_else(|| fetch.receiver.poll_pull(fetch.now)) {
            let arrival = Arrival { header: t.header, from: 0, trimmed: false, ce: false, returned: false };
            fetch.senders[usize::from(t.to)].handle_packet(fetch.now, &arrival);
        }
        for (n, sender) in fetch.senders.iter_mut().enumerate() {
            while let Some(t) = sender.poll_transmit(fetch.now) {
                let Header::Symbol(symbol) = t.header else { continue };
                let arrival = Arrival { header: t.header, from: n as Peer, trimmed: false, ce: false, returned: false };
                let bytes = fetch.symbols.get(symbol.block, symbol.esi);
                fetch.receiver.handle_payload(fetch.now, &arrival, &bytes);
            }
        }
        events.extend(std::iter::from_fn(|| fetch.receiver.poll_event()));
    }
    events
}

#[test]
fn of_several_senders_nothing_is_complete_before_it_is_confirmed() {
    let mut fetch = Fetch::new(160 * 3, &[false, false], 0);
    let blocks = [0, 1, 2].map(Event::BlockReady);
    assert_eq!(moved(&mut fetch), [&[Event::Connected], &blocks[..]].concat());
    assert_eq!(fetch.receiver.complete_blocks(), 0);
    for block in [2, 0, 1, 1] {
        fetch.receiver.confirm(fetch.now, block);
    }
    assert_eq!(fetch.receiver.complete_blocks(), 3);
    assert!(matches!(fetch.receiver.poll_event(), Some(Event::Completed { .. })));
}

#[test]
fn of_one_sender_few_blocks_are_complete_and_not_confirmed() {
    let mut fetch = Fetch::new(160 * 300, &[false], 0);
    let mut blocks: Vec<u32> = Vec::new();
    for confirmed in 0..300 {
        for event in moved(&mut fetch) {
            match event {
                Event::BlockReady(block) => blocks.push(block),
                Event::Completed { .. } => assert_eq!(blocks.len(), 300),
                _ => {}
            }
        }
        assert!(blocks.len() <= confirmed + 32 + 65, "{} of which {confirmed} are confirmed", blocks.len());
        let block = blocks[confirmed];
        assert!(!fetch.receiver.take_block(block).is_empty());
        fetch.receiver.confirm(fetch.now, block);
    }
    assert_eq!(fetch.receiver.complete_blocks(), 300);
}
