//! The idle path: times that arithmetic gives, to the picosecond.

use super::*;

#[test]
fn one_short_packet_takes_its_time_on_the_wire_and_the_delay() {
    for control in ALL {
        let mut p = pair_with(&config(control), Some(100), deliver);
        assert_eq!(finish(&mut p, 100), Duration::from_ns(164 * 8) + DELAY);
        assert_eq!((acks(&p), pulls(&p), requests(&p)), (1, 0, 0), "{control:?}");
        let t = p.log[0].3;
        assert_eq!((t.size, t.trimmed_size, t.control, t.ect), (164, 64, false, true));
    }
    let mut p = pair_with(&config(Control::Eqds), Some(0), deliver);
    assert_eq!(finish(&mut p, 0), CONTROL + DELAY);
}

/// The window covers the round trip, so the link is never idle; all by the receiver's credit but what left before its first answer.
#[test]
fn the_link_is_busy_until_all_has_left() {
    for control in ALL {
        let object = 100 * PAYLOAD - 1000;
        let mut p = pair_with(&config(control), Some(object), deliver);
        assert_eq!(finish(&mut p, object), PACKET * 99 + Duration::from_ns(500 * 8) + DELAY, "{control:?}");
        let (s, r) = stats(&p);
        assert_eq!((s.data_sent, s.retransmitted, s.timeouts, r.data_received), (100, 0, 0, 100));
        assert_eq!(requests(&p), 0);
        assert_eq!(acks(&p), 100, "one for each packet");
    }
}

/// Checks that as much credit was given as packets waited for, and EQDS's up to a window beyond that while nobody else wanted any.
fn given(p: &Pair<Connection>, control: Control, wanted: usize) -> bool {
    let ahead = if control == Control::Eqds { 12 } else { 0 };
    (wanted..=wanted + ahead).contains(&pulls(p))
}

#[test]
fn credit_is_given_for_every_packet_but_those_of_the_first_round_trip() {
    for control in WITH_CREDIT {
        let mut p = pair(control, 60, deliver);
        finish(&mut p, 60 * PAYLOAD);
        // The first answer comes after 12 + 10 + 0.512 + 10 us, when the third packet is on the wire: the first three are the sender's own.
        assert!(given(&p, control, 57), "{control:?}: {}", pulls(&p));
        let pushed = p.log.iter().filter(|(_, _, _, t, _)| t.pushed).count();
        assert_eq!(pushed, 3);
    }
}

/// What it has said it wants is nothing while it holds enough of its own; the first answer takes that away.
#[test]
fn a_sender_that_loses_its_own_credit_before_it_has_asked_for_any_asks() {
    for control in WITH_CREDIT {
        let mut p = pair(control, 10, deliver);
        let time = finish(&mut p, 10 * PAYLOAD);
        let asks = usize::from(control == Control::Eqds);
        assert_eq!((requests(&p), given(&p, control, 7)), (asks, true), "{control:?}: {}", pulls(&p));
        // It sends the one packet that it had asked for, which asks for the others.
        let asked = PACKET * 4 + DELAY + CONTROL + CONTROL + DELAY + PACKET * 6 + DELAY;
        // EQDS's receiver has given some ahead: only the request itself takes time.
        let ahead = PACKET * 10 + CONTROL + DELAY;
        assert_eq!(time, if control == Control::Eqds { ahead } else { asked }, "{control:?}");
    }
}

#[test]
fn a_stream_without_end_fills_the_link_and_never_completes() {
    for control in ALL {
        let mut p = pair_with(&config(control), None, deliver);
        assert!(!p.run(Time::ZERO + Duration::from_ms(30)));
        let arrived = (Duration::from_ms(30) - DELAY).0 / PACKET.0;
        assert_eq!(stats(&p).1.bytes_delivered, arrived * PAYLOAD, "{control:?}");
        assert_eq!(stats(&p).0.timeouts, 0);
        assert!(p.events.iter().all(Vec::is_empty));
    }
}

#[test]
fn credit_at_half_the_pace_halves_the_rate() {
    for control in WITH_CREDIT {
        let cfg = config(control);
        let nodes = vec![
            Connection::Sender(Sender::new(&cfg, Some(40 * PAYLOAD), 7)),
            Connection::Receiver(Receiver::new(&cfg)),
        ];
        let mut p = Pair::new(nodes, DELAY, 1, PACKET * 2, deliver);
        // The first credit follows the first packet's acknowledgement; the 37th is 36 turns later, and its packet is the last.
        let first_pull = PACKET + DELAY;
        let last = first_pull + PACKET * 2 * 36 + CONTROL + DELAY + PACKET + DELAY;
        assert_eq!(finish(&mut p, 40 * PAYLOAD), last, "{control:?}");
    }
}

#[test]
fn nscc_keeps_a_bottleneck_of_a_quarter_busy() {
    let cfg = UecConfig { target_delay: Some(Duration::from_us(200)), ..config(Control::Nscc) };
    let mut p = pair_with(&cfg, Some(2000 * PAYLOAD), deliver).with_last_link(RECEIVER, 250);
    let time = finish(&mut p, 2000 * PAYLOAD);
    assert!(time < PACKET * 4 * 2000 + Duration::from_ms(1), "{time:?}");
}
