//! Reports from an endpoint's thread to their reader, for which the thread never waits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::tokio::sync::Notify;

use crate::Report;

/// Maximum number of unread reports that are not [outcomes](Report::is_outcome).
const STEPS: usize = 256;

/// The reports of a transfer, as they happen.
///
/// A transfer never waits for its reader. Of unread successive [progress](Report::Progress) reports only the last is kept;
/// [outcomes](Report::is_outcome) are all kept, and of the others the last 256. The order is preserved. A program that does not read reports drops
/// this: then nothing is kept.
#[derive(Debug)]
pub struct Reports(Arc<Shared>);

/// The sending end, in the endpoint's thread. Dropping it ends the reports.
#[derive(Debug)]
pub(super) struct Reporter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    news: Notify,
}

/// Unread reports, with their numbers.
#[derive(Debug, Default)]
struct Queue {
    outcomes: VecDeque<(u64, Report)>,
    steps: VecDeque<(u64, Report)>,
    /// The number of the next report.
    next: u64,
    /// The reader is gone.
    unread: bool,
    /// There will be no more reports.
    ended: bool,
}

/// Both ends.
pub(super) fn channel() -> (Reporter, Reports) {
    let shared = Arc::<Shared>::default();
    (Reporter(Arc::clone(&shared)), Reports(shared))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&mut self, report: Report) {
        let number = self.next;
        self.next += 1;
        if report.is_outcome() {
            return self.outcomes.push_back((number, report));
        }
        if let (Report::Progress { .. }, Some((last, old))) = (&report, self.steps.back_mut())
            && matches!(old, Report::Progress { .. })
            && *last + 1 == number
        {
            *old = report;
            self.next = number;
            return;
        }
        if self.steps.len() == STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back((number, report));
    }

    fn pop(&mut self) -> Option<Report> {
        let number = |queue: &VecDeque<(u64, Report)>| queue.front().map_or(u64::MAX, |(number, _)| *number);
        let first = if number(&self.outcomes) < number(&self.steps) { &mut self.outcomes } else { &mut self.steps };
        first.pop_front().map(|(_, report)| report)
    }
}

impl Reports {
    /// The next report; `None` when the transfer is over and all reports have been read. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<Report> {
        loop {
            {
                let mut queue = self.0.lock();
                let report = queue.pop();
                if report.is_some() || queue.ended {
                    return report;
                }
            }
            // There is only one reader: a notification between the check and this wait is remembered.
            self.0.news.notified().await;
        }
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        let unread = {
            let mut queue = self.0.lock();
            queue.unread = true;
            (std::mem::take(&mut queue.outcomes), std::mem::take(&mut queue.steps))
        };
        drop(unread);
    }
}

impl Reporter {
    pub(super) fn push(&self, report: Report) {
        let mut queue = self.0.lock();
        if !queue.unread {
            queue.push(report);
            drop(queue);
            self.0.news.notify_one();
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.news.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::tokio::runtime::Builder;

    fn step(file: usize) -> Report {
        Report::Sending { file }
    }

    fn outcome(file: usize) -> Report {
        Report::Sent { file, outcomes: Vec::new(), sent_bytes: 0, symbols: 0 }
    }

    fn progress(bytes: u64) -> Report {
        Report::Progress { bytes, size: 100 }
    }

    /// Each report as text: `s7` is a step, `o7` an outcome, `p7` progress.
    fn shown(report: &Report) -> String {
        match report {
            Report::Sending { file } => format!("s{file}"),
            Report::Sent { file, .. } => format!("o{file}"),
            Report::Progress { bytes, .. } => format!("p{bytes}"),
            other => panic!("{other:?}"),
        }
    }

    fn read(mut reports: Reports) -> Vec<String> {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let mut all = Vec::new();
            while let Some(report) = reports.next().await {
                all.push(shown(&report));
            }
            all
        })
    }

    #[test]
    fn reports_come_in_their_order_and_of_progress_the_last() {
        let (reporter, reports) = channel();
        let all = [progress(1), progress(2), step(0), progress(3), outcome(0), progress(4), progress(5), progress(6)];
        for report in all {
            reporter.push(report);
        }
        drop(reporter);
        assert_eq!(read(reports), ["p2", "s0", "p3", "o0", "p6"]);
    }

    #[test]
    fn who_does_not_read_loses_old_steps_and_no_outcome() {
        let (reporter, reports) = channel();
        for file in 0..1000 {
            for report in [step(file), progress(file as u64), outcome(file)] {
                reporter.push(report);
            }
        }
        assert_eq!(reports.0.lock().steps.len(), STEPS);
        drop(reporter);
        let kept = STEPS / 2;
        let expected = (0..1000).flat_map(|file| {
            let steps = if file < 1000 - kept { vec![] } else { vec![format!("s{file}"), format!("p{file}")] };
            steps.into_iter().chain([format!("o{file}")])
        });
        assert_eq!(read(reports), expected.collect::<Vec<_>>());
    }

    #[test]
    fn nothing_is_kept_for_a_reader_that_has_left() {
        let (reporter, reports) = channel();
        reporter.push(outcome(0));
        let shared = Arc::clone(&reports.0);
        drop(reports);
        reporter.push(outcome(1));
        reporter.push(step(1));
        let queue = shared.lock();
        assert!(queue.outcomes.is_empty() && queue.steps.is_empty());
    }

    #[test]
    fn a_reader_that_waits_is_woken_by_a_report_and_by_the_end() {
        let (reporter, reports) = channel();
        let reader = std::thread::spawn(|| read(reports));
        for file in 0..100 {
            reporter.push(outcome(file));
            std::thread::yield_now();
        }
        drop(reporter);
        assert_eq!(reader.join().expect("no panic").len(), 100);
    }
}
