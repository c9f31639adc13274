//! Exchanges with the member whose number differs in one bit.

use super::Messages;

/// Each step with another bit. `bytes` says how much a member sends in it.
fn exchange(messages: &mut Messages, bits: impl Iterator<Item = u32>, bytes: impl Fn(&Messages, usize, u32) -> u64) {
    let n = messages.n();
    let begin = messages.last.clone();
    for bit in bits {
        let before = messages.last.clone();
        let mut last = vec![Vec::new(); n];
        for member in 0..n {
            let partner = member ^ (1 << bit);
            let size = bytes(messages, member, bit);
            let message = messages.message(member, partner, size, &before[member], &begin[partner]);
            last[member].push(message.send);
            last[partner].push(message.receive);
        }
        messages.last = last;
    }
}

fn bits(messages: &Messages) -> u32 {
    messages.n().ilog2()
}

/// The shares of the members whose numbers agree with that of `member` in all bits from `bit` on.
fn shares(messages: &Messages, member: usize, bit: u32) -> u64 {
    let first = member >> bit << bit;
    (first..first + (1 << bit)).map(|member| messages.share(member)).sum()
}

/// Halving: what the partner's half of the members will have.
pub(super) fn reduce_scatter(messages: &mut Messages) {
    let bits = bits(messages);
    exchange(messages, (0..bits).rev(), |messages, member, bit| shares(messages, member ^ (1 << bit), bit));
}

/// Doubling: all that is known so far.
pub(super) fn all_gather(messages: &mut Messages) {
    let bits = bits(messages);
    exchange(messages, 0..bits, shares);
}

/// Halving, then doubling (Rabenseifner).
pub(super) fn all_reduce(messages: &mut Messages) {
    reduce_scatter(messages);
    all_gather(messages);
}

/// All of the vector in each step.
pub(super) fn exchange_all(messages: &mut Messages) {
    let bits = bits(messages);
    exchange(messages, 0..bits, |messages, _, _| messages.size);
}
