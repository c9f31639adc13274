use super::*;

/// Rate and round-trip time of the thesis (tables 2 and 3): C T is 7500 bytes, five packets.
const C: Rate = Rate::from_mbps(100);
const T: Duration = Duration::from_us(600);
const PACKETS: Limit = Limit::Packets(0);
const BYTES: Limit = Limit::Bytes(0);

fn config() -> EcnAdaptation {
    EcnAdaptation::default()
}

#[test]
fn thresholds_are_those_of_equations_3_to_6() {
    let lower = |config: &EcnAdaptation, n, like| config.threshold(Bound::Lower, C, T, n, like);
    let upper = |config: &EcnAdaptation, like| config.threshold(Bound::Upper, C, T, 2, like);
    // Eq. 4: 7500 / 7 = 1071.4 bytes, less than a packet.
    let dctcp = config();
    assert_eq!((lower(&dctcp, 3, PACKETS), lower(&dctcp, 3, BYTES)), (Limit::Packets(1), Limit::Bytes(1500)));
    let ten_gbps = dctcp.threshold(Bound::Lower, Rate::from_gbps(10), Duration::from_us(100), 1, BYTES);
    assert_eq!(ten_gbps, Limit::Bytes(17_858), "125000 / 7 = 17857.1, rounded up");
    // Eq. 3: 7500, 7500 / sqrt(2) = 5303.3, 7500 / 2; none counts as one.
    let star = EcnAdaptation { lower_law: LowerLaw::EcnStar, ..config() };
    let in_bytes = [0, 1, 2, 4].map(|n| lower(&star, n, BYTES));
    assert_eq!(in_bytes, [7500, 7500, 5304, 3750].map(Limit::Bytes));
    assert_eq!([1, 2, 4].map(|n| lower(&star, n, PACKETS)), [5, 4, 3].map(Limit::Packets));
    // Eqs. 5 and 6: (3 * 7500 - 7500) / 2. With the thesis's 25 packets: (37500 - 7500) / 2.
    assert_eq!((upper(&dctcp, BYTES), upper(&dctcp, PACKETS)), (Limit::Bytes(7500), Limit::Packets(5)));
    let table = EcnAdaptation { buffer: Some(BufferSize::Packets(25)), ..config() };
    assert_eq!((upper(&table, PACKETS), upper(&table, BYTES)), (Limit::Packets(10), Limit::Bytes(15_000)));
    // A buffer below C T gives a threshold below 0; the upper one is never below the lower one.
    let small = EcnAdaptation { buffer: Some(BufferSize::Packets(3)), ..star };
    assert_eq!(small.threshold(Bound::Upper, C, T, 1, PACKETS), Limit::Packets(5));
    let given = EcnAdaptation {
        lower: Some(BufferSize::Packets(3)),
        upper: Some(BufferSize::Bytes(Bytes(20_000))),
        ..config()
    };
    assert_eq!((lower(&given, 9, PACKETS), upper(&given, PACKETS)), (Limit::Packets(3), Limit::Packets(13)));
}

#[test]
fn the_ratio_decides_as_in_figure_17() {
    let bound = |short, long, delta| Mix { short, long }.bound(delta);
    assert_eq!(bound(0, 0, 1.0), None, "no flows, no ratio");
    assert_eq!(
        (bound(0, 1, 1.0), bound(1, 1, 1.0), bound(2, 1, 1.0)),
        (Some(Bound::Upper), Some(Bound::Upper), Some(Bound::Lower))
    );
    assert_eq!((bound(1, 0, 1.0), bound(1, 0, 1e9)), (Some(Bound::Lower), Some(Bound::Lower)), "short flows only");
    assert_eq!(
        (bound(0, 1, 0.0), bound(1, 4, 0.0), bound(5, 2, 2.5)),
        (Some(Bound::Upper), Some(Bound::Lower), Some(Bound::Upper))
    );
}

