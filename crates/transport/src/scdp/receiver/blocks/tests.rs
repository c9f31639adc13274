use super::*;
use crate::scdp::header::{Mode, Options};

const FULL: bool = true;

/// Ten blocks of ten symbols, from `lanes` senders that push `window` each.
fn session(lanes: u16, window: u16) -> Session {
    let options = Options { object_bytes: 100, symbol_bytes: 1, block_symbols: 10, window, lanes, mode: Mode::Unicast };
    Session::new(&options, &ScdpConfig::default()).unwrap()
}

/// The same, when the first symbol has arrived.
fn blocks(session: &Session) -> Blocks {
    let mut blocks = Blocks::new(&ScdpConfig { overhead: 2, ..ScdpConfig::default() });
    blocks.establish(session);
    let mut asked = 0;
    for lane in 0..session.lanes {
        blocks.push_initial(session, lane, |blocks, index, count| {
            blocks.live.request(index, lane, count, asked);
            asked += u64::from(count);
        });
    }
    blocks
}

#[test]
fn what_is_in_flight_is_not_needed_and_blocks_are_begun_as_the_window_reaches_them() {
    let session = session(1, 12);
    let mut blocks = blocks(&session);
    assert_eq!((blocks.live.len(), blocks.wanted(false), blocks.wanted(FULL)), (2, 88, 8));
    assert_eq!(blocks.live.check(1), [12]);
    blocks.live.request(1, 0, 3, 12);
    assert_eq!(blocks.wanted(FULL), 5);
    blocks.reach(3, &session);
    assert_eq!((blocks.live.len(), blocks.wanted(FULL), blocks.wanted(false)), (4, 25, 85));
    assert_eq!(blocks.live.give_up(1, 0), 5);
    assert_eq!(blocks.wanted(FULL), 30);
}

#[test]
fn an_answer_to_a_repeated_pull_shows_that_what_was_asked_before_is_lost() {
    let session = session(1, 12);
    let mut blocks = blocks(&session);
    assert_eq!(blocks.live.suspect_loss(0), Some(0));
    assert!(!blocks.live.confirms_loss(0, 0, 9) && blocks.live.confirms_loss(0, 0, 10));
    blocks.live.note(0, 10);
    assert!(!blocks.live.arrived(0, 0, 10), "it was not asked for");
    assert_eq!((blocks.live.confirm_loss(0), blocks.live.check(1)), (12, vec![0]));
    assert_eq!(blocks.live.suspect_loss(0), None);
}

#[test]
fn blocks_complete_in_any_order_and_are_released_in_order() {
    let session = session(1, 20);
    let mut blocks = blocks(&session);
    let finish = |blocks: &mut Blocks, index: usize| {
        blocks.live.give_up(index, 0);
        blocks.live.complete(index);
    };
    finish(&mut blocks, 1);
    assert_eq!((blocks.release(&session, false), blocks.live.base(), blocks.live.first_incomplete()), (false, 0, 0));
    finish(&mut blocks, 0);
    assert_eq!(blocks.live.first_incomplete(), 2);
    blocks.live.confirm(0);
    assert_eq!((blocks.release(&session, true), blocks.live.base()), (false, 1), "the other is to be checked");
    assert!(
        !blocks.release(&session, false)
            && blocks.live.base() == 2
            && blocks.is_over(1)
            && blocks.live.has_arrived(1, 99)
    );
    for index in 0..8 {
        blocks.reach(index, &session);
        finish(&mut blocks, index);
    }
    assert!(blocks.release(&session, false));
    assert_eq!((blocks.symbols(&session), blocks.wanted(false)), (100, 0));
}

#[test]
fn no_more_blocks_are_in_progress_than_there_is_room_for() {
    let options =
        Options { object_bytes: 1000, symbol_bytes: 1, block_symbols: 1, window: 1, lanes: 1, mode: Mode::OneToMany };
    let session = Session::new(&options, &ScdpConfig::default()).unwrap();
    let mut blocks = blocks(&session);
    assert!(blocks.has_room(LIVE_BLOCKS, false) && !blocks.has_room(LIVE_BLOCKS + 1, false));
    assert!(blocks.has_room(0, true) && !blocks.has_room(1, true), "the application is to take some first");
    blocks.reach(LIVE_BLOCKS - 1, &session);
    assert!(!blocks.may_open(false));
}

#[test]
fn a_symbol_is_wanted_once_of_a_block_that_there_is_room_for_and_from_those_it_is_made_of() {
    let session = session(2, 5);
    let mut blocks = blocks(&session);
    let options =
        Options { object_bytes: 100, symbol_bytes: 1, block_symbols: 10, window: 5, lanes: 2, mode: Mode::Unicast };
    let wants = |blocks: &Blocks, block, lane, esi, full| {
        let symbol = Symbol { block, esi, index: esi / 2, options, syn: false };
        blocks.wants(&symbol, lane, esi, full)
    };
    assert!(wants(&blocks, 0, 0, 4, FULL) && wants(&blocks, 1, 0, 0, false) && !wants(&blocks, 1, 0, 0, FULL));
    blocks.live.note(0, 4);
    assert!(!wants(&blocks, 0, 0, 4, false));
    blocks.live.restart(0, Some(1));
    assert!(!wants(&blocks, 0, 0, 2, false) && wants(&blocks, 0, 1, 3, false));
}

#[test]
fn of_blocks_that_the_group_has_passed_only_repair_symbols_are_to_come() {
    let session = session(1, 10);
    let mut blocks = blocks(&session);
    assert_eq!(blocks.begin(2, &session, FULL), None);
    assert_eq!(blocks.begin(2, &session, false), Some(2));
    assert_eq!([0, 1, 2].map(|index| blocks.live.at(index).lane(0).requested), [10, 10, 0]);
    assert_eq!(blocks.wanted(FULL), 20, "it still needs ten of each");
    blocks.forget_passed();
    blocks.reach(3, &session);
    assert_eq!(blocks.live.at(3).lane(0).requested, 0);
}

#[test]
fn who_joins_late_begins_there_and_comes_back_for_the_rest() {
    let session = session(1, 20);
    let mut blocks = blocks(&session);
    for index in 0..2 {
        blocks.live.give_up(index, 0);
    }
    blocks.live.complete(0);
    assert!(blocks.may_join_at(7));
    assert_eq!(blocks.join_at(7, Some(&session)), [1], "0 is complete");
    assert!(!blocks.may_join_at(8), "once");
    assert_eq!((blocks.live.base(), blocks.wanted(false), blocks.is_of_others(3)), (7, 30, true));
    for index in 0..3 {
        blocks.reach(index, &session);
        blocks.live.complete(index);
    }
    assert!(blocks.release(&session, false) && blocks.begin_second_turn(&session));
    assert_eq!((blocks.live.base(), blocks.wanted(false), blocks.is_past(7)), (0, 60, true));
    assert!(!blocks.release(&session, false) && blocks.live.base() == 1);
    for index in 0..6 {
        blocks.reach(index, &session);
        blocks.live.complete(index);
    }
    assert!(blocks.release(&session, false) && !blocks.begin_second_turn(&session));
}
