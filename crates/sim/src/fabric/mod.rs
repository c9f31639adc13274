//! The network: graph, topologies, routing, links, switches and their queues.

pub mod graph;
pub mod queue;
