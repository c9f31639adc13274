//! Events for the application, and how much of them may wait.

use std::net::SocketAddr;

use crate::session::{Failure, Narrow};

/// Minimum overhead of a block event besides its bytes.
const NEWS: u64 = 128;

/// An event for the application.
#[derive(Debug)]
pub(crate) enum News {
    /// The object's description has arrived: the application accepts or refuses it.
    Found,
    /// The peer is there now: work in order to decide may begin.
    Confirmed,
    /// Bytes and their offset.
    Block { offset: u64, bytes: Vec<u8> },
    /// All bytes have been handed over.
    Complete,
    /// The group's packets are not for this session any more.
    Detached,
    /// One of several servers has been excluded, and why: nothing that it sends is accepted any more.
    Excluded { peer: SocketAddr, why: String },
    /// One of several servers did not send in time what was asked of it alone.
    Withheld { peer: SocketAddr },
    /// Packets of one of several servers do not arrive: it has been excluded.
    Narrow(Narrow),
    /// The last event.
    Failed(Failure),
}

/// Events that the application has not taken yet.
#[derive(Debug)]
pub(super) struct Backlog {
    news: Vec<News>,
    /// Bytes of blocks that the application has not taken, including those that the host has already taken from here.
    untaken: u64,
    /// No further block is wanted above this limit.
    limit: u64,
}

impl Backlog {
    /// Blocks are wanted while no more than `limit` bytes wait for the application.
    pub(super) fn new(limit: u64) -> Self {
        Self { news: Vec::new(), untaken: 0, limit }
    }

    pub(super) fn push(&mut self, news: News) {
        if let News::Block { bytes, .. } = &news {
            self.untaken += bytes.len() as u64 + NEWS;
        }
        self.news.push(news);
    }

    pub(super) fn take(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// The application has taken a block. Returns whether there is room for more again.
    pub(super) fn on_taken(&mut self, bytes: usize) -> bool {
        let was_full = self.is_full();
        self.untaken = self.untaken.saturating_sub(bytes as u64 + NEWS);
        was_full && !self.is_full()
    }

    /// Whether so many blocks wait for the application that no more are wanted.
    pub(super) fn is_full(&self) -> bool {
        self.untaken > self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_wanted_again_once_there_is_room() {
        let mut backlog = Backlog::new(1000);
        for n in 0..3 {
            assert!(!backlog.is_full(), "{n}");
            backlog.push(News::Block { offset: n, bytes: vec![0; 300] });
        }
        assert!(backlog.is_full());
        assert_eq!(backlog.take().len(), 3);
        assert!(backlog.is_full(), "the host still has them");
        assert!(backlog.on_taken(300) && !backlog.is_full());
        assert!(!backlog.on_taken(300), "there was room before");
    }
}
