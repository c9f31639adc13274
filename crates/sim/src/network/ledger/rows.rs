//! The rows of sessions. Only those that change take the memory of a [`SessionRow`]: a session that has not begun has none, and what is over is
//! packed into some forty bytes.

use super::{ReceiverRow, SessionRow, Straggler};
use anabranch_transport::{Stats, Time};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Where the row of a session is: in `open`; in `packed`, with this bit; or nowhere.
const PACKED: u64 = 1 << 63;
const NOWHERE: u64 = u64::MAX;

/// The rows of the sessions opened so far.
#[derive(Default)]
pub(super) struct Rows {
    places: Vec<u64>,
    open: Vec<SessionRow>,
    /// Places in `open` whose rows have been packed.
    free: Vec<u32>,
    packed: Vec<u8>,
}

impl Rows {
    /// How many sessions there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The next session has no row before it is [written](Self::write).
    pub(super) fn push_waiting(&mut self) {
        self.places.push(NOWHERE);
    }

    /// The row of the next session.
    pub(super) fn push(&mut self, row: SessionRow) {
        self.push_waiting();
        self.write(self.len() - 1, row);
    }

    /// The row of a session that has none yet.
    pub(super) fn write(&mut self, session: usize, row: SessionRow) {
        let place = self.free.pop().unwrap_or(self.open.len() as u32);
        match self.open.get_mut(place as usize) {
            Some(free) => *free = row,
            None => self.open.push(row),
        }
        self.places[session] = u64::from(place);
    }

    /// Forgets the last session. For rows of which none is packed, as is the next.
    pub(super) fn pop(&mut self) {
        self.places.pop();
        self.open.pop();
    }

    /// All rows, in order.
    pub(super) fn take_all(&mut self) -> Vec<SessionRow> {
        debug_assert!(self.open.len() == self.len(), "all have rows, in order");
        std::mem::take(self).open
    }

    /// Whether a session has none yet.
    pub(super) fn is_waiting(&self, session: usize) -> bool {
        self.places[session] == NOWHERE
    }

    /// The row of a session; `None`: it has none yet, or there is no such session.
    pub(super) fn get(&self, session: usize) -> Option<Cow<'_, SessionRow>> {
        match *self.places.get(session)? {
            NOWHERE => None,
            place if place & PACKED != 0 => Some(Cow::Owned(unpack(&self.packed[(place & !PACKED) as usize..]))),
            place => Some(Cow::Borrowed(&self.open[place as usize])),
        }
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, session: usize) -> Option<&mut SessionRow> {
        let place = *self.places.get(session)?;
        if place == NOWHERE {
            return None;
        }
        if place & PACKED != 0 {
            // Seldom: a late packet of the session was dropped, say. What was packed is left behind.
            let row = unpack(&self.packed[(place & !PACKED) as usize..]);
            self.write(session, row);
        }
        self.open.get_mut(self.places[session] as usize)
    }

    /// Whether a session is over, and nothing has changed since.
    pub(super) fn is_packed(&self, session: usize) -> bool {
        self.places[session] & PACKED != 0 && !self.is_waiting(session)
    }

    /// Whether a session has open endpoints.
    pub(super) fn is_under_way(&self, session: usize) -> bool {
        self.places
            .get(session)
            .and_then(|&place| self.open.get(usize::try_from(place).ok()?))
            .is_some_and(|row| row.open_endpoints > 0)
    }

    /// The session is over: its row needs little memory from now on.
    pub(super) fn pack(&mut self, session: usize) {
        let place = self.places[session];
        let Some(row) = self.open.get(place as usize).filter(|row| row.failure.is_none() && row.groups.is_empty())
        else {
            return;
        };
        self.places[session] = self.packed.len() as u64 | PACKED;
        pack(row, &mut self.packed);
        self.free.push(place as u32);
    }
}

