//! Maximum-weight bipartite matching where vertices stand for several hosts that are alike: the transportation problem.

use std::collections::VecDeque;

/// A problem: how many hosts each row and each column stands for, and what one unit from row to column is worth. Pairs that
/// are not listed are worth nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Problem {
    pub(super) rows: Vec<u64>,
    pub(super) columns: Vec<u64>,
    /// Row, column and weight above zero; each pair once, in order of rows.
    pub(super) edges: Vec<(u32, u32, i128)>,
}

/// What goes from which row to which column, and what it is worth together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Matching {
    pub(super) value: i128,
    pub(super) flows: Vec<(u32, u32, u64)>,
}

/// Cells of the largest dense problem that is tried: 512 MB of weights.
const MOST_CELLS: usize = 1 << 26;

impl Problem {
    /// Bounds of the value: the best edge of every row, and of every column.
    pub(super) fn bound(&self) -> i128 {
        let (mut rows, mut columns) = (vec![0; self.rows.len()], vec![0; self.columns.len()]);
        for &(r, c, w) in &self.edges {
            rows[r as usize] = w.max(rows[r as usize]);
            columns[c as usize] = w.max(columns[c as usize]);
        }
        let sum = |best: &[i128], sizes: &[u64]| best.iter().zip(sizes).map(|(w, &n)| w * i128::from(n)).sum();
        let (by_rows, by_columns): (i128, i128) = (sum(&rows, &self.rows), sum(&columns, &self.columns));
        by_rows.min(by_columns)
    }

    /// The best matching; `None` if the problem is too large.
    pub(super) fn solve(&self) -> Option<Matching> {
        let bound = self.bound();
        let greedy = self.greedy();
        if greedy.value == bound {
            return Some(greedy);
        }
        let first = self.edges.first().map_or(0, |e| e.2);
        if self.edges.iter().all(|e| e.2 == first) {
            return Some(self.largest(first));
        }
        if self.rows.len().saturating_mul(self.columns.len()) > MOST_CELLS {
            return None;
        }
        if self.rows.iter().sum::<u64>() <= self.columns.iter().sum() {
            return Some(self.heaviest());
        }
        let edges = self.edges.iter().map(|&(r, c, w)| (c, r, w)).collect();
        let turned = Self { rows: self.columns.clone(), columns: self.rows.clone(), edges };
        let mut found = turned.heaviest();
        found.flows.iter_mut().for_each(|f| *f = (f.1, f.0, f.2));
        Some(found)
    }

    /// The heaviest edges first, as much of each as there is room for.
    fn greedy(&self) -> Matching {
        let mut order: Vec<usize> = (0..self.edges.len()).collect();
        order.sort_by_key(|&e| std::cmp::Reverse(self.edges[e].2));
        let (mut rows, mut columns) = (self.rows.clone(), self.columns.clone());
        let mut found = Matching::default();
        for (r, c, w) in order.into_iter().map(|e| self.edges[e]) {
            let flow = rows[r as usize].min(columns[c as usize]);
            if flow > 0 {
                rows[r as usize] -= flow;
                columns[c as usize] -= flow;
                found.value += w * i128::from(flow);
                found.flows.push((r, c, flow));
            }
        }
        found
    }

    /// All edges being worth the same, a maximum flow by shortest augmenting paths, layer by layer (Hopcroft and Karp; Dinic).
    fn largest(&self, weight: i128) -> Matching {
        let mut start = vec![0; self.rows.len() + 1];
        for &(r, ..) in &self.edges {
            start[r as usize + 1] += 1;
        }
        for r in 0..self.rows.len() {
            start[r + 1] += start[r];
        }
        let mut graph = Layered {
            edges: &self.edges,
            start,
            flow: vec![0; self.edges.len()],
            supply: self.rows.clone(),
            room: self.columns.clone(),
            back: vec![Vec::new(); self.columns.len()],
            depth: Vec::new(),
            next: Vec::new(),
        };
        for (e, &(_, c, _)) in self.edges.iter().enumerate() {
            graph.back[c as usize].push(e as u32);
        }
        while graph.layers() {
            graph.next.clone_from(&graph.start);
            for r in 0..self.rows.len() {
                while graph.supply[r] > 0 {
                    let pushed = graph.push(r, graph.supply[r]);
                    if pushed == 0 {
                        break;
                    }
                    graph.supply[r] -= pushed;
                }
            }
        }
        let flows: Vec<_> =
            self.edges.iter().zip(&graph.flow).filter(|(_, f)| **f > 0).map(|(&(r, c, _), &f)| (r, c, f)).collect();
        Matching { value: weight * flows.iter().map(|f| i128::from(f.2)).sum::<i128>(), flows }
    }

