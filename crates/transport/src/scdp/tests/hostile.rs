//! Packets that no honest peer sends, objects of odd sizes, and drivers that call at odd times.

use super::*;
use crate::scdp::layout::Layout;
use crate::scdp::{Mode, Options, Pull};
use crate::{Arrival, Bytes};
use proptest::prelude::*;

fn arrival(header: Header, from: u16) -> Arrival<Header> {
    Arrival { header, from, trimmed: false, ce: false, returned: false }
}

pub(super) fn options() -> Options {
    Options {
        object_bytes: 1000 * SYMBOL,
        symbol_bytes: 1436,
        block_symbols: 100,
        window: 12,
        lanes: 1,
        mode: Mode::Unicast,
    }
}

pub(super) fn symbol(block: u32, esi: u32, options: Options) -> Arrival<Header> {
    let index = esi / u32::from(options.lanes.max(1));
    arrival(Header::Symbol(Symbol { block, esi, index, options, syn: true }), 0)
}

fn pull(block: u32, upto: u32, base: u32) -> Pull {
    Pull { block, upto, base, fin: false, retry: false, done: false }
}

fn drain(end: &mut impl Endpoint, now: Time) -> usize {
    std::iter::from_fn(|| end.poll_transmit(now)).take(1_000_000).count()
}

#[test]
fn options_that_make_no_sense_open_no_session() {
    let bad: [fn(&mut Options); 6] = [
        |o| o.symbol_bytes = 0,
        |o| o.block_symbols = 0,
        |o| o.window = 0,
        |o| o.lanes = 0,
        |o| o.lanes = 2,
        |o| (o.object_bytes, o.symbol_bytes, o.block_symbols) = (u64::MAX - 1, 1, 1),
    ];
    for change in bad {
        let mut o = options();
        change(&mut o);
        let mut r = Receiver::new(ScdpConfig::default(), 1, 0);
        r.handle_packet(Time(1), &symbol(0, 0, o));
        assert_eq!((r.poll_event(), r.poll_timeout(), r.pending_pulls(), drain(&mut r, Time(1))), (None, None, 0, 0));
    }
}

#[test]
fn symbols_that_no_sender_sends_are_ignored() {
    let mut r = Receiver::new(ScdpConfig::default(), 1, 0);
    r.handle_packet(Time(1), &symbol(0, 0, options()));
    let before = r.stats();
    r.handle_packet(Time(2), &symbol(0, u32::MAX, options()));
    r.handle_packet(Time(2), &arrival(Header::Pull(pull(0, 1, 0)), 0));
    let mut from_nobody = symbol(0, 1, options());
    from_nobody.from = u16::MAX;
    r.handle_packet(Time(2), &from_nobody);
    assert_eq!(r.stats(), before);
    for block in [10, 66, u32::MAX] {
        r.handle_packet(Time(2), &symbol(block, 5, options()));
    }
    assert_eq!(r.check(), 12);
    assert_eq!(r.stats().bytes_delivered, 0);
    // An ESI far ahead takes bounded memory and asks for nothing strange.
    r.handle_packet(Time(3), &symbol(0, 65_000, options()));
    assert_eq!(r.check(), 12);
    assert!(r.pending_pulls() <= 12);
}

#[test]
fn no_pull_brings_without_bound() {
    let mut s = Sender::unicast(ScdpConfig::default(), None);
    assert_eq!(drain(&mut s, Time::ZERO), 12);
    for (block, upto) in [(0, u32::MAX), (64, u32::MAX), (65, 5), (u32::MAX, 5), (u32::MAX - 1, u32::MAX)] {
        s.handle_packet(Time(1), &arrival(Header::Pull(pull(block, upto, 0)), 0));
        assert!(drain(&mut s, Time(1)) <= 64, "block {block} upto {upto}");
        s.check();
    }
    s.handle_packet(Time(1), &arrival(Header::Pull(pull(3, 1, 4)), 0));
    s.handle_packet(Time(1), &arrival(Header::Pull(pull(3, 1, 0)), 1));
    assert_eq!(drain(&mut s, Time(1)), 0);
}

