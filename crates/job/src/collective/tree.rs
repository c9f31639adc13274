//! Trees.

use super::Messages;
use crate::job::Op;

/// Each member that has the object tells another one in each step, and the next when that one has it: all at once would share its link.
pub(super) fn binomial(messages: &mut Messages) {
    let n = messages.n();
    let begin = messages.last.clone();
    let (mut next, mut last) = (begin.clone(), vec![Vec::new(); n]);
    let mut holders = 1;
    while holders < n {
        for member in 0..holders.min(n - holders) {
            let to = member + holders;
            let message = messages.message(member, to, messages.size, &next[member], &begin[to]);
            (next[member], next[to]) = (vec![message.send], vec![message.receive]);
            last[member].push(message.send);
            last[to].push(message.receive);
        }
        holders *= 2;
    }
    messages.last = last;
}

/// A binary tree over nodes from 1: the children of each, and the root.
struct Tree {
    children: Vec<Vec<usize>>,
    root: usize,
}

impl Tree {
    /// In order, so that odd nodes are leaves and even nodes are not.
    fn in_order(nodes: usize) -> Self {
        let mut children = vec![Vec::new(); nodes + 1];
        for (node, children) in children.iter_mut().enumerate().skip(1) {
            let half = (node & node.wrapping_neg()) / 2;
            if half == 0 {
                continue;
            }
            children.push(node - half);
            // The nearest node that there is below on the other side.
            let below = std::iter::successors(Some(half), |half| (*half > 1).then_some(half / 2));
            children.extend(below.map(|half| node + half).find(|&child| child <= nodes));
        }
        let root = if nodes == 0 { 0 } else { 1 << nodes.ilog2() };
        Self { children, root }
    }

    /// Two trees over the same nodes, such that none but one is an inner node of both.
    fn two(nodes: usize) -> [Self; 2] {
        let first = Self::in_order(nodes);
        // Nodes change their parity: mirrored if their number is even, else shifted by one.
        let other = |node: usize| if nodes.is_multiple_of(2) { nodes + 1 - node } else { node % nodes + 1 };
        let mut children = vec![Vec::new(); nodes + 1];
        for (node, of) in first.children.iter().enumerate().skip(1) {
            children[other(node)] = of.iter().map(|&child| other(child)).collect();
        }
        let root = if nodes == 0 { 0 } else { other(first.root) };
        [first, Self { children, root }]
    }

    /// Nodes, each after its parent.
    fn downwards(&self) -> Vec<usize> {
        let mut order = vec![self.root];
        let mut next = 0;
        while next < order.len() {
            order.extend(&self.children[order[next]]);
            next += 1;
        }
        order
    }
}

/// The root sends the chunks to two trees of the others in turn.
pub(super) fn broadcast(messages: &mut Messages) {
    let n = messages.n();
    let begin = messages.last.clone();
    let mut last = vec![Vec::new(); n];
    let trees = Tree::two(n - 1);
    each_chunk(messages, |messages, tree, bytes| {
        let tree = &trees[tree];
        let first = messages.chunk(0, tree.root, bytes, &begin[0], &begin[tree.root]);
        last[0].push(first.send);
        last[tree.root].push(first.receive);
        down(messages, tree, bytes, &[first.receive], |node| node, &begin, &mut last);
    });
    messages.last = last;
}

/// Each chunk goes up its tree and is added on the way; then the sum goes down.
pub(super) fn all_reduce(messages: &mut Messages) {
    let n = messages.n();
    let begin = messages.last.clone();
    let mut last = vec![Vec::new(); n];
    let trees = Tree::two(n);
    let member = |node: usize| node - 1;
    each_chunk(messages, |messages, tree, bytes| {
        let tree = &trees[tree];
        // What each node has to have before it sends the sum of those below.
        let mut below: Vec<Vec<Op>> =
            (0..=n).map(|node| if node == 0 { Vec::new() } else { begin[member(node)].clone() }).collect();
        for &parent in tree.downwards().iter().rev() {
            for &child in &tree.children[parent] {
                let (from, to) = (member(child), member(parent));
                let message = messages.chunk(from, to, bytes, &below[child].clone(), &begin[to]);
                below[parent].push(message.receive);
                last[from].push(message.send);
            }
        }
        let sum = std::mem::take(&mut below[tree.root]);
        down(messages, tree, bytes, &sum, member, &begin, &mut last);
        last[member(tree.root)].extend(sum);
    });
    messages.last = last;
}

/// For each chunk: the number of its tree, and its bytes. Each tree has half of the bytes in so many chunks.
fn each_chunk(messages: &mut Messages, mut add: impl FnMut(&mut Messages, usize, u64)) {
    let (size, chunks) = (messages.size, messages.chunks);
    for chunk in 0..chunks {
        for tree in 0..2 {
            let half = Messages::part(size, tree, 2);
            add(messages, tree as usize, Messages::part(half, chunk, chunks));
        }
    }
}

/// From the root to all nodes, once the root has what it needs.
fn down(
    messages: &mut Messages,
    tree: &Tree,
    bytes: u64,
    root: &[Op],
    member: impl Fn(usize) -> usize,
    begin: &[Vec<Op>],
    last: &mut [Vec<Op>],
) {
    let mut got: Vec<Vec<Op>> = vec![Vec::new(); tree.children.len()];
    got[tree.root] = root.to_vec();
    for parent in tree.downwards() {
        for &child in &tree.children[parent] {
            let (from, to) = (member(parent), member(child));
            let message = messages.chunk(from, to, bytes, &got[parent].clone(), &begin[to]);
            got[child] = vec![message.receive];
            last[from].push(message.send);
            last[to].push(message.receive);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_trees_span_all_nodes_and_share_one_inner_node_at_most() {
        for nodes in 1..70 {
            let trees = Tree::two(nodes);
            for tree in &trees {
                let mut order = tree.downwards();
                assert!(tree.children.iter().all(|children| children.len() <= 2), "{nodes}");
                order.sort_unstable();
                assert_eq!(order, (1..=nodes).collect::<Vec<_>>());
            }
            let inner = |tree: &Tree, node: usize| !tree.children[node].is_empty();
            let both = (1..=nodes).filter(|&node| inner(&trees[0], node) && inner(&trees[1], node)).count();
            assert!(both <= 1, "{nodes} nodes: {both}");
        }
    }
}
