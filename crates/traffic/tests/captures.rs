//! Every format of captures, in every variant, gives the packets that were written into it.

use crate::common::{Packet, bins, block, check, enhanced, erf, interface, packets, pcap, read, section};
use anabranch_traffic::{Request, Want};

const WIDTHS: [i64; 5] = [1_000_000, 5_000_000, 7_000_000, 100_000_000, 1_000_000_000];

#[test]
fn pcap_in_every_variant() {
    let packets = packets(5000, 123_457, 96);
    for big in [false, true] {
        for (magic, unit) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1), (0xa1b2_cd34, 1000)] {
            let outcome = read(&bins(&WIDTHS), &pcap(&packets, big, magic, 1)).expect("good");
            assert_eq!((outcome.files[0].format, outcome.files[0].compression), ("pcap", None));
            check(&outcome, &packets, unit);
        }
    }
}

#[test]
fn a_packet_longer_than_the_window() {
    let mut packets = packets(10, 1_000_000, 96);
    packets[4] = Packet::new(packets[4].ns, 9_000_000, 3_000_000);
    let mut file = pcap(&packets, false, 0xa1b2_c3d4, 1);
    file[16..20].copy_from_slice(&4_000_000_u32.to_le_bytes());
    check(&read(&bins(&[1_000_000]), &file).expect("good"), &packets, 1000);
    let mut file = [section(false), interface(false, 1, &[])].concat();
    for packet in &packets {
        file.extend(enhanced(false, 0, packet.ns / 1000, packet, None));
    }
    check(&read(&bins(&[1_000_000]), &file).expect("good"), &packets, 1000);
}

#[test]
fn erf_with_extension_headers_and_filters() {
    let mut packets = packets(3000, 1_000_003, 60);
    for packet in &mut packets {
        packet.data[12..14].copy_from_slice(&[8, 6]);
    }
    let outcome = read(&bins(&WIDTHS), &erf(&packets)).expect("good");
    assert_eq!(outcome.files[0].format, "erf");
    check(&outcome, &packets, 1);
    let outcome = read(&Request { filter: Some("not ip".to_owned()), ..bins(&WIDTHS) }, &erf(&packets)).expect("good");
    check(&outcome, &packets, 1);
    // The length includes the frame check sequence already.
    let outcome = read(&Request { overhead: true, ..bins(&WIDTHS) }, &erf(&packets)).expect("good");
    let more = outcome.series[0].bytes.iter().sum::<i64>() - outcome.files[0].bytes;
    assert_eq!(more, 20 * 3000);
}

/// Interfaces of different resolutions, offsets and link types; two sections of different byte order.
#[test]
fn pcapng_with_several_sections_and_interfaces() {
    let packets = packets(4000, 250_000_000, 80);
    let mut file = Vec::new();
    for (big, part) in [(false, &packets[..2000]), (true, &packets[2000..])] {
        file.extend(section(big));
        let offset: i64 = 1_000_000_000;
        let offset = if big { offset.to_be_bytes() } else { offset.to_le_bytes() };
        file.extend(interface(big, 1, &[(2, b"eth0".to_vec()), (9, vec![9])]));
        file.extend(block(big, 0x0000_0bad, &[1, 2, 3, 4]));
        file.extend(interface(big, 101, &[]));
        file.extend(interface(big, 1, &[(9, vec![0x94]), (14, offset.to_vec())]));
        for (i, packet) in part.iter().enumerate() {
            let later = packet.ns - 1_000_000_000_000_000_000;
            // Quarters of a second are whole in binary too.
            let (number, ticks) = match i % 3 {
                0 => (0, packet.ns),
                1 => (1, packet.ns / 1000),
                _ => (2, ((u128::from(later) << 20) / 1_000_000_000) as u64),
            };
            file.extend(enhanced(big, number, ticks, packet, None));
        }
    }
    let outcome = read(&bins(&WIDTHS), &file).expect("good");
    assert_eq!(outcome.files[0].format, "pcapng");
    check(&outcome, &packets, 1);
}