#[test]
fn a_block_has_no_more_symbols_than_can_be_numbered() {
    for senders in [1, 3, u16::MAX] {
        let mut s = Sender::many_to_one(ScdpConfig::default(), Some(100), senders - 1, senders);
        let mut sent = drain(&mut s, Time::ZERO);
        for _ in 0..3000 {
            s.handle_packet(Time(1), &arrival(Header::Pull(pull(0, u32::MAX, 0)), 0));
            sent += drain(&mut s, Time(1));
        }
        assert!(sent <= (1 << 16) + 1, "{sent} of {senders}");
    }
}

#[test]
fn one_sender_alone_of_very_many_has_enough_symbols() {
    let cfg = config(|c| (c.retries, c.initial_window_many_to_one) = (4, 1));
    let mut s = Sender::many_to_one(&cfg, Some(200 * SYMBOL), 999, 1000);
    drain(&mut s, Time::ZERO);
    s.handle_packet(Time(1), &arrival(Header::Pull(pull(0, 60, 0)), 0));
    s.handle_packet(Time(1), &arrival(Header::Pull(pull(0, 120, 0)), 0));
    let mut r = Receiver::new(&cfg, 1000, 0);
    let mut n = 0;
    while let Some(t) = s.poll_transmit(Time(1)) {
        n += 1;
        r.handle_packet(Time(1), &arrival(t.header, 999));
    }
    assert!(n >= 100);
    assert_eq!(r.complete_blocks(), 1);
}

#[test]
fn a_receiver_that_gave_up_stays_quiet() {
    let mut r = Receiver::new(config(|c| c.retries = 2), 1, 0);
    r.handle_packet(Time(1), &symbol(0, 0, options()));
    while let Some(at) = r.poll_timeout() {
        r.handle_timeout(at);
        drain(&mut r, at);
    }
    assert_eq!((r.poll_event(), r.pending_pulls()), (Some(Event::Connected), 0));
    assert!(matches!(r.poll_event(), Some(Event::Failed(_))));
    r.handle_packet(Time::ZERO + Duration::from_secs(9), &symbol(0, 1, options()));
    assert_eq!((r.pending_pulls(), r.poll_timeout(), r.poll_pull(Time(1)), r.poll_event()), (0, None, None, None));
}

#[test]
fn spurious_wake_ups_change_nothing() {
    let cfg = ScdpConfig::default();
    let (mut s, mut r) = (Sender::unicast(&cfg, Some(100 * SYMBOL)), Receiver::new(&cfg, 1, 0));
    s.handle_timeout(Time::ZERO);
    r.handle_timeout(Time::ZERO);
    assert_eq!(r.poll_pull(Time::ZERO), None);
    let first = s.poll_transmit(Time::ZERO).unwrap();
    let timer = s.poll_timeout();
    s.handle_timeout(Time(5));
    r.handle_packet(Time(5), &arrival(first.header, 0));
    r.handle_timeout(Time(6));
    assert_eq!((s.poll_timeout(), s.stats().timeouts, r.stats().timeouts, r.pending_pulls()), (timer, 0, 0, 1));
    assert!(r.poll_pull(Time(6)).is_some());
    assert!(r.poll_pull(Time(6)).is_none());
}

