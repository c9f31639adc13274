//! The ranks of jobs: when they ended, and when they would have on an idle fabric.

use super::RankRow;
use crate::network::{JobRow, Network};
use anabranch_job::idle::{self, Alone};
use anabranch_job::progress::RankTimes;
use anabranch_transport::Rate;

/// One for each rank that has something to do.
pub(super) fn rows(network: &Network, jobs: Vec<JobRow>) -> Vec<RankRow> {
    let mut rows = Vec::new();
    for mut job in jobs {
        let workload = &network.groups()[usize::from(job.group)].name;
        let mut operations = vec![0; job.placed.hosts.len()];
        for operation in job.placed.job.operations() {
            operations[operation.rank as usize] += 1;
        }
        job.ranks.resize(operations.len(), RankTimes::default());
        let complete = job.ranks.iter().zip(&operations).all(|(times, &all)| times.operations == all);
        let idle = if complete { on_an_idle_fabric(network, &job) } else { Vec::new() };
        for (rank, (&host, operations)) in (0..).zip(job.placed.hosts.iter().zip(operations)) {
            let times = job.ranks[rank as usize];
            if operations > 0 {
                rows.push(RankRow {
                    workload: workload.clone(),
                    rank,
                    host,
                    operations,
                    ended: times.operations,
                    start: job.placed.start,
                    end: times.ended.filter(|_| times.operations == operations),
                    computing: times.computing,
                    idle_end: idle.get(rank as usize).and_then(|times| times.ended),
                });
            }
        }
    }
    rows
}

/// How its ranks would have spent their time if each message had been alone but for those of its own hosts.
fn on_an_idle_fabric(network: &Network, job: &JobRow) -> Vec<RankTimes> {
    let (group, placed) = (&network.groups()[usize::from(job.group)], &job.placed);
    let mut rates = vec![0_u64; network.graph().hosts as usize];
    for link in &network.graph().links {
        for end in [link.a, link.b] {
            if let Some(rate) = rates.get_mut(end as usize) {
                *rate += link.rate.bps();
            }
        }
    }
    // The receivers of a message follow each other: its row is made once for all of them.
    let mut last = None;
    let alone = |message: u32, receiver: u16| {
        let session = job.first as usize + placed.place_of(message).unwrap_or(0) as usize;
        let spec = &network.specs()[session];
        let packets = group.transport.packets(spec.size.map_or(0, |size| size.0));
        let (_, row) = match last.take().filter(|(known, _)| *known == session) {
            Some(known) => last.insert(known),
            None => last.insert((session, network.session(session))),
        };
        let (takes, _) = network.ideal(session, row, usize::from(receiver), &packets);
        let bytes = packets.full.saturating_mul(packets.count.saturating_sub(1)).saturating_add(packets.last);
        let rate = [spec.sources[0], spec.sinks[usize::from(receiver)]].map(|host| rates[host as usize]);
        let wire = Rate(rate[0].min(rate[1]).max(1)).transmit_time(bytes);
        Alone { wire: wire.min(takes), takes }
    };
    idle::times(&placed.job, placed.settings.clone(), placed.start, alone)
}
