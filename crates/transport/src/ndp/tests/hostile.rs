//! Packets that no honest peer sends, and drivers that call at odd times.

use super::super::Stamp;
use super::super::window::MAX_SPAN;
use super::*;
use crate::Arrival;
use std::num::NonZeroU16;

fn arrival(header: Header) -> Arrival<Header> {
    Arrival { header, from: 0, trimmed: false, ce: false, returned: false }
}

fn drain(end: &mut impl Endpoint, now: Time) -> usize {
    std::iter::from_fn(|| end.poll_transmit(now)).take(100_000).count()
}

#[test]
fn no_pull_brings_more_than_a_window() {
    for number in [13, 100, 1 << 20] {
        let mut s = Sender::new(&NdpConfig::default(), None);
        assert_eq!(drain(&mut s, Time::ZERO), 12);
        s.handle_packet(Time(1), &arrival(Header::Pull { number, void: 0, pushed: true, below: 0 }));
        assert_eq!(drain(&mut s, Time(1)), 12);
    }
    let mut s = Sender::new(&NdpConfig::default(), None);
    drain(&mut s, Time::ZERO);
    s.handle_packet(Time(1), &arrival(Header::Pull { number: u64::MAX, void: u64::MAX, pushed: true, below: 0 }));
    assert_eq!(drain(&mut s, Time(1)), 0);
    s.handle_packet(Time(1), &arrival(Header::Pull { number: 2, void: 0, pushed: true, below: 0 }));
    assert_eq!(drain(&mut s, Time(1)), 2, "real pulls still count");
    s.handle_packet(Time(2), &arrival(Header::Pull { number: 1, void: 0, pushed: true, below: 0 }));
    s.handle_packet(Time(2), &arrival(Header::Pull { number: 2, void: 2, pushed: true, below: 0 }));
    assert_eq!(drain(&mut s, Time(2)), 0, "late and repeated pulls ask for nothing");
}

#[test]
fn answers_to_packets_never_sent_are_ignored() {
    let sent = Stamp(77);
    let forged = [
        Header::Ack { seq: 12, below: 0, sent },
        Header::Ack { seq: 0, below: 13, sent },
        Header::Ack { seq: u64::MAX, below: u64::MAX, sent },
        Header::Nack { seq: 12, below: 0 },
        Header::Nack { seq: 3, below: u64::MAX },
        Header::Pull { number: 1, void: 0, pushed: true, below: u64::MAX },
        Header::Data { seq: 0, pull: 0, object: 5, sent, syn: None, last: true },
    ];
    let mut s = Sender::new(&NdpConfig::default(), Some(100 * PAYLOAD));
    // Nothing at all was sent yet, either.
    for header in forged {
        s.handle_packet(Time(1), &arrival(header));
    }
    assert_eq!(drain(&mut s, Time(1)), 12);
    for header in forged {
        s.handle_packet(Time(2), &arrival(header));
    }
    assert_eq!((drain(&mut s, Time(2)), s.poll_event()), (0, None));
}

#[test]
fn data_that_no_sender_of_the_object_can_send_is_ignored() {
    let data = |seq, pull, object, syn| {
        arrival(Header::Data { seq, pull, object, sent: Stamp(0), syn: NonZeroU16::new(syn), last: false })
    };
    let mut r = Receiver::new(&NdpConfig::default());
    for header in [
        data(0, 0, PAYLOAD, 0),
        data(1, 0, PAYLOAD, 12),
        data(MAX_SPAN, 0, super::super::ENDLESS, 12),
        arrival(Header::Pull { number: 9, void: 0, pushed: true, below: 0 }),
    ] {
        r.handle_packet(Time(1), &header);
        assert_eq!((r.poll_transmit(Time(1)), r.poll_timeout(), r.pending_pulls()), (None, None, 0));
    }
    r.handle_packet(Time(2), &data(0, 0, 1000 * PAYLOAD, u16::MAX));
    assert!(r.poll_transmit(Time(2)).is_some());
    for header in [data(1000, 0, 1000 * PAYLOAD, 0), data(u64::MAX, u64::MAX, 0, 1)] {
        r.handle_packet(Time(3), &header);
        assert_eq!(r.poll_transmit(Time(3)), None);
    }
    // A pull number never sent is data all the same, but confirms nothing. A second SYN changes nothing.
    r.handle_packet(Time(4), &data(5, u64::MAX, 3, 1));
    assert!(r.poll_transmit(Time(4)).is_some());
    assert_eq!(r.stats().data_received, 2);
}

#[test]
fn forged_pulls_delay_a_transfer_at_most() {
    for number in [1 << 20, u64::MAX, 20] {
        let mut p = pair(30, deliver);
        p.run(Time::ZERO + Duration::from_us(5));
        let now = p.now;
        p.nodes[SENDER].handle_packet(now, &arrival(Header::Pull { number, void: number, pushed: false, below: 0 }));
        finish(&mut p, 30 * PAYLOAD);
    }
}

#[test]
fn a_forged_stamp_does_not_stop_a_connection() {
    let mut s = Sender::new(&NdpConfig::default(), Some(100 * PAYLOAD));
    drain(&mut s, Time::ZERO);
    s.handle_packet(Time(1), &arrival(Header::Ack { seq: 0, below: 1, sent: Stamp(1) }));
    s.handle_timeout(s.poll_timeout().unwrap());
    assert!(s.poll_timeout().unwrap() < Time::ZERO + Duration::from_secs(4));
}

#[test]
fn spurious_wake_ups_change_nothing() {
    let mut s = Sender::new(&NdpConfig::default(), Some(100 * PAYLOAD));
    let mut r = Receiver::new(&NdpConfig::default());
    s.handle_timeout(Time::ZERO);
    r.handle_timeout(Time::ZERO);
    let first = s.poll_transmit(Time::ZERO).unwrap();
    let timer = s.poll_timeout();
    s.handle_timeout(Time(5));
    r.handle_packet(Time(5), &arrival(first.header));
    r.handle_timeout(Time(6));
    assert_eq!((s.poll_timeout(), s.stats().timeouts, r.stats().timeouts), (timer, 0, 0));
    // Eleven more of the window are on their way: one pull makes twelve.
    assert!(r.poll_pull(Time(6)).is_some());
    assert!(r.poll_pull(Time(6)).is_none());
}
