//! All messages at once.

use super::Messages;

/// A share from each to each.
pub(super) fn all_to_all(messages: &mut Messages) {
    let n = messages.n();
    let begin = messages.last.clone();
    let mut last = vec![Vec::new(); n];
    // All senders begin with the member after them.
    for step in 1..n {
        for member in 0..n {
            let to = (member + step) % n;
            let bytes = messages.share(member);
            let message = messages.message(member, to, bytes, &begin[member], &begin[to]);
            last[member].push(message.send);
            last[to].push(message.receive);
        }
    }
    messages.last = last;
}

/// From the first to each.
pub(super) fn broadcast(messages: &mut Messages) {
    let begin = messages.last.clone();
    let mut last = vec![Vec::new(); messages.n()];
    for (to, ready) in begin.iter().enumerate().skip(1) {
        let message = messages.message(0, to, messages.size, &begin[0], ready);
        last[0].push(message.send);
        last[to].push(message.receive);
    }
    messages.last = last;
}
