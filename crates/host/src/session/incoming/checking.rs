//! How a session that receives handles verdicts on blocks: it hands over right blocks, fetches wrong ones again, and identifies the senders of wrong
//! symbols.

use std::net::SocketAddr;

use anabranch_transport::{Peer, Time};

use super::checker::Checked;
use super::{Ending, Failure, Incoming, News, Phase};
use crate::SealError;
use crate::wire::{Control, HashesRepr};

/// Why a server is excluded.
const WRONG: &str = "sent bytes that are not of the object";

/// Bytes of a request for hashes, and of all that a receiver sends besides pulls before its sender has shown that it is alive: the answer, and the
/// report that nothing arrives by the group.
const ASK_BYTES: u64 = 1000;

impl Incoming {
    /// A block is complete.
    pub(super) fn check_block(&mut self, now: Time, block: u32) {
        let (Some(receiver), Some(checker)) = (self.transport.receiver(), &mut self.checker) else { return };
        checker.on_block(block, receiver.take_block(block));
        let checked = checker.check(Some(block));
        self.judge(now, checked);
    }

    /// A page of hashes has arrived.
    pub(crate) fn on_hashes(&mut self, now: Time, index: usize, hashes: HashesRepr) {
        if self.lanes[index].has_refused() {
            return self.lanes[index].tell_refused();
        }
        let Some(checker) = &mut self.checker else { return };
        let news = checker.hashes.on_page(now, index, hashes.page, hashes.hashes);
        if let Some(sender) = news.wrong {
            self.exclude(now, sender);
        }
        if news.more
            && let Some(checker) = &mut self.checker
        {
            let checked = checker.check(None);
            self.judge(now, checked);
            self.drain(now);
        }
    }

    fn judge(&mut self, now: Time, checked: Vec<Checked>) {
        for one in checked {
            match one {
                Checked::Right { block, offset, bytes, wrong_before } => {
                    let Some(receiver) = self.transport.receiver() else { return };
                    receiver.confirm(now, block);
                    self.lifetime.on_progress(now);
                    if !bytes.is_empty() {
                        self.backlog.push(News::Block { offset, bytes });
                    }
                    for sender in wrong_before {
                        self.exclude(now, sender);
                    }
                }
                Checked::Wrong { blocks } => self.fetch_again(now, &blocks),
            }
        }
        if let (Some(receiver), Some(checker)) = (self.transport.receiver(), &mut self.checker) {
            checker.need(now, receiver.complete_blocks());
        }
    }

    /// One of these blocks is wrong. All are fetched again from one sender: if they are wrong again, that sender is the culprit.
    fn fetch_again(&mut self, now: Time, blocks: &[u32]) {
        let (Some(receiver), Some(checker)) = (self.transport.receiver(), &self.checker) else { return };
        if !blocks.iter().all(|&block| checker.has(block)) {
            // They are already being fetched again.
            return;
        }
        let sole = |block: &u32| receiver.sole_sender(*block);
        let culprit =
            blocks.first().and_then(sole).filter(|first| blocks.iter().all(|block| sole(block) == Some(*first)));
        if let Some(culprit) = culprit {
            self.exclude(now, usize::from(culprit));
        }
        let (Some(receiver), Some(checker)) = (self.transport.receiver(), &mut self.checker) else { return };
        let Some(sender) = receiver.another_sender(self.fetched_again_from as Peer) else { return };
        self.fetched_again_from = usize::from(sender);
        for &block in blocks {
            let evidence = receiver.decoder().map(|decoder| decoder.evidence(block));
            checker.reject(block, evidence.filter(|_| culprit.is_none()));
            receiver.reject(now, block, sender);
        }
    }

    /// A sender has sent wrong data: one of several is excluded; with a single one, the session fails.
    fn exclude(&mut self, now: Time, sender: usize) {
        let is_over = matches!(self.lifetime.phase(), Phase::Closed(_) | Phase::Failed);
        if is_over || self.lanes[sender].has_refused() {
            return;
        }
        if self.lanes.len() == 1 {
            self.backlog.push(News::Failed(Failure::WrongBytes { peer: self.lanes[sender].peer() }));
            return self.close(now, Ending::Verified(false));
        }
        self.lanes[sender].on_wrong(WRONG);
        self.tell_excluded(sender, WRONG);
        if let Some(receiver) = self.transport.receiver() {
            receiver.exclude(now, sender as Peer);
        }
        self.end_lane(now, sender);
        self.lanes[sender].tell_refused();
    }

    /// When the session fails because no sender supplies the hashes that it needs.
    pub(super) fn hashes_deadline(&self) -> Option<Time> {
        let checker = self.checker.as_ref().filter(|_| *self.lifetime.phase() == Phase::Receiving)?;
        checker.hashes.waits_since().map(|since| since + self.lifetime.give_up_after())
    }

    /// Why the session fails then: a sender has continued to send symbols, or is not there any more.
    pub(super) fn without_hashes(&self, now: Time) -> Failure {
        if now.since(self.last_symbol) > self.lifetime.give_up_after() / 2 {
            return Failure::TimedOut;
        }
        Failure::NoHashes { from: self.lanes.that_can_be_asked() }
    }

    /// Whether hashes may be asked for now. An offer may carry a forged source address until its sender has shown that it is there: that address gets
    /// at most three times the bytes that arrive from it (RFC 9000 §8.1).
    fn may_ask(&self) -> bool {
        let is_genuine = self.lanes.wanted().is_some() || self.is_proven();
        let allowed = is_genuine || self.sent_bytes + ASK_BYTES <= 3 * self.received_bytes;
        allowed && *self.lifetime.phase() == Phase::Receiving
    }

    /// When hashes are to be asked for next.
    pub(super) fn next_ask(&self) -> Option<Time> {
        let checker = self.checker.as_ref().filter(|_| self.may_ask())?;
        checker.hashes.poll_timeout()
    }

    /// Asks for hashes that are needed now, of the senders in turn, but for slow ones. Returns the sender that is asked.
    pub(super) fn poll_ask(&mut self, now: Time, out: &mut Vec<u8>) -> Result<Option<SocketAddr>, SealError> {
        let may_ask = self.may_ask();
        let is_slow = |lane| self.transport.is_slow(lane);
        let Some(index) = self.lanes.next_to_ask(self.asked_for_hashes, is_slow) else { return Ok(None) };
        let checker = self.checker.as_mut().filter(|_| may_ask);
        let Some(page) = checker.and_then(|checker| checker.hashes.ask(now)) else { return Ok(None) };
        self.asked_for_hashes = index;
        let lane = &mut self.lanes[index];
        lane.control(Control::AskHashes(page), out)?;
        Ok(Some(lane.peer()))
    }
}
