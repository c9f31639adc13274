//! Return-to-sender (NDP §3.2).

use super::*;
use crate::Arrival;

fn rts() -> NdpConfig {
    config(|c| c.return_to_sender = true)
}

#[test]
fn a_window_that_is_all_returned_is_tried_with_one_packet_at_once() {
    let mut p =
        pair_with(&rts(), Some(12 * PAYLOAD), DELAY, |n, _, _| if n < 12 { Fate::Return } else { Fate::Deliver });
    let last_back = PACKET * 12 + DELAY * 2;
    let round = PACKET + DELAY * 2 + CONTROL * 2;
    assert_eq!(finish(&mut p, 12 * PAYLOAD), last_back + round + PACKET * 11 + DELAY);
    let sent = data(&p);
    assert_eq!((sent[12].0, sent[12].1), (Time::ZERO + last_back, 11));
    assert_eq!((sent.len(), stats(&p).0.timeouts), (24, 0));
}

#[test]
fn among_packets_that_were_trimmed_a_returned_one_waits_for_a_pull() {
    let mut p = pair_with(&rts(), Some(60 * PAYLOAD), DELAY, |n, _, _| match n {
        11 => Fate::Return,
        0..11 => Fate::Trim,
        _ => Fate::Deliver,
    });
    finish(&mut p, 60 * PAYLOAD);
    let again = data(&p).into_iter().skip(12).find(|&(_, seq, _)| seq == 11).unwrap();
    assert!(again.2 > 0, "answers a pull");
    assert_eq!(stats(&p).0.timeouts, 0);
}

#[test]
fn among_packets_that_arrived_a_returned_one_leaves_again_at_once() {
    let mut p = pair_with(&rts(), Some(60 * PAYLOAD), DELAY, once(Fate::Return, |t| is_data(t, 20)));
    let fct = finish(&mut p, 60 * PAYLOAD);
    let (first, again) = {
        let mut sent = data(&p).into_iter().filter(|&(_, seq, _)| seq == 20);
        (sent.next().unwrap().0, sent.next().unwrap().0)
    };
    // It leaves behind the rest of the window, comes back, and goes again.
    assert!(again - first < PACKET * 12 + DELAY * 2, "{:?}", again - first);
    assert_eq!(fct, PACKET * 61 + DELAY);
}

#[test]
fn one_that_is_always_returned_does_not_stop_the_others() {
    let mut p = pair_with(&rts(), Some(100 * PAYLOAD), DELAY, {
        let mut left = 50;
        move |_, _, t| {
            if left > 0 && is_data(t, 5) {
                left -= 1;
                return Fate::Return;
            }
            Fate::Deliver
        }
    });
    finish(&mut p, 100 * PAYLOAD);
}

#[test]
fn returned_packets_mean_nothing_when_the_option_is_off() {
    let mut s = Sender::new(&NdpConfig::default(), Some(PAYLOAD));
    let t = s.poll_transmit(Time::ZERO).unwrap();
    let back = Arrival { header: t.header, from: 0, trimmed: true, ce: false, returned: true };
    s.handle_packet(Time(1), &back);
    assert_eq!(s.poll_transmit(Time(1)), None);
}
