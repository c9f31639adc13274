//! One sender of a session that receives: opens what it sends, and seals what it is sent.

use std::net::SocketAddr;

use anabranch_transport::{Duration, Time};

use super::lifetime::Ending;
use crate::session::Narrow;
use crate::session::repeat::Repeat;
use crate::session::unpadded::Unpadded;
use crate::wire::{Answer, Control, Cookie, HashesRepr, Open, PullRepr, Request, Salt};
use crate::{SealError, Sealer, Unsealer};

/// One sender.
#[derive(Debug)]
pub(crate) struct Lane {
    peer: SocketAddr,
    session: u32,
    /// The salt with which this end asked or answered.
    salt: Salt,
    sealer: Sealer,
    /// Opens what it sends; for an object that was asked for, from its answer on.
    unsealer: Option<Unsealer>,
    /// For an offer: opens what its sender sends to this end alone, once it has this end's answer.
    confirmed: Option<Unsealer>,
    /// The sender is alive now: its datagrams are not a replay.
    is_proven: bool,
    /// The request, the confirmation that its answer has arrived, or how the session ended.
    repeat: Repeat,
    /// Requests without padding.
    unpadded: Unpadded,
    /// The close, until the sender has answered it.
    unanswered_close: Option<Control>,
    /// Messages that are due.
    due: Option<Control>,
    answer_due: bool,
    cookie: Option<Cookie>,
    /// Bytes that a server has read so far in order to answer, as it says.
    read: Option<u64>,
    /// Why the sender is excluded, and the message that tells it so.
    refused: Option<(String, Control)>,
    ended: bool,
    /// The path from it, or to it, is too small for the session.
    narrow: Option<Narrow>,
}

impl Lane {
    /// A server that is asked.
    pub(crate) fn asked(peer: SocketAddr, session: u32, salt: Salt, sealer: Sealer) -> Self {
        Self {
            peer,
            session,
            salt,
            sealer,
            unsealer: None,
            confirmed: None,
            is_proven: false,
            repeat: Repeat::default(),
            unpadded: Unpadded::default(),
            unanswered_close: None,
            due: None,
            answer_due: false,
            cookie: None,
            read: None,
            refused: None,
            ended: false,
            narrow: None,
        }
    }

