//! The order of the stamps of a file: where it begins and ends, what goes back in time, and where it is silent.

/// Silences kept; there are more only if they are shorter than a few thousandths of the file.
const SILENCES: usize = 100_000;

/// Watches the stamps go by.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    started: bool,
    pub(crate) first: i64,
    /// The latest stamp so far.
    pub(crate) last: i64,
    /// Records earlier than one before them, and the largest step back in nanoseconds.
    pub(crate) late: u64,
    pub(crate) step_back: u64,
    /// The longest step forward, and where it began.
    pub(crate) longest: i64,
    pub(crate) longest_at: i64,
    /// Steps forward longer than `limit`, as (from, to), in order.
    pub(crate) silences: Vec<(i64, i64)>,
    limit: i64,
    /// Steps up to this need no thought.
    calm: i64,
}

impl Order {
    /// Silences longer than `limit` are kept.
    pub(crate) fn new(limit: Option<i64>) -> Self {
        Self {
            started: false,
            first: 0,
            last: i64::MIN,
            late: 0,
            step_back: 0,
            longest: 0,
            longest_at: 0,
            silences: Vec::new(),
            limit: limit.unwrap_or(i64::MAX),
            calm: 0,
        }
    }

    pub(crate) fn started(&self) -> bool {
        self.started
    }

    /// Whether the stamp needs no thought: not the first, not back in time, and not after the longest silence.
    #[inline]
    pub(crate) fn calm(&mut self, at: i64) -> bool {
        // `last` is NOWHERE only before the first; then the step wraps to something large.
        if (at.wrapping_sub(self.last) as u64) <= self.calm as u64 {
            self.last = at;
            return true;
        }
        false
    }

    /// Takes a stamp that is not calm.
    #[cold]
    #[inline(never)]
    pub(crate) fn note(&mut self, at: i64) {
        if !self.started {
            (self.started, self.first, self.last) = (true, at, at);
            return;
        }
        if at < self.last {
            self.late += 1;
            self.step_back = self.step_back.max(self.last.abs_diff(at));
            self.first = self.first.min(at);
            self.interrupt_silence(at);
            return;
        }
        let step = at - self.last;
        if step > self.longest {
            (self.longest, self.longest_at) = (step, self.last);
        }
        if step > self.limit && self.silences.len() < SILENCES {
            self.silences.push((self.last, at));
        }
        self.calm = self.longest.min(self.limit);
        self.last = at;
    }

    /// A record that came late was inside what looked like silence.
    fn interrupt_silence(&mut self, at: i64) {
        let slot = self.silences.partition_point(|&(_, to)| to <= at);
        let Some(&(from, to)) = self.silences.get(slot) else { return };
        if from < at {
            let parts = [(from, at), (at, to)].into_iter().filter(|(from, to)| to - from > self.limit);
            self.silences.splice(slot..=slot, parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(limit: Option<i64>, stamps: &[i64]) -> Order {
        let mut order = Order::new(limit);
        for &at in stamps {
            if !order.calm(at) {
                order.note(at);
            }
        }
        order
    }

    #[test]
    fn steps_back_and_silences_are_found() {
        let order = watch(Some(50), &[10, 20, 15, 5, 30, 100, 101, 300, 299]);
        assert_eq!((order.first, order.last, order.late, order.step_back), (5, 300, 3, 15));
        assert_eq!((order.longest, order.longest_at), (199, 101));
        assert_eq!(order.silences, [(30, 100), (101, 299)]);
    }

    #[test]
    fn a_late_record_ends_a_silence() {
        assert_eq!(watch(Some(50), &[0, 100, 60]).silences, [(0, 60)]);
        assert_eq!(watch(Some(50), &[0, 200, 100]).silences, [(0, 100), (100, 200)]);
        assert_eq!(watch(Some(50), &[0, 60, 30]).silences, []);
        assert_eq!(watch(None, &[0, 1_000_000]).silences, []);
    }
}