    /// The Hungarian method by shortest augmenting paths (Jonker and Volgenant 1987), with supplies. There is at least as much
    /// room in the columns as supply in the rows, so that all of it is placed, some of it for nothing.
    #[expect(
        clippy::many_single_char_names,
        reason = "the names of the literature: u and v are the potentials, i and j rows and columns"
    )]
    fn heaviest(&self) -> Matching {
        let (m, n) = (self.rows.len(), self.columns.len());
        let top = self.edges.iter().map(|e| e.2).max().unwrap_or(0);
        let mut cost = vec![top; m * n];
        for &(r, c, w) in &self.edges {
            cost[r as usize * n + c as usize] = top - w;
        }
        let (mut u, mut v) = (vec![0_i128; m], vec![0_i128; n]);
        let mut room = self.columns.clone();
        let mut held: Vec<Vec<(usize, u64)>> = vec![Vec::new(); n];
        for r in 0..m {
            let mut supply = self.rows[r];
            while supply > 0 {
                let mut least = vec![i128::MAX; n];
                let mut by = vec![usize::MAX; n];
                let mut done = vec![false; n];
                // Rows of the tree, their distances and the columns through which they were reached.
                let mut tree = vec![(r, 0_i128, usize::MAX)];
                let mut in_tree = vec![usize::MAX; m];
                in_tree[r] = 0;
                let mut fresh = 0;
                let (end, distance) = loop {
                    for &(i, d, _) in &tree[fresh..] {
                        let row = &cost[i * n..(i + 1) * n];
                        for j in 0..n {
                            let there = d + row[j] - u[i] - v[j];
                            if !done[j] && there < least[j] {
                                (least[j], by[j]) = (there, i);
                            }
                        }
                    }
                    fresh = tree.len();
                    let j = (0..n).filter(|&j| !done[j]).min_by_key(|&j| least[j]).expect("there is room for all");
                    done[j] = true;
                    if room[j] > 0 {
                        break (j, least[j]);
                    }
                    for &(i, _) in &held[j] {
                        if in_tree[i] == usize::MAX {
                            in_tree[i] = tree.len();
                            tree.push((i, least[j], j));
                        }
                    }
                };
                for &(i, d, _) in &tree {
                    u[i] += distance - d;
                }
                for j in (0..n).filter(|&j| done[j] && j != end) {
                    v[j] -= distance - least[j];
                }
                // How much can go along the path, and then along it.
                let mut amount = supply.min(room[end]);
                let mut path = Vec::new();
                let mut j = end;
                loop {
                    let i = by[j];
                    path.push((i, j));
                    let through = tree[in_tree[i]].2;
                    if through == usize::MAX {
                        break;
                    }
                    let holds = held[through].iter().find(|h| h.0 == i).expect("it was reached through what it holds");
                    amount = amount.min(holds.1);
                    j = through;
                }
                for &(i, j) in &path {
                    match held[j].iter_mut().find(|h| h.0 == i) {
                        Some(holds) => holds.1 += amount,
                        None => held[j].push((i, amount)),
                    }
                    let through = tree[in_tree[i]].2;
                    if through != usize::MAX {
                        let holds = held[through].iter_mut().find(|h| h.0 == i).expect("as above");
                        holds.1 -= amount;
                        held[through].retain(|h| h.1 > 0);
                    }
                }
                room[end] -= amount;
                supply -= amount;
            }
        }
        let mut found = Matching::default();
        for (j, holds) in held.iter().enumerate() {
            for &(i, amount) in holds {
                let worth = top - cost[i * n + j];
                if worth > 0 {
                    found.value += worth * i128::from(amount);
                    found.flows.push((i as u32, j as u32, amount));
                }
            }
        }
        found
    }
}

struct Layered<'a> {
    edges: &'a [(u32, u32, i128)],
    /// First edge of each row.
    start: Vec<usize>,
    flow: Vec<u64>,
    supply: Vec<u64>,
    room: Vec<u64>,
    /// Edges into each column.
    back: Vec<Vec<u32>>,
    /// Layer of each row; `u32::MAX` if it is not reached.
    depth: Vec<u32>,
    /// Where each row goes on.
    next: Vec<usize>,
}