#[test]
fn objects_of_any_size_are_cut_into_blocks() {
    let cfg = ScdpConfig::default();
    let largest = cfg.max_object_bytes();
    for object in [1, 1435, 1436, 1437, 143_600, 143_601, 1 << 40, 1436 << 33, largest] {
        let mut s = Sender::unicast(&cfg, Some(object));
        let Header::Symbol(first) = s.poll_transmit(Time::ZERO).unwrap().header else { panic!("a symbol") };
        let layout = Layout::from_options(&first.options).expect("sound");
        assert_eq!(layout.symbols, object.div_ceil(SYMBOL));
        assert_eq!(layout.symbols_before(layout.blocks), layout.symbols, "{object}");
        let mut r = Receiver::new(&cfg, 1, 0);
        r.handle_packet(Time::ZERO, &arrival(Header::Symbol(first), 0));
        assert_eq!(r.check(), 12);
    }
    let tiny = config(|c| (c.packet, c.header) = (Bytes(65), Bytes(64)));
    let mut r = Receiver::new(&tiny, 1, 0);
    let mut s = Sender::unicast(&tiny, Some(tiny.max_object_bytes()));
    r.handle_packet(Time::ZERO, &arrival(s.poll_transmit(Time::ZERO).unwrap().header, 0));
    assert_eq!(r.stats().bytes_delivered, 0);
}

#[test]
#[should_panic(expected = "max_object_bytes")]
fn an_object_too_large_to_number_is_refused() {
    drop(Sender::unicast(ScdpConfig::default(), Some(u64::MAX - 1)));
}

#[test]
fn the_largest_windows_and_numbers_of_senders_do_not_overflow() {
    let cfg = config(|c| (c.initial_window_many_to_one, c.block_symbols) = (65_535, 56_403));
    let mut s = Sender::many_to_one(&cfg, Some(1 << 30), 1, 2);
    assert_eq!(drain(&mut s, Time::ZERO), 65_535);
    let mut o = options();
    (o.window, o.block_symbols, o.lanes, o.object_bytes) = (u16::MAX, u16::MAX, u16::MAX, u64::MAX);
    let mut r = Receiver::new(&cfg, u16::MAX, 0);
    let mut a = symbol(0, 5, o);
    a.from = 5;
    r.handle_packet(Time::ZERO, &a);
    assert_eq!(r.check(), 65_535 * 65_535);
}

proptest! {
    #[test]
    fn no_sequence_of_packets_breaks_a_receiver(
        packets in proptest::collection::vec(
            (prop_oneof![0u32..4, 0u32..70, any::<u32>()], prop_oneof![0u32..300, any::<u32>()], 0u16..4, any::<bool>()),
            0..300,
        ),
        window in 1u16..30,
    ) {
        let mut r = Receiver::new(ScdpConfig::default(), 3, 0);
        let o = Options { window, lanes: 3, mode: Mode::ManyToOne, ..options() };
        for (i, (block, esi, from, trimmed)) in packets.into_iter().enumerate() {
            let now = Time::ZERO + Duration::from_us(i as u64 * 50);
            let mut a = symbol(block, esi, o);
            (a.from, a.trimmed) = (from, trimmed);
            r.handle_packet(now, &a);
            r.handle_timeout(now);
            prop_assert!(drain(&mut r, now) <= 6);
            let wanted = r.pending_pulls() > 0;
            prop_assert_eq!(r.poll_pull(now).is_some(), wanted);
            prop_assert!([0, 3 * u32::from(window)].contains(&r.check()));
        }
    }

    #[test]
    fn no_sequence_of_pulls_breaks_a_sender(
        pulls in proptest::collection::vec(
            (
                prop_oneof![0u32..4, 0u32..70, any::<u32>()],
                prop_oneof![0u32..300, any::<u32>()],
                prop_oneof![0u32..4, any::<u32>()],
                0u16..4,
                any::<(bool, bool)>(),
            ),
            0..300,
        ),
        done in 0usize..400,
    ) {
        let mut s = Sender::one_to_many(ScdpConfig::default(), Some(1000 * SYMBOL), 3);
        drain(&mut s, Time::ZERO);
        for (i, (block, upto, base, from, (fin, retry))) in pulls.into_iter().enumerate() {
            let now = Time::ZERO + Duration::from_us(i as u64 * 500);
            let p = Pull { block, upto, base, fin, retry, done: i == done };
            s.handle_packet(now, &arrival(Header::Pull(p), from));
            s.handle_timeout(now);
            prop_assert!(drain(&mut s, now) <= 66 * 64 + 3);
            s.check();
        }
    }
}
