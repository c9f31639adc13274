//! In each step another partner.

use super::Messages;

/// Step `j`: every member sends to the `j`-th after it and receives from the `j`-th before it.
pub(super) fn all_to_all(messages: &mut Messages) {
    let n = messages.n();
    let begin = messages.last.clone();
    for step in 1..n {
        let before = messages.last.clone();
        let mut last = vec![Vec::new(); n];
        for member in 0..n {
            let to = (member + step) % n;
            let bytes = messages.share(member);
            let message = messages.message(member, to, bytes, &before[member], &begin[to]);
            last[member].push(message.send);
            last[to].push(message.receive);
        }
        messages.last = last;
    }
}