#[test]
fn obsolete_and_simple_packet_blocks() {
    let packets = packets(4, 1_000_000_000, 20);
    let mut file = [section(true), interface(true, 1, &[])].concat();
    for packet in &packets {
        let mut body = crate::common::Bytes::new(true);
        let ticks = packet.ns / 1000;
        body.u16(0).u16(0).u32((ticks >> 32) as u32).u32(ticks as u32).u32(20).u32(packet.wire);
        body.bytes.extend(&packet.data);
        file.extend(block(true, 2, &body.bytes));
    }
    let mut simple = 777_u32.to_be_bytes().to_vec();
    simple.extend([0; 12]);
    file.extend(block(true, 3, &simple));
    let outcome = read(&bins(&[1_000_000_000]), &file).expect("good");
    let wire: i64 = packets.iter().map(|packet| i64::from(packet.wire)).sum();
    assert_eq!((outcome.files[0].records, outcome.files[0].unstamped), (5, 1));
    assert_eq!(outcome.files[0].bytes, wire + 777);
    assert_eq!(outcome.series[0].bytes.iter().sum::<i64>(), wire);
}

#[test]
fn directions_come_from_marks_or_from_prefixes() {
    let packets = packets(30, 1_000_000, 64);
    let mut file = [section(false), interface(false, 1, &[])].concat();
    for (i, packet) in packets.iter().enumerate() {
        // Every third in, every third out, every third unknown.
        let flags = [Some(1), Some(2), None][i % 3];
        file.extend(enhanced(false, 0, packet.ns / 1000, packet, flags));
    }
    let request = Request { direction: Some(Want::Split), ..bins(&[1_000_000]) };
    let outcome = read(&request, &file).expect("good");
    let sum = |rest: usize| packets.iter().skip(rest).step_by(3).map(|packet| i64::from(packet.wire)).sum::<i64>();
    let found: Vec<(&str, i64)> = outcome.series.iter().map(|s| (s.name.as_str(), s.bytes.iter().sum())).collect();
    assert_eq!(found, [("memory in", sum(0)), ("memory out", sum(1))]);
    assert_eq!(outcome.files[0].undecided, 10);
    // Both cover the whole time of the capture.
    assert_eq!(outcome.series[0].bytes.len(), 30);
    let plain = pcap(&packets, false, 0xa1b2_c3d4, 1);
    let error = read(&request, &plain).expect_err("no marks").to_string();
    assert!(error.contains("no record says which way it went\nhint: name the prefixes"), "{error}");
}

#[test]
fn overhead_is_24_bytes_a_packet_less_what_the_capture_has() {
    let packets = packets(100, 1_000_000, 60);
    let request = Request { overhead: true, ..bins(&[1_000_000_000]) };
    for (link, each) in [(1, 24), (1 | 0x0400_0000 | 2 << 28, 20)] {
        let outcome = read(&request, &pcap(&packets, false, 0xa1b2_c3d4, link)).expect("good");
        let more = outcome.series[0].bytes.iter().sum::<i64>() - outcome.files[0].bytes;
        assert_eq!(more, each * 100, "link type {link:#x}");
    }
}

#[test]
fn late_packets_are_counted_and_in_the_right_bins() {
    let mut packets = packets(1000, 1_000_000, 40);
    packets.swap(10, 11);
    packets.swap(500, 700);
    // Before the first one.
    let early = packets[0].ns - 3_500_000;
    packets.insert(20, Packet::new(early, 1000, 40));
    let outcome = read(&bins(&[1_000_000, 10_000_000]), &pcap(&packets, false, 0xa1b2_c3d4, 1)).expect("good");
    check(&outcome, &packets, 1000);
    // 10 after 11; what was behind the one from 700 in 500's place, 200 packets; and the early one.
    assert_eq!(outcome.files[0].out_of_order, 1 + 200 + 1);
    assert_eq!(outcome.files[0].largest_step_back_ns, 200_000_000);
}

#[test]
fn silence_longer_than_the_limit_is_unknown() {
    let mut packets = packets(100, 10_000_000, 40);
    for packet in &mut packets[60..] {
        packet.ns += 995_000_000;
    }
    let file = pcap(&packets, false, 0xa1b2_c3d4, 1);
    let zero = read(&bins(&[10_000_000]), &file).expect("good");
    assert!(zero.series[0].missing.iter().all(|missing| !missing) && zero.series[0].gaps.is_empty());
    let outcome =
        read(&Request { gap_ns: Some(500_000_000), ..bins(&[10_000_000, 1_000_000_000]) }, &file).expect("good");
    let fine = &outcome.series[0];
    assert_eq!(fine.gaps.len(), 1);
    assert_eq!((fine.gaps[0].to_ns - fine.gaps[0].from_ns, fine.gaps[0].why.as_str()), (1_005_000_000, "silence"));
    // From the bin of the packet before the silence to the one behind it: partly observed bins are unknown too.
    let missing: Vec<usize> = (0..fine.missing.len()).filter(|&bin| fine.missing[bin]).collect();
    assert_eq!((missing.first(), missing.last(), missing.len()), (Some(&59), Some(&159), 101));
    assert_eq!(outcome.series[1].missing, [true, true]);
}