impl Layered<'_> {
    /// Layers from the rows with supply; whether a column with room is reached.
    fn layers(&mut self) -> bool {
        self.depth = self.supply.iter().map(|&s| if s > 0 { 0 } else { u32::MAX }).collect();
        let mut open: VecDeque<usize> = (0..self.supply.len()).filter(|&r| self.supply[r] > 0).collect();
        let mut seen = vec![false; self.room.len()];
        let mut found = false;
        while let Some(r) = open.pop_front() {
            for e in self.start[r]..self.start[r + 1] {
                let c = self.edges[e].1 as usize;
                if std::mem::replace(&mut seen[c], true) {
                    continue;
                }
                found |= self.room[c] > 0;
                for &b in &self.back[c] {
                    let other = self.edges[b as usize].0 as usize;
                    if self.flow[b as usize] > 0 && self.depth[other] == u32::MAX {
                        self.depth[other] = self.depth[r] + 1;
                        open.push_back(other);
                    }
                }
            }
        }
        found
    }

    /// Pushes flow from a row along the layers.
    fn push(&mut self, r: usize, most: u64) -> u64 {
        while self.next[r] < self.start[r + 1] {
            let e = self.next[r];
            let c = self.edges[e].1 as usize;
            if self.room[c] > 0 {
                let amount = most.min(self.room[c]);
                self.room[c] -= amount;
                self.flow[e] += amount;
                return amount;
            }
            for at in 0..self.back[c].len() {
                let b = self.back[c][at] as usize;
                let other = self.edges[b].0 as usize;
                // Another row gives up its place and finds one elsewhere.
                if self.flow[b] > 0 && self.depth[other] == self.depth[r] + 1 {
                    let amount = self.push(other, most.min(self.flow[b]));
                    if amount > 0 {
                        self.flow[b] -= amount;
                        self.flow[e] += amount;
                        return amount;
                    }
                }
            }
            self.next[r] += 1;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All matchings of a problem whose rows stand for one host each.
    fn brute(problem: &Problem, row: usize, room: &mut Vec<u64>) -> i128 {
        if row == problem.rows.len() {
            return 0;
        }
        let mut best = brute(problem, row + 1, room);
        for &(_, c, w) in problem.edges.iter().filter(|e| e.0 as usize == row) {
            if room[c as usize] > 0 {
                room[c as usize] -= 1;
                best = best.max(w + brute(problem, row + 1, room));
                room[c as usize] += 1;
            }
        }
        best
    }

    /// The same with every row split into rows of one host.
    fn split(problem: &Problem) -> Problem {
        let mut one = Problem { rows: Vec::new(), columns: problem.columns.clone(), edges: Vec::new() };
        for (r, &size) in problem.rows.iter().enumerate() {
            for _ in 0..size {
                let edges = problem.edges.iter().filter(|e| e.0 as usize == r);
                one.edges.extend(edges.map(|&(_, c, w)| (one.rows.len() as u32, c, w)));
                one.rows.push(1);
            }
        }
        one
    }

    proptest! {
        #[test]
        fn the_best_of_all_matchings(
            rows in prop::collection::vec(1..3_u64, 1..4),
            columns in prop::collection::vec(1..3_u64, 1..4),
            weights in prop::collection::vec(0..5_i128, 9),
            uniform: bool,
        ) {
            let cells = (0..rows.len()).flat_map(|r| (0..columns.len()).map(move |c| (r, c)));
            let edges = cells
                .map(|(r, c)| (r as u32, c as u32, if uniform { weights[r * 3 + c].min(1) } else { weights[r * 3 + c] }))
                .filter(|e| e.2 > 0)
                .collect();
            let problem = Problem { rows, columns, edges };
            let found = problem.solve().unwrap();
            prop_assert_eq!(found.value, brute(&split(&problem), 0, &mut problem.columns.clone()));
            prop_assert!(found.value <= problem.bound());
            let weight = |r, c| problem.edges.iter().find(|e| (e.0, e.1) == (r, c)).unwrap().2;
            prop_assert_eq!(found.flows.iter().map(|&(r, c, f)| weight(r, c) * i128::from(f)).sum::<i128>(), found.value);
            for (r, &size) in problem.rows.iter().enumerate() {
                prop_assert!(found.flows.iter().filter(|f| f.0 as usize == r).map(|f| f.2).sum::<u64>() <= size);
            }
            for (c, &size) in problem.columns.iter().enumerate() {
                prop_assert!(found.flows.iter().filter(|f| f.1 as usize == c).map(|f| f.2).sum::<u64>() <= size);
            }
        }
    }
}
