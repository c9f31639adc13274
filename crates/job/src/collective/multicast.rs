//! One message for all others: a one-to-many session of a transport that has such, else what its fallback makes of it.

use super::Messages;
use crate::job::Op;
use std::collections::VecDeque;

/// From the first to all others.
pub(super) fn broadcast(messages: &mut Messages) {
    from(messages, &[0]);
}

/// From each to all others: all at once, or in chains, so many, in which each begins when it has what the one before it sent (as in
/// arXiv 2408.13356).
pub(super) fn all_gather(messages: &mut Messages) {
    let all: Vec<usize> = (0..messages.n()).collect();
    from(messages, &all);
}

fn from(messages: &mut Messages, senders: &[usize]) {
    let n = messages.n();
    let begin = messages.last.clone();
    let mut last = vec![Vec::new(); n];
    // What the latest senders sent, the oldest first: the receive of each other member.
    let mut latest: VecDeque<Vec<Op>> = VecDeque::new();
    for &sender in senders {
        let others: Vec<usize> = (0..n).filter(|&member| member != sender).collect();
        let bytes = if senders.len() > 1 { messages.share(sender) } else { messages.size };
        let mut after = begin[sender].clone();
        if messages.at_once > 0 && latest.len() == messages.at_once {
            // Senders are in order: it comes after the one that sent this, which is not among its own receivers.
            after.extend(latest.pop_front().map(|receives| receives[sender - 1]));
        }
        let (send, receives) = messages.multicast(sender, &others, bytes, &after, &begin);
        last[sender].push(send);
        others.iter().zip(&receives).for_each(|(&member, &receive)| last[member].push(receive));
        latest.push_back(receives);
        latest.truncate(messages.at_once);
    }
    messages.last = last;
}
