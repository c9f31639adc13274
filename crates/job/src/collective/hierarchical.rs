//! Inside servers first, then between them on rails: rank `i` of each server talks to rank `i` of the others only, so that on a rail-optimised
//! fabric nothing leaves a leaf switch.
//!
//! `g` ranks in each of `m` servers; `a1`, `B1` the time of an empty message and the rate inside a server, `a2`, `B2` between them. Each part
//! is a ring, or of all-to-all an exchange in pairs; all-to-all goes to the rank of the own server that is on the receiver's rail (NCCL's
//! PXN).

use super::{Messages, pairwise, ring};
use crate::error::JobError;

/// The members of each server, in the order of members, given how many consecutive ranks a server has.
pub(super) fn servers(members: &[u32], ranks: u32) -> Result<Vec<Vec<usize>>, JobError> {
    let mut servers: Vec<(u32, Vec<usize>)> = Vec::new();
    // Members of a server mostly follow each other.
    let mut index = std::collections::BTreeMap::new();
    for (member, rank) in members.iter().enumerate() {
        let server = rank / ranks;
        let place = *index.entry(server).or_insert_with(|| {
            servers.push((server, Vec::new()));
            servers.len() - 1
        });
        servers[place].1.push(member);
    }
    let each = servers.first().map_or(0, |(_, own)| own.len());
    match servers.iter().find(|(_, own)| own.len() != each) {
        Some((server, own)) => Err(JobError::at(
            0,
            format!(
                "hierarchical needs as many ranks in each server: server {} has {each} of them, server {server} {}",
                servers[0].0,
                own.len()
            ),
        )),
        None => Ok(servers.into_iter().map(|(_, own)| own).collect()),
    }
}

/// The servers, and the members that have the same number in each.
fn divide(messages: &Messages) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let servers = &messages.servers;
    let each = servers.first().map_or(0, Vec::len);
    (servers.clone(), (0..each).map(|i| servers.iter().map(|own| own[i]).collect()).collect())
}

/// Does the same in each of several groups of members.
fn each_apart(messages: &mut Messages, groups: &[Vec<usize>], size: u64, what: fn(&mut Messages)) {
    for group in groups {
        messages.among(group, size, what);
    }
}

/// What a member of a server has of the sum of `S` bytes once its server is done: the share after its own.
fn own_part(size: u64, i: usize, of: usize) -> u64 {
    Messages::part(size, ((i + 1) % of) as u64, of as u64)
}

/// `2 (g - 1) (a1 + S / (g B1)) + 2 (m - 1) (a2 + S / (n B2))`.
pub(super) fn all_reduce(messages: &mut Messages) {
    let (servers, rails) = divide(messages);
    let (size, each) = (messages.size, rails.len());
    each_apart(messages, &servers, size, ring::once_round);
    for (i, rail) in rails.iter().enumerate() {
        messages.among(rail, own_part(size, i, each), ring::all_reduce);
    }
    each_apart(messages, &servers, size, ring::round_from_next);
}

/// `(g - 1) (a1 + S / (g B1)) + (m - 1) (a2 + S / (n B2))`.
pub(super) fn reduce_scatter(messages: &mut Messages) {
    let (servers, rails) = divide(messages);
    let (size, each) = (messages.size, rails.len());
    each_apart(messages, &servers, size, ring::once_round);
    for (i, rail) in rails.iter().enumerate() {
        messages.among(rail, own_part(size, i, each), ring::once_round);
    }
}

/// The same time, the other way round: rails first.
pub(super) fn all_gather(messages: &mut Messages) {
    let (servers, rails) = divide(messages);
    let (size, each) = (messages.size, rails.len());
    for (i, rail) in rails.iter().enumerate() {
        messages.among(rail, Messages::part(size, i as u64, each as u64), ring::once_round);
    }
    each_apart(messages, &servers, size, ring::once_round);
}

/// `(g - 1) (a1 + S / (g B1)) + (m - 1) (a2 + S / (m B2))`.
pub(super) fn all_to_all(messages: &mut Messages) {
    let (servers, rails) = divide(messages);
    let size = messages.size;
    each_apart(messages, &servers, size, pairwise::all_to_all);
    each_apart(messages, &rails, size, pairwise::all_to_all);
}
