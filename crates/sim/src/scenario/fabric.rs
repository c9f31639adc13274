//! `[fabric]`: the network. The topologies bring their own configuration; here their errors find their place.

use super::windows::Paths;
use crate::fabric::graph::Graph;
use crate::fabric::routing::Routes;
use crate::fabric::topology::{TopologyConfig, TopologyError};
use crate::workload::Fault;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The fabric that was built last: the points of a sweep that share one follow each other.
#[derive(Debug, Default)]
pub(super) struct Fabrics(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    config: TopologyConfig,
    graph: Arc<Graph>,
    /// With all links up; made when they are asked for.
    routes: Option<Arc<Routes>>,
}

impl Fabrics {
    /// The fabric of this configuration.
    pub(super) fn get(&self, config: &TopologyConfig, base: &Path) -> Result<Arc<Graph>, TopologyError> {
        self.with(config, base, |known| Arc::clone(&known.graph))
    }

    /// The same with its shortest paths.
    pub(super) fn paths(&self, config: &TopologyConfig, base: &Path) -> Result<Paths, TopologyError> {
        self.with(config, base, |known| {
            let graph = Arc::clone(&known.graph);
            let routes = known.routes.get_or_insert_with(|| Arc::new(Routes::build(&graph, |_| true)));
            Paths { routes: Arc::clone(routes), graph }
        })
    }

    fn with<T>(
        &self,
        config: &TopologyConfig,
        base: &Path,
        take: impl FnOnce(&mut Known) -> T,
    ) -> Result<T, TopologyError> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *last {
            Some(known) if known.config == *config => Ok(take(known)),
            last => {
                let graph = Arc::new(config.build(base)?);
                Ok(take(last.insert(Known { config: config.clone(), graph, routes: None })))
            }
        }
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
