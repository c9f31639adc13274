//! Proportional rate reduction on a path (RFC 9937): how evenly recoveries send, whatever the control.

use super::*;
use crate::Bytes;
use crate::tcp::WindowRules;
use proptest::prelude::*;

fn config(congestion: Algorithm, sack: bool, prr: bool) -> TcpConfig {
    TcpConfig { congestion, sack, prr, initial_window: 40, receive_window: Bytes(1 << 20), ..TcpConfig::default() }
}

/// The longest burst at one instant, from the repetition of the first lost segment on.
fn longest_burst(pair: &Pair<Connection>, lost: u64) -> usize {
    let begins = sent_at(pair, lost * MSS)[1];
    let data = pair.log.iter().filter(|(at, from, _, p, _)| *from == SENDER && p.header.len > 0 && *at >= begins);
    let times: Vec<Time> = data.map(|(at, ..)| *at).collect();
    times.iter().map(|t| times.iter().filter(|other| *other == t).count()).max().unwrap()
}

/// One loss in forty: without it half a window of silence, and then half a window in a row, an ACK at a time; with it
/// a segment for every other ACK (0.5), or seven for every ten (CUBIC's 0.7), throughout. Either way `ssthresh` is
/// in flight at the end.
#[test]
fn a_recovery_sends_in_proportion_from_the_first_ack_on() {
    for (congestion, share) in [(Algorithm::NewReno, 0.5), (Algorithm::Cubic, 0.7), (Algorithm::Dctcp, 0.5)] {
        for sack in [false, true] {
            let first_half = |prr: bool| {
                let pair = transfer(&config(congestion, sack, prr), 400 * MSS, lose(&[(5 * MSS, 1)]));
                assert_delivered(&pair, 400 * MSS);
                let stats = pair.nodes[SENDER].stats();
                assert_eq!((stats.retransmitted, stats.timeouts), (1, 0), "{congestion:?} {sack} {prr}");
                let begins = sent_at(&pair, 5 * MSS)[1];
                let sent = |until: Duration| {
                    let data = pair.log.iter().filter(|(_, from, _, p, _)| *from == SENDER && p.header.len > 0);
                    data.filter(|(at, ..)| *at > begins && *at <= begins + until).count() as f64
                };
                // Ten ACKs after the third duplicate; then about thirty, all that belong to the first window.
                (sent(DATA_TIME * 10), sent(DATA_TIME * 30))
            };
            let ((early, _), (even, all)) = (first_half(false), first_half(true));
            assert!((even - 10.0 * share).abs() <= 1.5, "{congestion:?} {sack}: {even} for ten ACKs");
            assert!((all - 30.0 * share).abs() <= 2.0, "{congestion:?} {sack}: {all} for thirty");
            assert!(early < 1.0 || share > 0.5, "the case is there: {early} without");
        }
    }
}

/// 26 of the first 40 segments are lost: RFC 6675 fills the window up to ssthresh in one burst; PRR sends a segment or two for
/// each that was delivered.
#[test]
fn heavy_losses_cause_no_burst() {
    let losses: Vec<(u64, u32)> = (4..30).map(|i| (i * MSS, 1)).collect();
    let burst = |prr| {
        let pair = transfer(&config(Algorithm::NewReno, true, prr), 200 * MSS, lose(&losses));
        assert_delivered(&pair, 200 * MSS);
        longest_burst(&pair, 4)
    };
    let (without, with) = (burst(false), burst(true));
    assert!(without >= 5 && with <= 2, "{without} at once without, {with} with");
}

#[test]
fn it_ends_at_ssthresh() {
    for sack in [false, true] {
        let pair = transfer(&config(Algorithm::Reno, sack, true), 40 * MSS, lose(&[(0, 1)]));
        assert_eq!(pair.nodes[SENDER].cwnd(), Some(20 * MSS), "{sack}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is lost, late, doubled or marked: everything arrives, with every control, with and without SACK.
    #[test]
    fn transfers_complete_whatever_the_path_does(
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        [sack, hystart, delayed_ack, ecn, linux] in prop::array::uniform5(any::<bool>()),
        bytes in 1_u64..300_000, lost in 0_u8..32, seed in any::<u64>(),
    ) {
        let config = TcpConfig {
            congestion: algorithm, sack, hystart, delayed_ack, ecn, prr: true,
            hystart_min_rtt_thresh: Duration::from_us(20),
            rto_min: Duration::from_ms(1), rto_initial: Duration::from_ms(3), rto_max: Duration::from_secs(1), retries: 200,
            receive_window: Bytes(1 << 20),
            ..TcpConfig::default()
        };
        let by_linux = TcpConfig { window_rules: WindowRules::Linux61, ..config.clone() };
        let config = if linux && by_linux.validate().is_ok() { by_linux } else { config };
        let pair = transfer(&config, bytes, unkind(lost, seed));
        assert_delivered(&pair, bytes);
    }
}
