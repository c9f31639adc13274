//! Packets that no honest peer sends, and drivers that call at odd times.

use super::super::header::ACKS_A_REQUEST;
use super::*;
use crate::Arrival;
use crate::ndp::Stamp;
use crate::ndp::window::MAX_SPAN;

fn arrival(header: Header) -> Arrival<Header> {
    Arrival { header, from: 0, trimmed: false, ce: false, returned: false }
}

fn drain(end: &mut impl Endpoint, now: Time) -> usize {
    std::iter::from_fn(|| end.poll_transmit(now).or_else(|| end.take_turn(now))).take(100_000).count()
}

#[test]
fn answers_to_packets_never_sent_are_ignored() {
    let sent = Stamp(77);
    let ack = |seq, below| Header::Ack { below, seq, map: 0, received: 0, sent, entropy: 3, marked: false };
    let forged = [
        ack(12, 0),
        ack(0, 13),
        ack(ACKS_A_REQUEST, 13),
        ack(u64::MAX - 1, u64::MAX),
        Header::Nack { seq: 12, below: 0, entropy: 1 },
        Header::Nack { seq: 3, below: u64::MAX, entropy: u16::MAX },
        Header::Data { seq: 0, object: 5, target: 9, sent, entropy: 0, asks: true },
    ];
    for control in ALL {
        let mut s = Sender::new(&config(control), Some(100 * PAYLOAD), 1);
        for header in forged {
            s.handle_packet(Time(1), &arrival(header));
        }
        assert_eq!(drain(&mut s, Time(1)), 12);
        for header in forged {
            s.handle_packet(Time(2), &arrival(header));
        }
        assert_eq!((drain(&mut s, Time(2)), s.poll_event()), (0, None), "{control:?}");
    }
}

#[test]
fn data_that_no_sender_of_the_object_can_send_is_ignored() {
    let data = |seq, object| arrival(Header::Data { seq, object, target: 1, sent: Stamp(0), entropy: 1, asks: true });
    let mut r = Receiver::new(&config(Control::Eqds));
    for header in [data(1, PAYLOAD), data(MAX_SPAN, crate::ndp::ENDLESS), arrival(Header::Pull { number: 9 })] {
        r.handle_packet(Time(1), &header);
        assert_eq!((r.poll_transmit(Time(1)), r.poll_timeout(), r.pending_pulls()), (None, None, 0));
    }
    r.handle_packet(Time(2), &data(0, 1000 * PAYLOAD));
    assert!(r.poll_transmit(Time(2)).is_some());
    for header in [data(1000, 1000 * PAYLOAD), data(u64::MAX, 0)] {
        r.handle_packet(Time(3), &header);
        assert_eq!(r.poll_transmit(Time(3)), None);
    }
}

#[test]
fn forged_credit_brings_a_window_at_most_and_a_forged_target_no_more_than_the_object() {
    for number in [13, 1 << 20, u64::MAX] {
        let mut s = Sender::new(&config(Control::Rccc), None, 1);
        assert_eq!(drain(&mut s, Time::ZERO), 12);
        let sent = Stamp(0);
        let ack = Header::Ack { below: 1, seq: 0, map: 0, received: 1500, sent, entropy: 1, marked: false };
        s.handle_packet(Time(1), &arrival(ack));
        drain(&mut s, Time(1));
        s.handle_packet(Time(2), &arrival(Header::Pull { number }));
        let brought = drain(&mut s, Time(2));
        assert_eq!(brought, if number == u64::MAX { 0 } else { 12 });
    }
    for control in WITH_CREDIT {
        for target in [1 << 20, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
            let forged = [
                Header::Data { seq: 0, object: 0, target, sent: Stamp(0), entropy: 0, asks: false },
                Header::Request { object: 0, total: target, sent: Stamp(0), entropy: 0 },
            ];
            for header in forged {
                let mut p = pair(control, 30, once(Fate::Trim, |t| is_data(t, 20)));
                p.run(Time::ZERO + Duration::from_us(30));
                let now = p.now;
                p.nodes[RECEIVER].handle_packet(now, &arrival(header));
                finish(&mut p, 30 * PAYLOAD);
            }
        }
    }
}

#[test]
fn spurious_wake_ups_change_nothing() {
    for control in ALL {
        let mut s = Sender::new(&config(control), Some(100 * PAYLOAD), 1);
        let mut r = Receiver::new(&config(control));
        s.handle_timeout(Time::ZERO);
        r.handle_timeout(Time::ZERO);
        drain(&mut s, Time::ZERO);
        let timer = s.poll_timeout();
        s.handle_timeout(Time(5));
        r.handle_timeout(Time(6));
        assert_eq!((s.poll_timeout(), s.stats().timeouts, r.stats().timeouts), (timer, 0, 0));
    }
}