    /// A sender that offers.
    pub(crate) fn offering(
        peer: SocketAddr,
        session: u32,
        salt: Salt,
        sealer: Sealer,
        unsealer: Unsealer,
        confirmed: Unsealer,
    ) -> Self {
        let (unsealer, confirmed) = (Some(unsealer), Some(confirmed));
        Self { unsealer, confirmed, ..Self::asked(peer, session, salt, sealer) }
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(super) fn session(&self) -> u32 {
        self.session
    }

    /// The salt of the session.
    pub(super) fn salt(&self) -> Salt {
        self.salt
    }

    /// The salt with which this end asked a server, if it is the opener.
    pub(crate) fn opened_with(&self) -> Option<Salt> {
        self.confirmed.is_none().then_some(self.salt)
    }

    /// Whether the sender is alive now.
    pub(super) fn is_proven(&self) -> bool {
        self.is_proven
    }

    /// Whether nothing more is expected from it.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Whether a server has answered; a sender that offers has.
    pub(super) fn has_answered(&self) -> bool {
        self.unsealer.is_some()
    }

    /// Whether no message is due except repeated ones.
    pub(super) fn is_silent(&self) -> bool {
        self.due.is_none() && !self.answer_due
    }

    /// Whether a server has refused, or its object was refused: nothing that it sends is accepted.
    pub(super) fn has_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// The address of a server that refused, and why.
    pub(super) fn refusal(&self) -> Option<String> {
        self.refused.as_ref().map(|(why, _)| format!("{}: {why}", self.peer))
    }

    pub(crate) fn unsealer(&mut self) -> Option<&mut Unsealer> {
        self.unsealer.as_mut()
    }

    /// Opens a message of the sender; after an offer, it may show that the sender is alive now.
    pub(crate) fn open_control(&mut self, bytes: &mut [u8]) -> Option<Control> {
        if let Some(control) = self.confirmed.as_mut().and_then(|unsealer| unsealer.control(bytes).ok()) {
            self.is_proven = true;
            return Some(control);
        }
        self.unsealer.as_mut()?.control(bytes).ok()
    }

    /// Opens a page of hashes.
    pub(crate) fn open_hashes(&mut self, bytes: &mut [u8]) -> Option<HashesRepr> {
        if let Some(hashes) = self.confirmed.as_mut().and_then(|unsealer| unsealer.hashes(bytes).ok()) {
            return Some(hashes);
        }
        self.unsealer.as_mut()?.hashes(bytes).ok()
    }

    /// Whether it can be asked for hashes now.
    pub(super) fn can_be_asked(&self) -> bool {
        self.has_answered() && !self.ended && !self.has_refused()
    }

    /// Starts asking the server.
    pub(super) fn start(&mut self, now: Time) {
        self.repeat.start(now);
    }

    /// The server need not be asked again, or knows that its answer has arrived.
    pub(super) fn stop(&mut self) {
        self.repeat.stop();
    }

    /// The server wants the request again, with a cookie.
    pub(crate) fn on_retry(&mut self, now: Time, salt: Salt, cookie: Cookie) {
        let is_asking = self.unsealer.is_none() && self.repeat.due().is_some();
        if self.salt == salt && is_asking {
            // Anyone who sees the request can send a retry. The first is answered at once; of later ones, the last one counts when the request is due
            // again. Otherwise a forged retry would keep the genuine one out, or make this end send a large request for each small packet.
            if self.cookie.replace(cookie).is_none() {
                self.repeat.start(now);
            }
        }
    }

    /// The server reads a file before it can answer. Returns whether it has read more since it last said so: a copy of what it has said before keeps
    /// nobody waiting.
    pub(super) fn on_wait(&mut self, now: Time, read: u64) -> bool {
        let more = self.read.is_none_or(|before| read > before);
        if more {
            self.read = Some(read);
            self.repeat.extend(now);
        }
        more
    }

    /// A request without padding has been answered, and nothing else. Returns whether padded ones do not arrive.
    pub(super) fn on_unpadded_answered(&mut self, now: Time) -> bool {
        self.repeat.hurry(now);
        self.unpadded.on_answer()
    }

    /// The server has answered: from now on `unsealer` opens what it sends, and `sealer` seals what it is sent.
    pub(super) fn on_answer(&mut self, now: Time, unsealer: Unsealer, sealer: Sealer) {
        (self.unsealer, self.sealer) = (Some(unsealer), sealer);
        self.is_proven = true;
        // Until a symbol arrives, the server is shown that its answer has arrived: before that it may not send more.
        self.repeat.start(now);
    }

    /// The server has answered after the end: it is told how the session ended.
    pub(super) fn on_late_answer(&mut self, unsealer: Unsealer, sealer: Sealer, ending: &Ending) {
        (self.unsealer, self.sealer) = (Some(unsealer), sealer);
        self.tell_ending(ending);
    }

    /// The server has refused, or its object was refused: it may be told to stop.
    pub(super) fn on_refused(&mut self, why: &str) {
        self.refused = Some((why.to_owned(), Control::Cancel));
    }

    /// It has sent wrong data.
    pub(super) fn on_wrong(&mut self, why: &str) {
        self.refused = Some((why.to_owned(), Control::Close { verified: false }));
    }

    /// The path carries datagrams of at most `bytes` bytes: the server is excluded, and told so.
    pub(super) fn on_narrow(&mut self, narrow: Narrow, bytes: u16) {
        self.narrow = Some(narrow);
        self.refused = Some((narrow.to_string(), Control::Narrow { bytes }));
        self.tell_refused();
    }

    /// Whether its packets do not arrive.
    pub(super) fn narrow(&self) -> Option<Narrow> {
        self.narrow
    }

    /// Bytes of a symbol's datagram besides the symbol.
    pub(super) fn symbol_overhead(&self) -> usize {
        self.sealer.symbol_overhead()
    }

    /// Tells an excluded sender that it is excluded.
    pub(super) fn tell_refused(&mut self) {
        let word = self.refused.as_ref().map(|(_, word)| *word);
        self.due = word.filter(|_| self.unsealer.is_some());
    }

    /// The sender has answered the close.
    pub(super) fn on_close_answered(&mut self) {
        (self.ended, self.due, self.unanswered_close) = (true, None, None);
        self.repeat.stop();
    }

    /// Nothing more is expected from it.
    pub(super) fn end(&mut self) {
        self.ended = true;
        self.repeat.stop();
    }

    /// The session has failed; the sender is notified unless it knows.
    pub(super) fn fail(&mut self) {
        self.repeat.stop();
        if !self.has_refused() {
            self.due = (self.unsealer.is_some() && !self.ended).then_some(Control::Cancel);
        }
    }

    /// The session has ended, and the sender is notified. Whether the object was right is repeated until the sender acknowledges it.
    pub(super) fn close(&mut self, now: Time, ending: &Ending) {
        self.tell_ending(ending);
        let is_answered = |word: &Control| matches!(word, Control::Close { .. } | Control::Narrow { .. });
        self.unanswered_close = self.due.filter(|word| is_answered(word) && self.has_answered() && !self.ended);
        if self.unanswered_close.is_some() {
            self.repeat.start(now);
            self.repeat.take(now);
        }
    }

    /// Tells the sender how the session ended.
    pub(super) fn tell_ending(&mut self, ending: &Ending) {
        self.due = match ending {
            // The object was right, and came from other servers.
            Ending::Verified(_) if self.has_refused() => return self.tell_refused(),
            Ending::Verified(verified) => Some(Control::Close { verified: *verified }),
            Ending::Narrow(bytes) => Some(Control::Narrow { bytes: *bytes }),
            Ending::Cancelled | Ending::Refused(_) | Ending::Had => self.unsealer.is_some().then_some(Control::Cancel),
        };
    }

    /// Tells the sender that this end is still there.
    pub(super) fn tell_keep_alive(&mut self) {
        self.due = Some(Control::KeepAlive);
    }

    /// The offer is to be answered.
    pub(super) fn make_answer_due(&mut self) {
        self.answer_due = true;
    }

    /// Whether the offer is to be answered now.
    pub(super) fn take_answer(&mut self) -> bool {
        std::mem::take(&mut self.answer_due)
    }

    /// Whether the server has not answered for `limit`.
    pub(super) fn is_unanswered(&self, now: Time, limit: Duration) -> bool {
        self.repeat.lasts(now, limit)
    }

    /// When a message is due again, or the server is given up.
    pub(super) fn poll_timeout(&self, limit: Duration) -> Option<Time> {
        self.repeat.due().into_iter().chain(self.repeat.ends(limit)).min().filter(|_| !self.ended)
    }

    /// Appends a message that is due once to `out`. Returns whether there was one.
    pub(super) fn poll_message(&mut self, now: Time, out: &mut Vec<u8>) -> Result<bool, SealError> {
        if self.unanswered_close.is_some() && self.repeat.take(now) {
            self.due = self.unanswered_close;
        }
        let Some(control) = self.due.take() else { return Ok(false) };
        self.control(control, out).map(|()| true)
    }

    /// If it is due, sends the request, or once it is answered a confirmation that the answer has arrived. Returns whether it was due.
    pub(super) fn poll_request(
        &mut self,
        now: Time,
        request: impl FnOnce(Option<Cookie>) -> Request,
        out: &mut Vec<u8>,
    ) -> Result<bool, SealError> {
        let is_due = self.repeat.take(now);
        if !is_due && !self.unpadded.take() {
            return Ok(false);
        }
        if self.unsealer.is_some() {
            self.control(Control::KeepAlive, out)?;
            return Ok(true);
        }
        let request = Open::Request(request(self.cookie.clone()));
        if is_due {
            self.unpadded.on_padded(self.repeat.times());
            self.sealer.open(self.session, 0, &request, out)?;
        } else {
            self.sealer.open_unpadded(self.session, 0, &request, out)?;
        }
        Ok(true)
    }

    /// Seals the answer to the offer.
    pub(super) fn answer(&mut self, answer: &Answer, out: &mut Vec<u8>) -> Result<(), SealError> {
        self.sealer.answer(self.session, answer, out)
    }

    /// Seals a message.
    pub(super) fn control(&mut self, control: Control, out: &mut Vec<u8>) -> Result<(), SealError> {
        self.sealer.control(self.session, control, out)
    }

    /// Seals a packet of pulls.
    pub(super) fn pull(&mut self, packet: &PullRepr, out: &mut Vec<u8>) -> Result<(), SealError> {
        self.sealer.pull(self.session, packet, out)
    }
}