#[test]
fn the_last_bin_is_complete_only_if_seen_to_its_end() {
    let mut packets = packets(3, 500_000_000, 40);
    let outcome =
        |packets: &[Packet]| read(&bins(&[1_000_000_000]), &pcap(packets, false, 0xa1b2_3c4d, 1)).expect("good");
    assert!(!outcome(&packets).series[0].complete);
    packets[2].ns = packets[0].ns + 1_999_999_999;
    assert!(outcome(&packets).series[0].complete);
}

#[test]
fn on_the_clock_bins_begin_at_multiples_and_the_first_is_unknown() {
    let packets = packets(100, 100_000_000, 40);
    let request = Request { align: anabranch_traffic::Align::Clock, ..bins(&[7_000_000_000]) };
    let series = &read(&request, &pcap(&packets, false, 0xa1b2_c3d4, 1)).expect("good").series[0];
    assert_eq!(series.start_ns % 7_000_000_000, 0);
    assert!(series.missing[0] && !series.missing[1]);
}

#[test]
fn a_stamp_far_off_is_an_error_that_says_where() {
    let mut packets = packets(100, 1_000_000, 40);
    packets[50].ns = 4_200_000_000_000_000_000;
    let file = pcap(&packets, false, 0xa1b2_c3d4, 1);
    let error = read(&bins(&[5_000_000]), &file).expect_err("far off").to_string();
    assert!(error.starts_with(&format!("memory: byte {}: the stamp 2103-", 24 + 50 * 56)), "{error}");
    assert!(error.contains("more than 20000000 bins of 5 ms\nhint: "), "{error}");
    let kept = read(&Request { keep_partial: true, ..bins(&[5_000_000]) }, &file).expect("the part before");
    assert_eq!(kept.files[0].records, 50);
    assert!(kept.files[0].damaged.as_ref().is_some_and(|text| text.contains("byte 2824")));
    // With bins wide enough it is a stamp like any other.
    let wide = read(&bins(&[86_400_000_000_000]), &file).expect("fits");
    assert_eq!(wide.series[0].packets.as_ref().map(|packets| packets.iter().sum()), Some(100));
}

#[test]
fn a_cut_file_says_where_and_what_came_before_can_be_kept() {
    let packets = packets(100, 1_000_000, 40);
    let mut png = [section(false), interface(false, 1, &[])].concat();
    let head = png.len();
    for packet in &packets {
        png.extend(enhanced(false, 0, packet.ns / 1000, packet, None));
    }
    let files = [(pcap(&packets, false, 0xa1b2_c3d4, 1), 24, 56), (png, head, 72), (erf(&packets), 0, 64)];
    for (file, head, record) in files {
        for left in [1, 15, 17, 50] {
            let cut = &file[..head + record * 30 + left];
            let error = read(&bins(&[1_000_000]), cut);
            if head == 0 {
                // ERF records differ in length; it is enough that the cut is noticed.
                assert!(error.expect_err("cut").to_string().contains("the last record is cut"));
                continue;
            }
            let error = error.expect_err("cut").to_string();
            let place = format!("memory: byte {}: the last ", head + record * 30);
            assert!(
                error.starts_with(&place) && error.contains("\nhint: ") && error.contains("--keep-partial"),
                "{error}"
            );
            let kept = read(&Request { keep_partial: true, ..bins(&[1_000_000]) }, cut).expect("the part before");
            check(&kept, &packets[..30], 1000);
        }
    }
}

#[test]
fn what_is_no_capture_is_said_to_be_none() {
    for (bytes, part) in [
        (&b""[..], "memory: byte 0: the file is empty"),
        (&b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"[..], "not a format known here: it begins with 7f 45 4c 46"),
        (&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], "the file header is cut: 8 of 24 bytes"),
        (&b"a story without numbers"[..], "cannot tell what this table holds"),
    ] {
        let error = read(&Request::default(), bytes).expect_err("no capture").to_string();
        assert!(error.contains(part), "{error}");
    }
    let empty = pcap(&[], false, 0xa1b2_c3d4, 1);
    let outcome = read(&Request::default(), &empty).expect("no packets is no error");
    assert!(outcome.series.is_empty() && outcome.files[0].notes == ["the file holds no records"]);
}
