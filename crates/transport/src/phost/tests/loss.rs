//! Lost and trimmed packets.

use super::*;

#[test]
fn a_lost_packet_gets_another_token_a_window_after_the_last() {
    let mut p = pair(20, once(Fate::Drop, |t| is_data(t, 3)));
    // The last of 20 tokens, nine packet times, a token there, a packet back.
    let again = WAY + PACKET * (19 + 9);
    assert_eq!(finish(&mut p, 20 * PAYLOAD), again + WAY + PACKET + DELAY);
    assert_eq!(tokens(&p)[20], (Time::ZERO + again, Header::Token { number: 20, seq: 3, remaining: PAYLOAD }));
    let (s, r) = stats(&p);
    assert_eq!((s.data_sent, s.retransmitted, s.timeouts, r.timeouts), (21, 1, 0, 1));
}

#[test]
fn a_lost_packet_of_a_short_flow_gets_a_token_when_all_should_have_come_twice() {
    let mut p = pair(3, once(Fate::Drop, |t| is_data(t, 0)));
    let again = WAY + PACKET * 6;
    assert_eq!(finish(&mut p, 3 * PAYLOAD), again + WAY + PACKET + DELAY);
    assert_eq!((stats(&p).0.retransmitted, stats(&p).1.timeouts), (1, 1));
}

#[test]
fn a_lost_announcement_is_repeated() {
    let rts = |t: &Transmit<Header>| matches!(t.header, Header::Rts { .. });
    let mut p = pair(20, once(Fate::Drop, rts));
    assert_eq!(finish(&mut p, 20 * PAYLOAD), TIMEOUT + WAY * 2 + PACKET * 20 + DELAY);
    assert_eq!(stats(&p).0.timeouts, 1);
    // Free packets say all that it says.
    let mut p = pair(3, once(Fate::Drop, rts));
    assert_eq!(finish(&mut p, 3 * PAYLOAD), CONTROL + PACKET * 3 + DELAY);
    assert_eq!(stats(&p).0.timeouts, 0);
}

#[test]
fn a_lost_acknowledgement_is_asked_for() {
    for packets in [3, 20] {
        let mut p = pair(packets, once(Fate::Drop, |t| t.header == Header::Ack));
        finish(&mut p, packets * PAYLOAD);
        let (s, _) = stats(&p);
        assert_eq!((s.data_sent, s.timeouts), (packets, 1), "nothing is sent again");
    }
}

#[test]
fn a_trimmed_packet_answers_its_token_and_is_missing() {
    let cfg = config(|c| c.window = 1);
    let mut p = pair_with(&cfg, Some(3 * PAYLOAD), once(Fate::Trim, |t| is_data(t, 1)));
    finish(&mut p, 3 * PAYLOAD);
    let (s, r) = stats(&p);
    assert_eq!((s.data_sent, r.trimmed_received, r.timeouts), (4, 1, 1));
}

#[test]
fn a_sender_without_answer_gives_up_after_the_retries() {
    let cfg = config(|c| c.retries = 3);
    let mut p = pair_with(&cfg, Some(100 * PAYLOAD), |_, _, _| Fate::Drop);
    assert!(p.run(Time::ZERO + Duration::from_secs(10)));
    assert_eq!(p.events[SENDER], [(Time::ZERO + TIMEOUT * 4, Event::Failed(crate::FailureReason::TimedOut))]);
    assert!(p.events[RECEIVER].is_empty());
}

/// Any one packet may be lost, of whatever kind and whenever.
#[test]
fn the_loss_of_any_one_packet_is_survived() {
    for packets in [1, 2, 7, 8, 9, 12, 30] {
        let mut whole = pair(packets, deliver);
        let idle = finish(&mut whole, packets * PAYLOAD);
        for lost in 0..whole.log.len() as u64 {
            let mut p = pair(packets, move |n, _, _| if n == lost { Fate::Drop } else { Fate::Deliver });
            let took = finish(&mut p, packets * PAYLOAD);
            assert!(took <= idle + TIMEOUT + WAY * 2, "{packets} packets, {lost} lost: {took}");
        }
    }
}