/// A number in as few bytes as it needs, seven bits in each.
fn put(mut number: u64, to: &mut Vec<u8>) {
    while number >= 128 {
        to.push(number as u8 | 128);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Takes such a number.
fn take(from: &mut &[u8]) -> u64 {
    let mut number = 0;
    for place in 0.. {
        let Some((&byte, rest)) = from.split_first() else { break };
        *from = rest;
        number |= u64::from(byte & 127) << (7 * place);
        if byte < 128 {
            break;
        }
    }
    number
}

fn numbers(stats: &Stats) -> [u64; 9] {
    let Stats { data_sent, retransmitted, timeouts, data_received, trimmed_received, .. } = *stats;
    let Stats { marked_received, bytes_delivered, overhead_symbols, decoded_blocks, .. } = *stats;
    [
        data_sent,
        retransmitted,
        timeouts,
        data_received,
        trimmed_received,
        marked_received,
        bytes_delivered,
        overhead_symbols,
        decoded_blocks,
    ]
}

/// Those that are not 0, after a number that says which these are.
fn put_stats(stats: &Stats, to: &mut Vec<u8>) {
    let numbers = numbers(stats);
    let which = (0..).zip(numbers).map(|(place, number)| u64::from(number != 0) << place).sum();
    put(which, to);
    numbers.into_iter().filter(|&number| number != 0).for_each(|number| put(number, to));
}

fn take_stats(from: &mut &[u8]) -> Stats {
    let which = take(from);
    let mut next = |place: u32| if which >> place & 1 == 1 { take(from) } else { 0 };
    Stats {
        data_sent: next(0),
        retransmitted: next(1),
        timeouts: next(2),
        data_received: next(3),
        trimmed_received: next(4),
        marked_received: next(5),
        bytes_delivered: next(6),
        overhead_symbols: next(7),
        decoded_blocks: next(8),
    }
}

/// A row without failure and groups whose endpoints have closed.
fn pack(row: &SessionRow, to: &mut Vec<u8>) {
    put(row.receivers.len() as u64, to);
    for (receiver, &sender) in row.receivers.iter().zip(&row.senders) {
        let straggler = match receiver.straggler {
            None => 0,
            Some(Straggler::Detached) => 1,
            Some(Straggler::Dropped) => 2,
        };
        put(straggler << 2 | u64::from(receiver.lost) << 1 | u64::from(receiver.completed.is_some()), to);
        put(receiver.completed.map_or(0, Time::ps), to);
        put_stats(&receiver.stats, to);
        for number in [receiver.ideal_path, receiver.changes, sender] {
            put(u64::from(number), to);
        }
    }
    put_stats(&row.sent, to);
    for number in [row.packets_trimmed, row.packets_dropped, u64::from(row.parts)] {
        put(number, to);
    }
    for number in [row.first_endpoint, row.endpoints] {
        put(u64::from(number), to);
    }
}

fn unpack(mut from: &[u8]) -> SessionRow {
    let from = &mut from;
    let (mut receivers, mut senders) = (SmallVec::new(), SmallVec::new());
    for _ in 0..take(from) {
        let flags = take(from);
        let completed = Time(take(from));
        receivers.push(ReceiverRow {
            completed: (flags & 1 == 1).then_some(completed),
            stats: take_stats(from),
            straggler: [None, Some(Straggler::Detached), Some(Straggler::Dropped)][(flags >> 2) as usize],
            lost: flags & 2 == 2,
            ideal_path: take(from) as u32,
            changes: take(from) as u32,
        });
        senders.push(take(from) as u32);
    }
    SessionRow {
        receivers,
        sent: take_stats(from),
        packets_trimmed: take(from),
        packets_dropped: take(from),
        failure: None,
        senders,
        parts: take(from) as u16,
        open_endpoints: 0,
        groups: Vec::new(),
        first_endpoint: take(from) as u32,
        endpoints: take(from) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn row(number: u64) -> SessionRow {
        let stats = Stats { data_received: number, bytes_delivered: u64::MAX, decoded_blocks: 3, ..Stats::default() };
        let receiver = |n: u32| ReceiverRow {
            completed: (n > 0).then_some(Time(number << n)),
            stats,
            straggler: [None, Some(Straggler::Detached), Some(Straggler::Dropped)][n as usize % 3],
            lost: n == 2,
            ideal_path: n,
            changes: 300,
        };
        SessionRow {
            receivers: (0..3).map(receiver).collect(),
            sent: Stats { data_sent: 127, retransmitted: 128, timeouts: 1, ..Stats::default() },
            packets_trimmed: 1 << 40,
            packets_dropped: 0,
            failure: None,
            senders: smallvec![7, 0, u32::MAX],
            parts: 2,
            open_endpoints: 0,
            groups: Vec::new(),
            first_endpoint: 1 << 30,
            endpoints: 6,
        }
    }

    #[test]
    fn what_is_packed_is_the_same() {
        let mut rows = Rows::default();
        (0..100).for_each(|n| rows.push(row(n << (n % 64))));
        (0..100).step_by(2).for_each(|n| rows.pack(n));
        for n in 0..100 {
            let packed = matches!(rows.get(n), Some(Cow::Owned(_)));
            assert_eq!((rows.get(n).as_deref(), packed), (Some(&row((n as u64) << (n % 64))), n % 2 == 0));
        }
        rows.get_mut(4).expect("a row").packets_dropped += 1;
        assert_eq!(rows.get(4).expect("a row").packets_dropped, 1);
        assert_eq!((rows.get(4).map(|row| row.packets_trimmed), rows.get(100)), (Some(1 << 40), None));
    }

    #[test]
    fn rows_that_may_change_are_kept_as_they_are() {
        let mut rows = Rows::default();
        rows.push_waiting();
        assert!(rows.get(0).is_none() && rows.get_mut(0).is_none());
        rows.write(0, SessionRow { failure: Some("an end has given up".to_owned()), ..row(1) });
        rows.push(SessionRow { groups: vec![5], ..row(2) });
        rows.pack(0);
        rows.pack(1);
        assert_eq!(rows.get(0).and_then(|row| row.failure.clone()).as_deref(), Some("an end has given up"));
        assert_eq!(rows.get(1).map(|row| row.groups.clone()), Some(vec![5]));
    }

    /// The memory of what is over: most sessions have one receiver and lose nothing.
    #[test]
    fn a_row_that_is_packed_is_small() {
        let mut plain = row(64);
        (plain.receivers, plain.senders, plain.packets_trimmed) = (plain.receivers[..1].into(), smallvec![1000], 0);
        plain.receivers[0].stats = Stats { data_received: 64, bytes_delivered: 250_000, ..Stats::default() };
        plain.receivers[0].completed = Some(Time(1 << 42));
        plain.sent = Stats { data_sent: 64, ..Stats::default() };
        let mut packed = Vec::new();
        pack(&plain, &mut packed);
        assert!(packed.len() <= 40, "{} bytes", packed.len());
        assert_eq!(unpack(&packed), plain);
    }
}
