//! GOAL, binary: what `LogGOPSim` and htsim read (`src/LogGOPSim/Parser.hpp`). Little-endian, without padding.
//!
//! ```text
//! u64 4223, u32 ranks, u8 largest cpu, u8 largest nic, for each rank u64 begin, u64 end (from the byte after 4223)
//! a rank: u32 nodes, u32 roots, u32 for each root, 39 bytes for each node, then the appendix of u32
//! a node: u32 waits, u8 type (1 send, 2 receive, 3 compute), u32 peer, u64 size, u32 tag, u8 cpu, u8 nic,
//!         u32 how many wait for its end, u32 the first of them in the appendix, u32 how many for its start, u32 the first of them
//! ```

use crate::builder::Builder;
use crate::error::JobError;
use crate::job::{Action, Job, LONGEST_NS, Op, Operation, Peers, Place, RANKS_MAX};
use anabranch_transport::{Bytes, Duration};

/// The first eight bytes.
pub(super) const MAGIC: [u8; 8] = 4223_u64.to_le_bytes();
/// Bytes of a node.
const NODE: usize = 39;
/// A peer, or a tag, of any value.
const ANY: u32 = u32::MAX;
/// What is left of a file or a part of it.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or("is cut off")?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<u64, String> {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(self.take(bytes)?);
        Ok(u64::from_le_bytes(number))
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.number(4).map(|n| n as u32)
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<Job, JobError> {
    let wrong = |message: String| JobError::at(0, format!("the binary GOAL file {message}"));
    let body = bytes.get(MAGIC.len()..).unwrap_or_default();
    let mut rest = Rest(body);
    let header = |rest: &mut Rest| -> Result<u32, String> {
        let ranks = rest.u32()?;
        rest.take(2)?;
        if ranks > RANKS_MAX { Err(format!("says that it has {ranks} ranks: at most {RANKS_MAX}")) } else { Ok(ranks) }
    };
    let ranks = header(&mut rest).map_err(wrong)?;
    let mut job = Builder::new(ranks);
    let mut left = body.len();
    for rank in 0..ranks {
        let mut one = || -> Result<(), String> {
            let (begin, end) = (rest.number(8)? as usize, rest.number(8)? as usize);
            let part = body.get(begin..end).ok_or("is cut off")?;
            left = left.checked_sub(part.len()).ok_or("is the same part as another")?;
            add_rank(&mut job, rank, part)
        };
        one().map_err(|message| JobError::at(0, format!("rank {rank} of the binary GOAL file {message}")))?;
    }
    job.build()
}

/// Adds the operations of a rank.
fn add_rank(job: &mut Builder, rank: u32, part: &[u8]) -> Result<(), String> {
    let mut rest = Rest(part);
    let (nodes, roots) = (rest.u32()? as usize, rest.u32()? as usize);
    rest.take(roots.checked_mul(4).ok_or("is cut off")?)?;
    let mut table = Rest(rest.take(nodes.checked_mul(NODE).ok_or("is cut off")?)?);
    let appendix = rest.0;
    let first = job.next();
    // Each of these has one that it waits for: no more than there are.
    let mut left = appendix.len() / 4;
    let mut after = Vec::new();
    for number in 0..nodes as u32 {
        let op = first + number;
        let (_, kind, peer, size) = (table.u32()?, table.number(1)?, table.u32()?, table.number(8)?);
        let (tag, stream, nic) = (table.u32()?, table.number(1)? as u8, table.number(1)?);
        if nic != 0 {
            return Err(format!("uses network interface {nic}: a rank has one, 0"));
        }
        let known = |n: u32| (n != ANY).then_some(n);
        let bytes = Bytes(size);
        let action = match kind {
            1 => Action::Send { to: Peers::One(peer), bytes, tag },
            2 => Action::Receive { from: known(peer), bytes, tag: known(tag) },
            3 if size <= LONGEST_NS => Action::Calc(Duration::from_ns(size)),
            3 => return Err(format!("computes for {size} ns: at most {LONGEST_NS}")),
            other => return Err(format!("has an operation of type {other}: expected 1, 2 or 3")),
        };
        job.push(Operation { rank, stream, action, place: Place::Node(number) });
        for starts in [false, true] {
            let (count, place) = (table.u32()? as usize, table.u32()? as usize);
            left = left.checked_sub(count).ok_or("names operations that wait more than once")?;
            let end = place.checked_add(count).and_then(|end| end.checked_mul(4)).ok_or("is cut off")?;
            let list = appendix.get(place * 4..end).ok_or("is cut off")?;
            let dependents = list.chunks_exact(4).map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]));
            after.extend(dependents.map(|dependent| (dependent, op, starts)));
        }
    }
    for (dependent, before, starts) in after {
        if dependent as usize >= nodes {
            return Err(format!("has no operation {dependent}, which waits for another"));
        }
        let op: Op = first + dependent;
        if starts {
            job.after_start(op, before);
        } else {
            job.after(op, before);
        }
    }
    Ok(())
}
