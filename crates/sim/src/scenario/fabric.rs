//! `[fabric]`: the network. The topologies bring their own configuration; here their errors find their place.

use crate::fabric::graph::Graph;
use crate::fabric::topology::{TopologyConfig, TopologyError};
use crate::workload::Fault;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The fabric that was built last: the points of a sweep that share one follow each other.
#[derive(Debug, Default)]
pub(super) struct Fabrics(Mutex<Option<(TopologyConfig, Arc<Graph>)>>);

impl Fabrics {
    /// The fabric of this configuration.
    pub(super) fn get(&self, config: &TopologyConfig, base: &Path) -> Result<Arc<Graph>, TopologyError> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, graph)) = &*last
            && known == config
        {
            return Ok(Arc::clone(graph));
        }
        let graph = Arc::new(config.build(base)?);
        *last = Some((config.clone(), Arc::clone(&graph)));
        Ok(graph)
    }
}

/// A topology's error as a fault of the `[fabric]` table.
pub(super) fn fault(error: &TopologyError) -> Fault {
    let text = error.to_string();
    let (message, hint) = match text.split_once('\n') {
        Some((message, rest)) => (message, rest.trim().strip_prefix("hint:").map(str::trim)),
        None => (text.as_str(), None),
    };
    let fault = Fault::new(error.key().unwrap_or_default(), message);
    match hint {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}
