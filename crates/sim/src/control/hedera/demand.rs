//! Estimation of demands (Hedera §4.2): what each flow would send if hosts' links alone limited it.

/// Rates below this share of a host's link are no difference.
const EPSILON: f64 = 1e-9;

/// A flow whose demand is estimated.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    source: u32,
    destination: u32,
    demand: f64,
    /// Its receiver limits it: its sender has no say any more.
    converged: bool,
}

/// The demand of each flow, given as source and destination, in units of `capacity`: the rate of a host's link; 1 in the paper.
///
/// Senders share their link equally among flows that are not limited elsewhere, receivers cut down what exceeds theirs, in turns, until
/// nothing changes.
pub(super) fn estimate(flows: &[(u32, u32)], capacity: impl Fn(u32) -> f64) -> Vec<f64> {
    let new = |&(source, destination)| Estimate { source, destination, demand: 0.0, converged: false };
    let mut flows: Vec<Estimate> = flows.iter().map(new).collect();
    let (sent, received) = (grouped(&flows, |flow| flow.source), grouped(&flows, |flow| flow.destination));
    loop {
        let before: Vec<f64> = flows.iter().map(|flow| flow.demand).collect();
        for (source, own) in &sent {
            share_at_sender(&mut flows, own, capacity(*source));
        }
        for (destination, own) in &received {
            cut_at_receiver(&mut flows, own, capacity(*destination));
        }
        let changed = |(flow, before): (&Estimate, &f64)| {
            (flow.demand - before).abs() > EPSILON * capacity(flow.source).max(capacity(flow.destination))
        };
        if !flows.iter().zip(&before).any(changed) {
            return flows.iter().map(|flow| flow.demand).collect();
        }
    }
}

/// The flows of each host.
fn grouped(flows: &[Estimate], host: impl Fn(&Estimate) -> u32) -> Vec<(u32, Vec<usize>)> {
    let mut groups = std::collections::BTreeMap::<u32, Vec<usize>>::new();
    for (n, flow) in flows.iter().enumerate() {
        groups.entry(host(flow)).or_default().push(n);
    }
    groups.into_iter().collect()
}

/// EST-SRC: what converged flows leave is shared equally by the others.
fn share_at_sender(flows: &mut [Estimate], own: &[usize], capacity: f64) {
    let taken: f64 = own.iter().map(|&n| flows[n]).filter(|flow| flow.converged).map(|flow| flow.demand).sum();
    let free: Vec<usize> = own.iter().copied().filter(|&n| !flows[n].converged).collect();
    for &n in &free {
        flows[n].demand = (capacity - taken).max(0.0) / free.len() as f64;
    }
}

