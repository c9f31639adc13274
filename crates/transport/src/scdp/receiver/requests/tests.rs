use super::*;
use crate::Duration;
use crate::scdp::WindowControl;
use crate::scdp::header::{Mode, Options};

/// Requests of one session, in which receivers find their windows themselves.
struct Bench {
    options: Options,
    session: Session,
    requests: Requests,
}

impl Bench {
    /// Two blocks of twelve symbols, of `senders` senders that have pushed `window` each.
    fn new(senders: u16, window: u16) -> Self {
        let config = ScdpConfig { window_control: WindowControl::Bbr, ..ScdpConfig::default() };
        let options = Options {
            object_bytes: 24,
            symbol_bytes: 1,
            block_symbols: 12,
            window,
            lanes: senders,
            mode: Mode::ManyToOne,
        };
        let session = Session::new(&options, &config).unwrap();
        let mut requests = Requests::new(&Arc::new(config), senders, 1);
        requests.establish(Time::ZERO, &session);
        Self { options, session, requests }
    }

    /// Asks for the next symbol, if there is one to ask for: of this sender, of this block.
    fn ask(&mut self, now: Time) -> Option<(u32, usize)> {
        let (lane, asked) = self.requests.next(now, &self.session, false)?;
        self.requests.check();
        Some((lane, asked.index))
    }

    /// The `j`-th symbol of a sender's share of a block arrives.
    fn arrive(&mut self, now: Time, lane: u32, index: usize, j: u32) {
        let place = j * self.session.lanes + lane;
        self.take_in(now, lane, index, (j, place, place), false);
    }

