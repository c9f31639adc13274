//! One message for all others: a one-to-many session of a transport that has such, else what its fallback makes of it.

use super::Messages;

/// From the first to all others.
pub(super) fn broadcast(messages: &mut Messages) {
    from(messages, &[0]);
}

/// From each to all others.
pub(super) fn all_gather(messages: &mut Messages) {
    let all: Vec<usize> = (0..messages.n()).collect();
    from(messages, &all);
}

fn from(messages: &mut Messages, senders: &[usize]) {
    let n = messages.n();
    let begin = messages.last.clone();
    let mut last = vec![Vec::new(); n];
    for &sender in senders {
        let others: Vec<usize> = (0..n).filter(|&member| member != sender).collect();
        let bytes = if senders.len() > 1 { messages.share(sender) } else { messages.size };
        let (send, receives) = messages.multicast(sender, &others, bytes, &begin[sender], &begin);
        last[sender].push(send);
        others.iter().zip(receives).for_each(|(&member, receive)| last[member].push(receive));
    }
    messages.last = last;
}