/// EST-DST: if more would come than fits, flows that send less than an equal share keep what they have, the others share the rest
/// equally and have converged.
fn cut_at_receiver(flows: &mut [Estimate], own: &[usize], capacity: f64) {
    let total: f64 = own.iter().map(|&n| flows[n].demand).sum();
    if total <= capacity * (1.0 + EPSILON) {
        return;
    }
    let mut limited = own.to_vec();
    let mut left = capacity;
    loop {
        let share = left / limited.len() as f64;
        let (less, more): (Vec<usize>, _) =
            limited.iter().partition(|&&n| flows[n].demand < share - EPSILON * capacity);
        if less.is_empty() {
            for n in more {
                (flows[n].demand, flows[n].converged) = (share, true);
            }
            return;
        }
        left -= less.iter().map(|&n| flows[n].demand).sum::<f64>();
        limited = more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn demands(flows: &[(u32, u32)]) -> Vec<f64> {
        estimate(flows, |_| 1.0)
    }

    fn close(found: &[f64], wanted: &[f64]) {
        let same = found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(same, "{found:?}, not {wanted:?}");
    }

    /// Four hosts, the paper's example as it is remembered: A sends to B, C and D, B twice to A and once to C, C to A and D, D twice to B.
    #[test]
    fn four_hosts_as_in_the_paper() {
        const THIRD: f64 = 1.0 / 3.0;
        let [a, b, c, d] = [0, 1, 2, 3];
        let flows = [(a, b), (a, c), (a, d), (b, a), (b, a), (b, c), (c, a), (c, d), (d, b), (d, b)];
        let cd = 2.0 * THIRD;
        close(&demands(&flows), &[THIRD, THIRD, THIRD, THIRD, THIRD, THIRD, THIRD, cd, THIRD, THIRD]);
    }

    #[test]
    fn by_hand() {
        close(&demands(&[]), &[]);
        close(&demands(&[(0, 1)]), &[1.0]);
        // A sender's flows share its link, a receiver's flows theirs.
        close(&demands(&[(0, 1), (0, 2)]), &[0.5, 0.5]);
        close(&demands(&[(0, 2), (1, 2)]), &[0.5, 0.5]);
        // Three flows to host 9 have a third each; what host 0 has left goes to host 8.
        close(&demands(&[(0, 9), (1, 9), (2, 9), (0, 8)]), &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0]);
        // Host 0 sends four flows; host 1 gets what its quarter leaves free at host 9.
        close(&demands(&[(0, 9), (0, 5), (0, 6), (0, 7), (1, 9)]), &[0.25, 0.25, 0.25, 0.25, 0.75]);
        // Two rounds: host 0's flow to 9 is cut to 1/3, so that 2/3 go to 8, where host 3 had 1/2 of what it wanted.
        let flows = [(0, 9), (1, 9), (2, 9), (0, 8), (3, 8)];
        close(&demands(&flows), &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.5, 0.5]);
    }

    #[test]
    fn links_of_hosts_may_differ() {
        let rate = |host| if host == 9 { 10.0 } else { 1.0 };
        close(&estimate(&[(0, 9), (1, 9), (9, 2)], rate), &[1.0, 1.0, 1.0]);
        close(&estimate(&[(9, 0), (9, 1), (2, 1)], rate), &[1.0, 0.5, 0.5]);
    }

    /// Max-min fair shares of senders' and receivers' links: all flows grow together; those whose link is full stop.
    fn max_min(flows: &[(u32, u32)]) -> Vec<f64> {
        let mut shares = vec![0.0; flows.len()];
        let mut growing: Vec<usize> = (0..flows.len()).collect();
        while !growing.is_empty() {
            let ends = |n: usize| [(false, flows[n].0), (true, flows[n].1)];
            let room = |end: (bool, u32), shares: &[f64]| {
                let used: f64 = (0..flows.len()).filter(|&n| ends(n).contains(&end)).map(|n| shares[n]).sum();
                let more = growing.iter().filter(|&&n| ends(n).contains(&end)).count();
                (1.0 - used) / more as f64
            };
            let step = growing.iter().flat_map(|&n| ends(n)).map(|end| room(end, &shares)).fold(1.0, f64::min);
            for &n in &growing {
                shares[n] += step;
            }
            let full = |n: usize| {
                ends(n).iter().any(|&end| {
                    let all = (0..flows.len()).filter(|&m| ends(m).contains(&end));
                    all.map(|m| shares[m]).sum::<f64>() > 1.0 - 1e-9
                })
            };
            growing = growing.iter().copied().filter(|&n| !full(n)).collect();
        }
        shares
    }

    proptest! {
        /// No link of a host carries more than fits, and each flow has its max-min fair share.
        #[test]
        fn demands_are_max_min_fair(flows in prop::collection::vec((0..6_u32, 6..12_u32), 0..24)) {
            let found = demands(&flows);
            for host in 0..12 {
                let carried = |of: fn(&(u32, u32)) -> u32| {
                    flows.iter().zip(&found).filter(|(flow, _)| of(flow) == host).map(|(_, demand)| demand).sum::<f64>()
                };
                prop_assert!(carried(|flow| flow.0) < 1.0 + 1e-6 && carried(|flow| flow.1) < 1.0 + 1e-6);
            }
            let fair = max_min(&flows);
            prop_assert!(found.iter().zip(&fair).all(|(a, b)| (a - b).abs() < 1e-6), "{flows:?}: {found:?}, not {fair:?}");
        }
    }
}
