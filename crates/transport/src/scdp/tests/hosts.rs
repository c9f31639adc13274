//! Groups with the parameters of real hosts: receivers find their windows, and who is late is detached.

use super::*;
use crate::random::mix;
use crate::scdp::{Straggler, StragglerPolicy};
use crate::{Bytes, Peer};

/// Bytes of an object of 40 blocks.
const SIZE: u64 = 40 * 100 * 1420;

/// A group of three at 1 Gbit/s, of which the second has a link of so many Mbit/s. One packet in a hundred of each third copy is lost if `lossy`: while the group is whole,
/// those to the second.
fn group(policy: StragglerPolicy, mbps: u64, lossy: bool, seed: u64) -> Pair<Connection> {
    let config = ScdpConfig { straggler: Straggler::on_hosts(policy), ..ScdpConfig::on_hosts(Bytes(1514), Bytes(94)) };
    let sender = Sender::one_to_many(&config, Some(SIZE), 3).with_repairs_for_any();
    let receivers = (0..3).map(|i| Connection::Receiver(Receiver::new(&config, 1, seed << 8 | i)));
    let mut copies = 0;
    let lose = move |n, from, _: &Transmit<Header>| {
        copies += u64::from(from == HUB);
        let to_second = from == HUB && copies % 3 == 2;
        if lossy && to_second && mix(n ^ seed << 32).is_multiple_of(100) { Fate::Drop } else { Fate::Deliver }
    };
    pair_of(std::iter::once(Connection::Sender(sender)).chain(receivers).collect(), lose).with_last_link(2, mbps)
}

fn detached(pair: &Pair<Connection>) -> Vec<(Time, Peer)> {
    let peer = |(at, e): &(Time, Event)| if let Event::PeerDetached(peer) = e { Some((*at, *peer)) } else { None };
    pair.events[HUB].iter().filter_map(peer).collect()
}

/// When each receiver had the object, in milliseconds.
fn had_at(pair: &Pair<Connection>) -> [u64; 3] {
    [1, 2, 3].map(|node| completed(pair, node).ps() / 1_000_000_000)
}

#[test]
fn who_has_a_hundredth_of_the_rate_leaves_and_nobody_is_lost() {
    for (lossy, seed) in [(false, 1), (false, 2), (true, 1), (true, 2), (true, 3)] {
        let mut p = group(StragglerPolicy::Detach, 10, lossy, seed);
        finish(&mut p);
        let [(at, 1)] = detached(&p)[..] else { panic!("{lossy}, {seed}: {:?}", detached(&p)) };
        // On its link a block takes 121 ms.
        assert!(at < Time::ZERO + Duration::from_ms(400), "{lossy}, {seed}: {at}");
        let [first, second, third] = had_at(&p);
        let since = at.ps() / 1_000_000_000;
        assert!(first.max(third) < since + 400, "{lossy}, {seed}: {:?}", had_at(&p));
        assert!((4800..5200).contains(&second), "{lossy}, {seed}: all of its link: {:?}", had_at(&p));
    }
}

#[test]
fn where_who_is_slow_is_waited_for_the_others_are_as_slow_and_nobody_is_lost() {
    for (lossy, seed) in [(false, 1), (true, 2)] {
        let mut p = group(StragglerPolicy::Wait, 10, lossy, seed);
        finish(&mut p);
        assert_eq!(detached(&p), []);
        let had_at = had_at(&p);
        assert!(had_at.iter().all(|at| (4700..5600).contains(at)), "{lossy}, {seed}: {had_at:?}");
    }
}

#[test]
fn who_has_a_tenth_of_the_rate_holds_nobody_back_by_more_than_that() {
    for (lossy, seed) in [(false, 1), (true, 1)] {
        let mut p = group(StragglerPolicy::Detach, 100, lossy, seed);
        finish(&mut p);
        assert!(had_at(&p).iter().all(|at| *at < 600), "{lossy}, {seed}: {:?}", had_at(&p));
    }
}