    /// The same, or its header, of a symbol with this index at its sender, ESI and place; with what becomes of it.
    fn take_in(&mut self, now: Time, lane: u32, index: usize, symbol: (u32, u32, u32), trimmed: bool) -> Taken {
        let ((j, esi, place), block) = (symbol, self.requests.blocks().live.number(index));
        let symbol = Symbol { block, esi, index: j, options: self.options, syn: false };
        let arrival =
            Arrival { header: Header::Symbol(symbol), from: lane as Peer, trimmed, ce: false, returned: false };
        self.requests.on_symbol(now, &self.session, &arrival, &symbol, place);
        let taken = self.requests.take_in(now, &self.session, &arrival, &symbol, place, false);
        self.requests.lanes_mut().refresh(lane);
        self.requests.check();
        taken
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

#[test]
fn senders_are_asked_for_their_shares_in_turn_and_then_for_the_next_block() {
    let mut bench = Bench::new(3, 2);
    assert_eq!(bench.ask(at(0)), None, "all windows are full");
    for j in 0..2 {
        (0..3).for_each(|lane| bench.arrive(at(1), lane, 0, j));
        let asked = [0, 1, 2].map(|_| bench.ask(at(1)));
        assert_eq!(asked, [Some((0, 0)), Some((1, 0)), Some((2, 0))]);
    }
    bench.arrive(at(2), 1, 0, 2);
    let more: Vec<_> = std::iter::from_fn(|| bench.ask(at(2))).collect();
    assert!(more.contains(&(1, 1)) && more.iter().all(|asked| asked.1 == 1), "{more:?}");
}

#[test]
fn a_block_that_is_asked_of_one_alone_waits_for_that_one() {
    let mut bench = Bench::new(3, 2);
    bench.requests.restart(0, Some(2));
    bench.requests.check();
    assert_eq!(bench.ask(at(0)), None, "what was asked of the others is still on its way");
    bench.arrive(at(1), 0, 0, 1);
    assert_eq!([bench.ask(at(1)), bench.ask(at(1))], [Some((0, 1)); 2]);
    assert_eq!(bench.requests.requested_from_alone(2), [0]);
    bench.arrive(at(1), 2, 0, 0);
    assert_eq!(bench.ask(at(1)), Some((2, 0)));
}

#[test]
fn a_symbol_counts_once_whole_and_for_a_block_that_needs_it() {
    let mut bench = Bench::new(2, 3);
    assert_eq!(bench.take_in(at(1), 0, 0, (0, 0, 0), false), Taken::Counted(0));
    assert_eq!(bench.take_in(at(1), 0, 0, (0, 0, 0), false), Taken::Known);
    assert_eq!(bench.take_in(at(1), 1, 0, (0, 1, 1), true), Taken::Trimmed);
    assert_eq!(bench.take_in(at(1), 0, 0, (6, 99, 12), false), Taken::Counted(0), "a repair symbol");
    assert_eq!(bench.take_in(at(1), 1, 0, (6, 99, 13), false), Taken::Surplus, "the same, of another sender");
    assert_eq!(bench.take_in(at(1), 0, 1, (0, 0, 0), false), Taken::Counted(1), "its block is begun");
    assert_eq!(bench.take_in(at(1), 0, 99, (0, 0, 0), false), Taken::Known, "there is no room for its block");
    bench.requests.complete(1);
    assert_eq!(bench.take_in(at(1), 0, 1, (1, 2, 2), false), Taken::OfCompleteBlock);
    bench.requests.restart(0, Some(1));
    assert_eq!(bench.take_in(at(1), 0, 0, (2, 4, 4), false), Taken::Surplus);
    bench.requests.check();
}

#[test]
fn what_a_silent_sender_owes_is_lost_and_it_is_asked_for_nothing() {
    let mut bench = Bench::new(2, 3);
    let silence = [2, 4].map(|ms| bench.requests.on_timeout(at(ms), 0));
    bench.requests.check();
    assert_eq!(silence, [Silence::Repeat, Silence::LeaveOut]);
    assert_eq!((bench.requests.lanes().at(0).credits.outstanding(), bench.ask(at(4))), (0, None));
    bench.arrive(at(5), 1, 0, 0);
    assert_eq!(bench.ask(at(5)), Some((1, 0)));
}

#[test]
fn a_repeated_pull_says_what_was_asked_for_and_its_answer_what_is_lost() {
    let mut bench = Bench::new(1, 4);
    assert_eq!(bench.requests.retry(0), None, "none is due");
    bench.requests.on_timeout(at(2), 0);
    assert_eq!(bench.requests.retry(0), Some(Asked { index: 0, upto: 4, fin: false, more: 0 }));
    bench.arrive(at(3), 0, 0, 4);
    assert_eq!(bench.requests.lanes().at(0).credits.outstanding(), 0, "all four are lost");
}

#[test]
fn who_sent_wrong_symbols_owes_nothing_and_its_blocks_are_named() {
    let mut bench = Bench::new(2, 3);
    bench.arrive(at(1), 0, 0, 0);
    assert_eq!(bench.requests.exclude(0), Some(vec![0]));
    assert_eq!((bench.requests.exclude(0), bench.requests.lanes().at(0).credits.outstanding()), (None, 0));
    bench.requests.check();
}

#[test]
fn what_was_asked_of_a_slow_sender_is_taken_over_once_there_is_nothing_else_to_ask_for() {
    let mut bench = Bench::new(2, 6);
    // Sender 0 answers within a millisecond, sender 1 not at all.
    let (mut ms, mut coming) = (0, (0..6).map(|j| (0, j)).collect::<Vec<_>>());
    while !coming.is_empty() {
        ms += 1;
        coming.drain(..).for_each(|(index, j)| bench.arrive(at(ms), 0, index, j));
        while let Some((lane, index)) = bench.ask(at(ms)) {
            assert_eq!(lane, 0);
            coming.push((index, bench.requests.blocks().live.at(index).lane(0).requested - 1));
        }
    }
    assert!(bench.requests.lanes().at(0).credits.left() > 0, "it could send more");
    let due = bench.requests.next_take_over(&bench.session, false).expect("it takes over");
    assert!(due > at(ms));
    bench.requests.take_over(at(ms), &bench.session, false);
    assert_eq!(bench.ask(at(ms)), None, "not yet");
    bench.requests.take_over(due, &bench.session, false);
    bench.requests.check();
    assert_eq!(bench.ask(due), Some((0, 0)), "in its place");
}
