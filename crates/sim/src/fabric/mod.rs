//! The network: graph, topologies, routing, links, switches and their queues.

pub mod buffer;
pub mod graph;
pub mod ideal;
pub mod jitter;
pub mod load;
pub mod multicast;
pub mod pfc;
pub mod port;
pub mod queue;
pub mod routing;
pub mod tap;
pub mod topology;
