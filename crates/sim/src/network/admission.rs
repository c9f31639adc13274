//! Which sessions may begin: the rules that controllers have set, and the sessions that wait for one to be lifted.

use super::ledger::Ledger;
use super::session_group::SessionGroup;
use crate::control::{Request, Rule, Verdict};
use crate::workload::Session;

/// Rules, and who waits.
#[derive(Default)]
pub(super) struct Admission {
    /// Every rule that was ever set, with what it says now: its place is its number.
    rules: Vec<(Rule, Verdict)>,
    /// Sessions that are held, in order of arrival.
    held: Vec<u32>,
    /// A rule has changed since [`take_released`](Self::take_released).
    changed: bool,
}

impl Admission {
    /// Sets what becomes of flows that a rule is about. The number of the rule, and whether it is new.
    pub(super) fn set(&mut self, rule: Rule, verdict: Verdict) -> (u32, bool) {
        self.changed = true;
        if let Some(number) = self.rules.iter().position(|(known, _)| *known == rule) {
            self.rules[number].1 = verdict;
            return (number as u32, false);
        }
        self.rules.push((rule, verdict));
        (self.rules.len() as u32 - 1, true)
    }

    /// What becomes of a session that wants to begin: the strictest of all rules about it.
    pub(super) fn verdict(&self, spec: &Session, group: &SessionGroup) -> Verdict {
        let request = Request { sources: &spec.sources, destinations: &spec.sinks, port: group.port, size: spec.size };
        let about = |verdict| self.rules.iter().any(|(rule, says)| *says == verdict && rule.matches(&request));
        if about(Verdict::Refuse) {
            Verdict::Refuse
        } else if about(Verdict::Hold) {
            Verdict::Hold
        } else {
            Verdict::Admit
        }
    }

    /// A session has to wait.
    pub(super) fn hold(&mut self, session: u32) {
        self.held.push(session);
    }

    /// A session that waits ends before it has begun. False if it does not wait.
    pub(super) fn remove(&mut self, session: u32) -> bool {
        let place = self.held.iter().position(|&held| held == session);
        place.map(|place| self.held.remove(place)).is_some()
    }

    /// How many sessions wait.
    pub(super) fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Whether a session waits.
    pub(super) fn is_held(&self, session: u32) -> bool {
        self.held.contains(&session)
    }

    /// Takes the sessions that need no longer wait, in order of arrival, with what becomes of each.
    pub(super) fn take_released(&mut self, ledger: &Ledger) -> Vec<(u32, Verdict)> {
        if !std::mem::take(&mut self.changed) || self.held.is_empty() {
            return Vec::new();
        }
        let verdicts = std::mem::take(&mut self.held).into_iter().map(|session| {
            let spec = &ledger.specs()[session as usize];
            (session, self.verdict(spec, ledger.group_of(spec)))
        });
        let (held, released): (Vec<_>, Vec<_>) = verdicts.partition(|(_, verdict)| *verdict == Verdict::Hold);
        self.held = held.into_iter().map(|(session, _)| session).collect();
        released
    }
}
