//! Packets that no sender or receiver would send.

use super::*;
use crate::Arrival;
use crate::phost::ENDLESS;
use proptest::prelude::*;

fn header() -> impl Strategy<Value = Header> {
    let number = || prop_oneof![0..40_u64, any::<u64>(), Just(ENDLESS)];
    let flow = || prop_oneof![Just(20 * PAYLOAD), number()];
    prop_oneof![
        4 => (number(), number(), flow()).prop_map(|(seq, token, flow)| Header::Data { seq, token, flow }),
        2 => (number(), number(), number()).prop_map(|(number, seq, remaining)| Header::Token { number, seq, remaining }),
        2 => (flow(), any::<bool>()).prop_map(|(flow, again)| Header::Rts { flow, again }),
        1 => Just(Header::Wait),
        1 => Just(Header::Ack),
    ]
}

/// Whether an end sends a packet now, through a host whose queue takes a full packet's time for each.
fn sends(end: &mut Connection, now: Time, sent: u64) -> bool {
    if end.uses_departure() {
        end.set_departure(now + PACKET * sent);
    }
    end.poll_transmit(now).is_some()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Neither end panics, sends without end, or lies about what it has.
    #[test]
    fn no_packet_does_harm(
        bytes in prop::option::of(0..40 * PAYLOAD),
        packets in prop::collection::vec((header(), any::<bool>(), any::<bool>(), 0..20_000_u64), 1..60),
    ) {
        let cfg = PhostConfig::default();
        let mut ends = [Connection::Sender(Sender::new(&cfg, bytes)), Connection::Receiver(Receiver::new(&cfg))];
        let mut now = Time::ZERO;
        for (header, trimmed, returned, wait) in packets {
            now += Duration::from_us(wait);
            for end in &mut ends {
                end.handle_packet(now, &Arrival { header, from: 0, trimmed, ce: false, returned });
                if end.poll_timeout().is_some_and(|deadline| deadline <= now) {
                    end.handle_timeout(now);
                }
                // A packet for each token that has come, at most.
                let sent = (0..100).take_while(|&sent| sends(end, now, sent)).count();
                prop_assert!(sent < 100, "{}", end.waiting_for());
                while end.poll_event().is_some() {}
                if let Some(change) = end.poll_claim() {
                    let standing = change.remaining.map(|_| crate::standings::Standing { place: 0, of: 1 });
                    end.set_standing(now, standing);
                }
                let turns = (0..100).take_while(|_| end.pending_pulls() > 0 && end.poll_pull(now).is_some()).count();
                prop_assert!(turns < 100, "{}", end.waiting_for());
                let _ = end.waiting_for();
            }
            prop_assert!(ends[RECEIVER].stats().bytes_delivered <= ends[RECEIVER].stats().data_received * PAYLOAD);
        }
    }
}
