//! Lost, trimmed and late packets.

use super::*;
use crate::Arrival;
use crate::standings::Standing;

#[test]
fn a_lost_packet_is_asked_for_when_nothing_has_come_for_a_while() {
    let mut p = pair(20, once(Fate::Drop, |t| is_data(t, 3)));
    // The last packet is there, then silence; a RESEND there, the packet back.
    let resend = PACKET * 20 + DELAY + TIMEOUT;
    assert_eq!(finish(&mut p, 20 * PAYLOAD), resend + CONTROL + DELAY + PACKET + DELAY);
    let resends = sent(&p, |header| matches!(header, Header::Resend { .. }));
    assert_eq!(resends, [(Time::ZERO + resend, Header::Resend { from: 3, to: 4, priority: 0 })]);
    let (s, r) = stats(&p);
    assert_eq!((s.data_sent, s.retransmitted, s.timeouts, r.timeouts), (21, 1, 0, 1));
}

#[test]
fn all_gaps_are_asked_for_at_once() {
    let lost = |t: &Transmit<Header>| is_data(t, 1) || is_data(t, 4);
    let mut p = pair(20, move |n, _, t| if n < 10 && lost(t) { Fate::Drop } else { Fate::Deliver });
    finish(&mut p, 20 * PAYLOAD);
    let gaps: Vec<_> =
        sent(&p, |header| matches!(header, Header::Resend { .. })).into_iter().map(|(_, header)| header).collect();
    assert_eq!(gaps, [1, 4].map(|from| Header::Resend { from, to: from + 1, priority: 0 }));
    assert_eq!((stats(&p).0.retransmitted, stats(&p).1.timeouts), (2, 1));
}

#[test]
fn a_message_of_which_nothing_arrives_is_announced_by_its_sender() {
    let mut p = pair(20, |n, _, _| if n < WINDOW { Fate::Drop } else { Fate::Deliver });
    // The sender asks after twice the timeout since its last packet; the receiver, which knew nothing, asks for the unscheduled packets.
    let asked = PACKET * 6 + TIMEOUT * 2 + CONTROL + DELAY;
    assert_eq!(finish(&mut p, 20 * PAYLOAD), asked + CONTROL + DELAY + PACKET * 20 + DELAY);
    let resends = sent(&p, |header| matches!(header, Header::Resend { .. }));
    assert_eq!(resends, [(Time::ZERO + asked, Header::Resend { from: 0, to: WINDOW, priority: 0 })]);
    assert_eq!((stats(&p).0.timeouts, stats(&p).1.timeouts), (1, 0));
}

#[test]
fn a_lost_acknowledgement_is_asked_for() {
    let mut p = pair(3, once(Fate::Drop, |t| t.header == Header::Ack));
    assert_eq!(finish(&mut p, 3 * PAYLOAD), PACKET * 3 + DELAY);
    assert_eq!(sent(&p, |header| matches!(header, Header::NeedAck { .. })).len(), 1);
    assert_eq!(stats(&p).0.data_sent, 3, "nothing is sent again");
}

#[test]
fn a_lost_grant_is_made_up_for_by_the_next_and_the_last_by_a_resend() {
    let below = |n| move |t: &Transmit<Header>| matches!(t.header, Header::Grant { below, .. } if below == n);
    let mut p = pair(20, once(Fate::Drop, below(10)));
    assert_eq!(finish(&mut p, 20 * PAYLOAD), PACKET * 20 + DELAY);
    let mut p = pair(20, once(Fate::Drop, below(20)));
    let resend = PACKET * 19 + DELAY + TIMEOUT;
    assert_eq!(finish(&mut p, 20 * PAYLOAD), resend + CONTROL + DELAY + PACKET + DELAY);
    assert_eq!((stats(&p).0.data_sent, stats(&p).0.retransmitted), (20, 0), "it had not been sent");
}

#[test]
fn what_was_never_sent_keeps_its_priority_when_it_is_asked_for() {
    let packet = |header| Arrival { header, from: 0, trimmed: false, ce: false, returned: false };
    let mut sender = Sender::new(&HomaConfig::default(), Some(20 * PAYLOAD));
    sender.set_standing(Time::ZERO, Some(Standing { place: 0, of: 1 }));
    sender.handle_packet(Time::ZERO, &packet(Header::Grant { below: 9, priority: 6 }));
    assert_eq!(std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).count(), 9);
    // The grant of the packets 9 and 10 is lost, and so is the packet 8.
    sender.handle_packet(Time::ZERO, &packet(Header::Resend { from: 8, to: 11, priority: 0 }));
    let next = || sender.poll_transmit(Time::ZERO).map(|t| (t.header, t.priority));
    let data = |(seq, priority)| (Header::Data { seq, message: 20 * PAYLOAD }, priority);
    assert_eq!(std::iter::from_fn(next).collect::<Vec<_>>(), [(8, 0), (9, 6), (10, 6)].map(data));
}

#[test]
fn a_trimmed_packet_is_a_lost_one_of_which_is_known() {
    let mut p = pair(1, once(Fate::Trim, |t| is_data(t, 0)));
    let header = Duration::from_us(12);
    assert_eq!(finish(&mut p, PAYLOAD), header + DELAY + TIMEOUT + CONTROL + DELAY + PACKET + DELAY);
    assert_eq!((stats(&p).1.trimmed_received, stats(&p).1.timeouts), (1, 1));
}

#[test]
fn a_silent_end_is_given_up_after_the_retries() {
    let cfg = config(|c| c.retries = 3);
    let failed = Event::Failed(crate::FailureReason::TimedOut);
    let mut p = pair_with(&cfg, Some(PAYLOAD), |_, _, _| Fate::Drop);
    assert!(p.run(Time::ZERO + Duration::from_secs(10)));
    assert_eq!(p.events[SENDER], [(Time::ZERO + TIMEOUT * 8, failed)]);
    assert!(p.events[RECEIVER].is_empty());
    let mut p = pair_with(&cfg, Some(100 * PAYLOAD), |n, _, _| if n == 0 { Fate::Deliver } else { Fate::Drop });
    assert!(p.run(Time::ZERO + Duration::from_secs(10)));
    assert_eq!(p.events[RECEIVER], [(Time::ZERO + PACKET + DELAY + TIMEOUT * 4, failed)]);
}

/// Any one packet may be lost, of whatever kind and whenever.
#[test]
fn the_loss_of_any_one_packet_is_survived() {
    for packets in [1, 2, 7, 8, 12, 30] {
        let mut whole = pair(packets, deliver);
        let idle = finish(&mut whole, packets * PAYLOAD);
        for lost in 0..whole.log.len() as u64 {
            let mut p = pair(packets, move |n, _, _| if n == lost { Fate::Drop } else { Fate::Deliver });
            let took = finish(&mut p, packets * PAYLOAD);
            assert!(took < idle + TIMEOUT * 2 + Duration::from_us(100), "{packets} packets, {lost} lost: {took}");
        }
    }
}
