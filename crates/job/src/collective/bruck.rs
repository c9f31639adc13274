//! All-to-all in few steps: blocks travel by way of others.

use super::Messages;

/// Step `j`: every member sends the blocks whose distance has bit `j` to the `2^j`-th member after it.
pub(super) fn all_to_all(messages: &mut Messages) {
    let n = messages.n();
    let begin = messages.last.clone();
    for bit in (0..usize::BITS).take_while(|bit| 1 << bit < n) {
        let before = messages.last.clone();
        let mut last = vec![Vec::new(); n];
        for member in 0..n {
            let to = (member + (1 << bit)) % n;
            let distances = (1..n).filter(|distance| distance >> bit & 1 == 1);
            // A block that still has so far to go has come from as far behind as its lower bits say.
            let bytes =
                distances.map(|distance| messages.share((member + n - (distance & ((1 << bit) - 1))) % n)).sum();
            let message = messages.message(member, to, bytes, &before[member], &begin[to]);
            last[member].push(message.send);
            last[to].push(message.receive);
        }
        messages.last = last;
    }
}