/// The two windows of §4.1: the lower threshold from 5 h to 24 h, the upper one in the night.
#[test]
fn the_schedule_decides_by_time_of_day() {
    let hours = |n: u64| Duration::from_secs(n * 3600);
    let window = |from, to, threshold| Window { from: hours(from), to: hours(to), threshold };
    let day = EcnAdaptation { schedule: vec![window(5, 24, Bound::Lower), window(0, 5, Bound::Upper)], ..config() };
    assert_eq!(day.check(), []);
    let (quiet, busy, none) = (Mix { short: 0, long: 2 }, Mix { short: 9, long: 2 }, Mix::default());
    let at = |config: &EcnAdaptation, hour, mix| config.bound(Time::ZERO + hours(hour), mix);
    assert_eq!((at(&day, 4, quiet), at(&day, 5, quiet)), (Some(Bound::Upper), Some(Bound::Lower)));
    assert_eq!(
        (at(&day, 24, quiet), at(&day, 52, none)),
        (Some(Bound::Upper), Some(Bound::Upper)),
        "on other days, too"
    );
    assert_eq!(at(&day, 4, busy), Some(Bound::Lower), "short flows in the night");
    assert_eq!(at(&EcnAdaptation { fallback: false, ..day.clone() }, 4, busy), Some(Bound::Upper));
    // A window over midnight, and none else: the lower threshold outside.
    let night = EcnAdaptation { schedule: vec![window(22, 5, Bound::Upper)], ..config() };
    assert_eq!(
        [21, 22, 23, 24, 28, 29].map(|h| at(&night, h, quiet) == Some(Bound::Upper)),
        [false, true, true, true, true, false]
    );
}

#[test]
fn what_makes_no_sense_is_told() {
    let told = |config: EcnAdaptation| config.check().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(told(config()), "");
    assert!(
        told(EcnAdaptation { delta: f64::NAN, ..config() }).starts_with("delta: must be a number from 0 on, not NaN")
    );
    assert!(
        told(EcnAdaptation { lower: Some(BufferSize::Unlimited), ..config() }).starts_with("lower: must be a number")
    );
    let swapped =
        EcnAdaptation { lower: Some(BufferSize::Packets(9)), upper: Some(BufferSize::Packets(3)), ..config() };
    assert!(told(swapped).starts_with("lower: 9 packets is more than upper, 3 packets"));
    assert!(told(EcnAdaptation { flows: Classify::Port { long: Vec::new() }, ..config() }).starts_with("flows.long: "));
    assert!(told(EcnAdaptation { rtt: Some(Duration::ZERO), ..config() }).starts_with("rtt: must be above 0"));
    assert!(told(EcnAdaptation { day: Duration::ZERO, ..config() }).starts_with("day: must be above 0"));
    assert!(told(EcnAdaptation { fallback: false, ..config() }).starts_with("fallback: has no effect"));
    let packets = |n| Some(BufferSize::Packets(n));
    let given = EcnAdaptation { lower: packets(3), upper: packets(9), ..config() };
    for (config, void) in [
        (EcnAdaptation { lower_law: LowerLaw::EcnStar, ..given.clone() }, "lower_law: has no effect with `lower`"),
        (EcnAdaptation { buffer: packets(25), ..given.clone() }, "buffer: has no effect with `upper`"),
        (EcnAdaptation { rtt: Some(Duration::from_us(1)), ..given }, "rtt: has no effect with `lower` and `upper`"),
        (EcnAdaptation { controllers: Scope::PerPod, ..config() }, "controllers: has no effect without `staleness`"),
    ] {
        assert!(told(config.clone()).starts_with(void), "{}", told(config));
    }
    let schedule = |windows: &[(u64, u64)]| {
        let window =
            |&(from, to)| Window { from: Duration::from_ms(from), to: Duration::from_ms(to), threshold: Bound::Upper };
        told(EcnAdaptation { schedule: windows.iter().map(window).collect(), day: Duration::from_ms(10), ..config() })
    };
    assert_eq!(schedule(&[(1, 3), (3, 10), (10, 1)]), "schedule.2.from: 10ms is not before the end of a day of 10ms");
    assert_eq!(schedule(&[(1, 3), (2, 4)]), "schedule.1.from: overlaps with window 0");
    assert_eq!(schedule(&[(8, 2), (1, 3)]), "schedule.1.from: overlaps with window 0");
    assert_eq!(schedule(&[(1, 11)]), "schedule.0.to: 11ms is after the end of a day of 10ms");
    assert_eq!(schedule(&[(2, 2)]), "schedule.0.to: is also the beginning: the window is empty");
}
