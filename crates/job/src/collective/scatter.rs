//! Broadcast as scatter and all-gather (van de Geijn).

use super::{Messages, ring};

/// A binomial scatter of the shares, where each sends one message after the other, then a ring.
pub(super) fn broadcast(messages: &mut Messages) {
    let n = messages.n();
    let begin = messages.last.clone();
    // Who has shares of the members from its own number on, so many.
    let mut span = n.next_power_of_two();
    let mut next = begin.clone();
    let mut sent = vec![Vec::new(); n];
    while span > 1 {
        span /= 2;
        for holder in (0..n).step_by(2 * span) {
            let to = holder + span;
            if to < n {
                let bytes = (to..(to + span).min(n)).map(|member| messages.share(member)).sum();
                let message = messages.message(holder, to, bytes, &next[holder], &begin[to]);
                (next[holder], next[to]) = (vec![message.send], vec![message.receive]);
                sent[holder].push(message.send);
            }
        }
    }
    messages.last = next;
    ring::once_round(messages);
    messages.last.iter_mut().zip(sent).for_each(|(last, sent)| last.extend(sent));
}
