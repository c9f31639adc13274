//! Groups whose receivers have part of the object from an earlier session.

use super::*;
use proptest::prelude::*;

const BLOCK: u64 = 100 * SYMBOL;

/// A group whose receivers have these numbers of blocks, of an object of 100 symbols to a block.
fn group(
    config: &ScdpConfig,
    blocks: u64,
    first: &[u32],
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let sender = Sender::one_to_many(config, Some(blocks * BLOCK), first.len() as u16);
    let receivers = first.iter().zip(0..).map(|(&first, seed)| Receiver::new(config, 1, seed).with_first(first));
    let nodes = [Connection::Sender(sender)].into_iter().chain(receivers.map(Connection::Receiver));
    pair_of(nodes.collect(), policy)
}

#[test]
fn a_group_goes_on_from_what_the_one_has_that_has_the_least() {
    // Beyond the blocks that may be in progress at once, within them, within the pushed window, all but the last block, and nothing.
    for first in
        [[150, 150, 150], [150, 120, 199], [100, 30, 100], [199, 199, 199], [200, 200, 200], [0, 150, 150], [0, 0, 1]]
    {
        let mut p = group(&ScdpConfig::default(), 200, &first, deliver);
        finish(&mut p);
        let least = u64::from(first.into_iter().min().expect("three")).min(199);
        let pushed = if least == 0 { 0 } else { 12 };
        let sent = stats(&p, 0).data_sent - stats(&p, 0).retransmitted;
        assert_eq!(sent, pushed + (200 - least) * 100, "{first:?}");
        // A receiver that waits for long is probed now and then.
        assert!(stats(&p, 0).retransmitted < 20, "{first:?}: {}", stats(&p, 0).retransmitted);
        assert!(completed(&p, 1) < PACKET * (40 + (200 - least) * 100), "{first:?}: {}", completed(&p, 1));
        for node in 1..=3 {
            assert_eq!(stats(&p, node).timeouts, 0, "{first:?}, node {node}");
        }
    }
}

#[test]
fn who_waits_for_others_shows_that_it_is_there() {
    // No end may be silent for longer than 50 ms, and the second receiver has 100 blocks to catch up: 120 ms.
    let config = config(|c| c.give_up_after = Some(Duration::from_ms(50)));
    let mut p = group(&config, 120, &[110, 10], deliver);
    finish(&mut p);
    assert_eq!(stats(&p, 0).data_sent - stats(&p, 0).retransmitted, 12 + 110 * 100);
    assert!(completed(&p, 1) > Duration::from_ms(120));
}

#[test]
fn a_receiver_that_is_given_up_no_longer_holds_back_those_that_have_more() {
    let config = config(|c| c.give_up_after = Some(Duration::from_ms(50)));
    let mut p = group(&config, 200, &[190, 0, 190], |_, from, _| if from == 2 { Fate::Drop } else { Fate::Deliver });
    finish_but(&mut p, &[2]);
    for node in [1, 3] {
        assert!((50..70).contains(&(completed(&p, node).ps() / 1_000_000_000)), "{}", completed(&p, node));
    }
    assert!(stats(&p, 0).data_sent < 1100, "{}", stats(&p, 0).data_sent);
}

/// A case takes a tenth of a second.
fn settings() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn all_complete_whatever_each_has_and_whatever_is_lost(
        first in prop::collection::vec(prop_oneof![0..4_u32, 0..130_u32], 2..5),
        lost in 0..20_u64,
        salt in any::<u64>(),
        detached in any::<bool>(),
    ) {
        let config = config(|c| {
            c.retries = 60;
            if detached {
                c.straggler.policy = crate::scdp::StragglerPolicy::Detach;
            }
        });
        let mut n = salt;
        let mut p = group(&config, 130, &first, move |_, _, _| {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (n >> 33) % 100 < lost { Fate::Drop } else { Fate::Deliver }
        });
        finish(&mut p);
    }
}
