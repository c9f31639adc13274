//! From each member to the next, chunk by chunk.

use super::Messages;

/// A pipeline.
pub(super) fn broadcast(messages: &mut Messages) {
    let (n, chunks) = (messages.n(), messages.chunks);
    let begin = messages.last.clone();
    let mut last: Vec<Vec<u32>> = vec![Vec::new(); n];
    for chunk in 0..chunks {
        let bytes = Messages::part(messages.size, chunk, chunks);
        let mut after = begin[0].clone();
        for member in 0..n - 1 {
            let message = messages.chunk(member, member + 1, bytes, &after, &begin[member + 1]);
            last[member].push(message.send);
            last[member + 1].push(message.receive);
            after = vec![message.receive];
        }
    }
    messages.last = last;
}
