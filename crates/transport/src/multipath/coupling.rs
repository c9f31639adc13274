//! What coupled congestion controls know about each other: LIA (RFC 6356 §3) and OLIA (Khalili et al. 2012, §4).

use super::bundle::{Set, members};
use crate::tcp::Connection;
use crate::tcp::congestion::Coupling;

/// A subflow as its coupled control sees it.
#[derive(Clone, Copy, Debug)]
struct View {
    /// Window in bytes, without what recovery inflates it by (RFC 6356 §3: `ssthresh` in fast recovery).
    window: u64,
    /// Smoothed round-trip time in picoseconds.
    rtt: u64,
    /// Bytes between losses.
    inter_loss: u64,
}

impl View {
    fn seconds(self) -> f64 {
        self.rtt as f64 * 1e-12
    }

    /// OLIA's quality of a path: bytes between losses over the square of the round-trip time. Whether `self` is as good as `other`.
    fn is_as_good_as(self, other: Self) -> bool {
        let square = |rtt: u64| u128::from(rtt / 1000) * u128::from(rtt / 1000);
        u128::from(self.inter_loss).saturating_mul(square(other.rtt))
            >= u128::from(other.inter_loss).saturating_mul(square(self.rtt))
    }
}

/// Tells the congestion control of subflow `i` about the others. Those without a round-trip sample do not count.
pub(super) fn couple(ends: &mut [Connection], open: Set, i: usize, segment: u64) {
    let coupling = {
        let view = |j: usize| {
            let end = &ends[j];
            let view = View { window: end.plain_window(), rtt: end.smoothed_rtt().ps(), inter_loss: end.inter_loss() };
            (end.is_established() && view.rtt > 0).then_some(view)
        };
        let Some(own) = view(i) else { return };
        of(&members(open).filter_map(view), own, segment)
    };
    ends[i].set_coupling(coupling);
}

fn of(views: &(impl Iterator<Item = View> + Clone), own: View, segment: u64) -> Coupling {
    let rate = views.clone().map(|v| v.window as f64 / v.seconds()).sum();
    let best = views.clone().map(|v| v.window as f64 / (v.seconds() * v.seconds())).fold(0.0, f64::max);
    Coupling { rate, best, shift: shift(views, own, segment) }
}

/// OLIA's alpha: what the paths with the largest windows lose, the best paths without the largest windows gain. Windows are
/// compared in segments, as in Linux.
fn shift(views: &(impl Iterator<Item = View> + Clone), own: View, segment: u64) -> f64 {
    let segments = |v: &View| v.window / segment;
    let largest = views.clone().map(|v| segments(&v)).max().unwrap_or(0);
    let is_collected = |v: &View| segments(v) < largest && views.clone().all(|other| v.is_as_good_as(other));
    let collected = views.clone().filter(is_collected).count();
    if collected == 0 {
        return 0.0;
    }
    let paths = views.clone().count() as f64;
    if is_collected(&own) {
        1.0 / (paths * collected as f64)
    } else if segments(&own) == largest {
        -1.0 / (paths * views.clone().filter(|v| segments(v) == largest).count() as f64)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    fn view(window: u64, rtt_ms: u64, inter_loss: u64) -> View {
        View { window: window * 1000, rtt: rtt_ms * MS, inter_loss }
    }

    #[test]
    fn lia_s_sums_are_those_of_rfc_6356() {
        let c = of(&[view(10, 10, 0), view(20, 40, 0)].into_iter(), view(10, 10, 0), 1000);
        assert!((c.rate - (10_000.0 / 0.01 + 20_000.0 / 0.04)).abs() < 1e-3);
        assert!((c.best - 10_000.0 / 0.0001).abs() < 1.0, "the larger of 1e8 and 1.25e7");
    }

    #[test]
    fn olia_moves_from_the_largest_windows_to_the_best_paths() {
        let (good, large, other) = (view(5, 10, 9000), view(20, 10, 4000), view(3, 10, 100));
        let shift = |own| shift(&[good, large, other].into_iter(), own, 1000);
        let thirds = [good, large, other].map(|own| (shift(own) * 3.0).round() as i32);
        assert_eq!(thirds, [1, -1, 0]);
        // The best path has the largest window: nothing moves.
        let rich = view(20, 10, 9000);
        assert!(
            [rich, other].map(|own| super::shift(&[rich, other].into_iter(), own, 1000)).iter().all(|s| s.abs() < 1e-9)
        );
        // Twice the round trip counts as a quarter of the distance.
        assert!(
            view(1, 10, 2600).is_as_good_as(view(1, 20, 10_000))
                && !view(1, 10, 2400).is_as_good_as(view(1, 20, 10_000))
        );
    }
}
