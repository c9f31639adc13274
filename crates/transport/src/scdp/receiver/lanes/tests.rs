use super::arrived::Seen;
use super::*;
use crate::Bytes;
use crate::scdp::header::{Mode, Options};

/// `senders` senders with a window of twelve each, of which four are on their way.
fn lanes(senders: u16) -> Lanes {
    let config = ScdpConfig { retries: 3, ..ScdpConfig::default() };
    let options = Options {
        object_bytes: 1000,
        symbol_bytes: 1,
        block_symbols: 10,
        window: 12,
        lanes: senders,
        mode: Mode::ManyToOne,
    };
    let session = Session::new(&options, &config).unwrap();
    let mut lanes = Lanes::new(Arc::new(config), senders, 1);
    lanes.establish(&session);
    (0..u32::from(senders)).for_each(|lane| lanes.begin(Time::ZERO, lane, &session, 4));
    lanes
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

#[test]
fn credits_are_the_sum_of_all_whatever_happens() {
    let mut lanes = lanes(3);
    assert_eq!(lanes.check(), 3 * 8);
    assert_eq!((lanes.spend(at(1), 1), lanes.check()), (4, 23));
    lanes.no_longer_waits(1, 2);
    lanes.on_lost(2, 3);
    assert_eq!((lanes.check(), lanes.usable_credits()), (28, 28));
    lanes.exclude(2);
    assert_eq!((lanes.check(), lanes.usable_credits()), (28, 17));
}

#[test]
fn senders_take_turns_from_the_last_that_was_asked() {
    let mut lanes = lanes(3);
    lanes.spend(at(0), 1);
    assert_eq!(lanes.in_turn().collect::<Vec<_>>(), [2, 0, 1]);
    lanes.spend(at(0), 2);
    assert_eq!(lanes.in_turn().collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn one_of_several_is_left_out_when_it_is_silent_and_the_last_one_only_when_retries_are_exhausted() {
    let mut lanes = lanes(2);
    let mut silence = |lane, times: u64| (0..times).map(|n| lanes.on_timeout(at(n), lane)).collect::<Vec<_>>();
    assert_eq!(silence(0, 2), [Silence::Repeat, Silence::LeaveOut]);
    assert_eq!(silence(1, 4), [Silence::Repeat, Silence::Repeat, Silence::Repeat, Silence::GiveUp]);
}

#[test]
fn who_has_withheld_fewer_blocks_is_asked_first_and_then_the_next_in_turn() {
    let mut lanes = lanes(3);
    assert_eq!([0, 1, 2].map(|last| lanes.another(last)), [Some(1), Some(2), Some(0)]);
    assert!(lanes.at_mut(1).withholds() && !lanes.at_mut(1).withholds());
    assert_eq!([0, 1, 2].map(|last| lanes.another(last)), [Some(2), Some(2), Some(0)]);
}

#[test]
fn once_only_silent_senders_remain_they_are_asked_again() {
    let mut lanes = lanes(3);
    (0..2).for_each(|n| _ = lanes.on_timeout(at(n), 1));
    assert!(lanes.exclude(0) && !lanes.exclude(0) && !lanes.exclude(7));
    assert_eq!(lanes.another(0), Some(2));
    lanes.exclude(2);
    assert_eq!(lanes.another(2), Some(1), "it was left out");
    assert_eq!((lanes.usable_credits() > 0, lanes.silent_since()), (true, Some(at(0))));
}

/// Two senders as on hosts, each of which was asked for a symbol at time zero.
fn two_on_hosts() -> Lanes {
    let pull_timeout = ScdpConfig::default().pull_timeout;
    let config = ScdpConfig { pull_timeout, ..ScdpConfig::on_hosts(Bytes(1514), Bytes(94)) };
    let options =
        Options { object_bytes: 1000, symbol_bytes: 1, block_symbols: 10, window: 12, lanes: 2, mode: Mode::ManyToOne };
    let session = Session::new(&options, &config).unwrap();
    let mut lanes = Lanes::new(Arc::new(config), 2, 1);
    lanes.establish(&session);
    for lane in 0..2 {
        lanes.at_mut(lane).credits.ask(1);
        lanes.at_mut(lane).credits.on_asked(Time::ZERO, 0, 1);
        lanes.begin(Time::ZERO, lane, &session, 1);
    }
    lanes
}

/// Its symbol arrives.
fn answers(lanes: &mut Lanes, lane: u32, taken: Duration) {
    let seen = Seen::Whole;
    let symbol = Arrived { block: 0, index: 0, asked_as: 0, seen, is_repeated: false, is_of_others: false };
    lanes.on_symbol(Time::ZERO + taken, lane, &symbol);
}

#[test]
fn a_sender_from_which_only_headers_come_waits_and_is_slow_and_no_other() {
    let mut lanes = two_on_hosts();
    (0..2).for_each(|lane| answers(&mut lanes, lane, Duration::from_ms(10)));
    for n in 0..1_000 {
        let now = at(10) + Duration::from_us(100) * n;
        lanes.at_mut(0).pace_pulls(now, true);
        lanes.at_mut(1).pace_pulls(now, false);
    }
    assert!(lanes.is_slow(0) && !lanes.is_slow(1));
    lanes.spend(at(200), 0);
    lanes.spend(at(200), 1);
    lanes.ask_paces(at(200));
    let until = lanes.paced_until().expect("the first waits");
    assert_eq!([0, 1].map(|lane| lanes.in_use(lanes.at(lane))), [false, true]);
    lanes.on_time(until);
    assert_eq!((lanes.paced_until(), lanes.in_use(lanes.at(0))), (None, true));
}

#[test]
fn a_sender_that_takes_twice_as_long_as_the_fastest_and_the_timeout_is_slow() {
    let mut lanes = two_on_hosts();
    let pull_timeout = lanes.config.pull_timeout;
    answers(&mut lanes, 0, Duration::from_ms(10));
    assert!(!lanes.is_slow(0) && !lanes.is_slow(1) && !lanes.is_slow(9), "nothing is known");
    answers(&mut lanes, 1, Duration::from_ms(20) + pull_timeout + Duration(1));
    assert!(!lanes.is_slow(0) && lanes.is_slow(1));
    lanes.on_timeout(at(500), 0);
    assert!(lanes.is_slow(0), "it does not answer at all");
}

#[test]
fn a_probe_is_answered_where_silence_ends_the_session_and_nothing_is_asked_for() {
    let answer = |give_up: bool, may_stall: bool, outstanding: u32, outright: bool| {
        let mut lanes = lanes(2);
        lanes.config = Arc::new(ScdpConfig {
            give_up_after: give_up.then_some(Duration::from_secs(1)),
            ..ScdpConfig::clone(&lanes.config)
        });
        lanes.no_longer_waits(1, 4 - outstanding);
        lanes.on_useless(1, outright, may_stall);
        assert_eq!(lanes.at_mut(0).take_message(), None, "it was the other's");
        lanes.at_mut(1).take_message()
    };
    assert_eq!([answer(true, false, 0, false), answer(false, true, 0, false)], [Some(Message::Keepalive); 2]);
    assert_eq!([answer(false, false, 0, true), answer(true, false, 1, false)], [None; 2]);
    assert_eq!(answer(true, false, 1, true), Some(Message::Keepalive), "it carries the options, as probes do");
}
