//! Chunks that go round: in each step every member sends one to the next and gets one from the member before.

use super::Messages;

/// Reduce-scatter, then all-gather.
pub(super) fn all_reduce(messages: &mut Messages) {
    round(messages, 2, 0);
}

/// All-gather, or reduce-scatter: the same messages.
pub(super) fn once_round(messages: &mut Messages) {
    round(messages, 1, 0);
}

/// All-gather where each member has the share of the next one: what a reduce-scatter leaves.
pub(super) fn round_from_next(messages: &mut Messages) {
    round(messages, 1, 1);
}

fn round(messages: &mut Messages, times: usize, first: usize) {
    let n = messages.n();
    let begin = messages.last.clone();
    let (mut got, mut sent) = (begin.clone(), vec![Vec::new(); n]);
    for step in 0..times * (n - 1) {
        let before = got.clone();
        for member in 0..n {
            let next = (member + 1) % n;
            // The chunk that the member got in the step before.
            let chunk = (member + first + times * n - step) % n;
            let bytes = messages.share(chunk);
            let message = messages.message(member, next, bytes, &before[member], &begin[next]);
            got[next] = vec![message.receive];
            sent[member].push(message.send);
        }
    }
    messages.last = got.into_iter().zip(sent).map(|(got, sent)| [got, sent].concat()).collect();
}
