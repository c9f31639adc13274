//! Trimmed, lost and marked packets.

use super::*;

#[test]
fn a_trimmed_packet_is_sent_again_on_the_credit_that_its_header_brings() {
    for control in ALL {
        let mut p = pair(control, 40, once(Fate::Trim, |t| is_data(t, 20)));
        let time = finish(&mut p, 40 * PAYLOAD);
        let (s, r) = stats(&p);
        assert_eq!((s.retransmitted, s.timeouts, r.trimmed_received), (1, 0, 1), "{control:?}");
        assert_eq!((time, requests(&p)), (PACKET * 41 + DELAY, 0), "{control:?}: one packet more");
    }
}

#[test]
fn a_whole_window_that_is_trimmed_is_sent_again_at_the_pace_of_the_receiver() {
    for control in WITH_CREDIT {
        let mut p = pair(control, 60, first(12, Fate::Trim, |t| matches!(t.header, Header::Data { .. })));
        finish(&mut p, 60 * PAYLOAD);
        let (s, _) = stats(&p);
        assert_eq!((s.data_sent, s.timeouts), (72, 0), "{control:?}");
        // Three left on the sender's own credit. Where a window holds it back, what is more than it may hold is lost.
        let ahead = if control == Control::Eqds { 12 } else { 1 };
        assert!((69..=69 + ahead).contains(&pulls(&p)), "{control:?}: {}", pulls(&p));
        assert_eq!(requests(&p), 0, "{control:?}");
    }
}

#[test]
fn the_last_packet_trimmed_needs_no_timeout() {
    for control in ALL {
        let mut p = pair(control, 30, once(Fate::Trim, |t| is_data(t, 29)));
        let time = finish(&mut p, 30 * PAYLOAD);
        assert_eq!(stats(&p).0.timeouts, 0, "{control:?}");
        assert!(time <= PACKET * 32 + (DELAY + CONTROL) * 3, "{control:?}: {time:?}");
    }
}

#[test]
fn each_kind_of_message_may_be_lost_once() {
    type Which = fn(&Transmit<Header>) -> bool;
    let kinds: [(&str, Which); 6] = [
        ("the first packet", |t| is_data(t, 0)),
        ("the last packet", |t| is_data(t, 29)),
        ("an acknowledgement", |t| matches!(t.header, Header::Ack { .. })),
        ("the last acknowledgement", |t| matches!(t.header, Header::Ack { below: 30, .. })),
        ("credit", |t| matches!(t.header, Header::Pull { .. })),
        ("the last credit", |t| matches!(t.header, Header::Pull { number: 27 })),
    ];
    for control in ALL {
        for (what, which) in kinds {
            let mut p = pair(control, 30, once(Fate::Drop, which));
            let time = finish(&mut p, 30 * PAYLOAD);
            assert!(time < Duration::from_ms(60), "{control:?}, {what}: {time:?}");
            let dropped = p.log.iter().any(|(_, _, _, _, fate)| *fate == Fate::Drop);
            assert!(dropped || (control == Control::Nscc && what.contains("credit")), "{control:?}, {what}");
        }
    }
}

#[test]
fn a_receiver_that_is_not_there_is_given_up() {
    for control in ALL {
        let cfg = UecConfig { retries: 3, ..config(control) };
        let mut p = pair_with(&cfg, Some(PAYLOAD), |_, _, _| Fate::Drop);
        assert!(p.run(Time::ZERO + Duration::from_secs(100)));
        assert!(matches!(p.events[SENDER][..], [(_, Event::Failed(_))]), "{control:?}");
        assert!(p.events[RECEIVER].is_empty());
    }
}

#[test]
fn marks_are_acknowledged_at_once() {
    let mut p = pair(Control::Nscc, 20, once(Fate::Mark, |t| is_data(t, 5)));
    finish(&mut p, 20 * PAYLOAD);
    assert_eq!(count(&p, |h| matches!(h, Header::Ack { seq: 5, marked: true, .. })), 1);
    assert_eq!(stats(&p).1.marked_received, 1);
}

/// EQDS asks first for what was trimmed; Ultra Ethernet's receiver takes its senders in turn.
#[test]
fn only_eqds_is_in_a_hurry_for_what_was_trimmed() {
    for control in WITH_CREDIT {
        let mut p = pair(control, 40, once(Fate::Trim, |t| is_data(t, 0)));
        p.run(Time::ZERO + Duration::from_us(21));
        let Connection::Receiver(receiver) = &mut p.nodes[RECEIVER] else { panic!("it receives") };
        let mut alone = receiver.clone();
        let trimmed = p.log[0].3;
        let arrival = crate::Arrival { header: trimmed.header, from: 0, trimmed: true, ce: false, returned: false };
        alone.handle_packet(p.now, &arrival);
        assert_eq!(alone.pull_priority(), u8::from(control != Control::Eqds));
        assert!(alone.poll_pull(p.now).is_some());
        assert_ne!(alone.pull_priority(), 0);
    }
}
