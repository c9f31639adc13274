//! Time and events: the scheduler and the packet arena. Knows nothing of networks.

pub mod arena;
pub mod boxes;
pub mod pending;
pub mod periodic;
pub mod prefetch;
pub mod stamps;
pub mod wheel;
