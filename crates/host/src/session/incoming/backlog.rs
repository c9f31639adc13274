//! What the application is told, and how much of it may wait.

use std::net::SocketAddr;

use crate::session::Failure;

/// What the news of a block takes besides its bytes, at least.
const NEWS: u64 = 128;

/// What the application is told.
#[derive(Debug)]
pub(crate) enum News {
    /// What the object is: it is accepted or refused.
    Found,
    /// Bytes at their place.
    Block { offset: u64, bytes: Vec<u8> },
    /// All bytes were handed over.
    Complete,
    /// What is sent to the group is not for this session any more.
    Detached,
    /// One of several servers sends nothing that is taken any more, and why.
    Excluded { peer: SocketAddr, why: String },
    /// One of several servers did not send in time what it alone was asked for.
    Withheld { peer: SocketAddr },
    /// There will be nothing more.
    Failed(Failure),
}

/// What the application has not taken yet.
#[derive(Debug)]
pub(super) struct Backlog {
    news: Vec<News>,
    /// Bytes of blocks that the application has not taken, also of those that the host has taken from here.
    untaken: u64,
    /// Of more no block is wanted.
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

    /// A block has been taken by the application. Whether there is room for more again.
    pub(super) fn on_taken(&mut self, bytes: usize) -> bool {
        let was_full = self.is_full();
        self.untaken = self.untaken.saturating_sub(bytes as u64 + NEWS);
        was_full && !self.is_full()
    }

    /// Whether the application has so many blocks to take that no more are wanted.
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
