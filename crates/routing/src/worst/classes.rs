//! Hosts that a scheme treats alike.

use crate::fabric::Fabric;
use crate::schemes::Matters;

/// Sources, or destinations, in classes.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    /// Hosts of each class.
    pub(super) hosts: Vec<Vec<u32>>,
    /// Classes of each rack.
    pub(super) of_rack: Vec<Vec<u32>>,
}

impl Classes {
    pub(super) fn of(fabric: &Fabric, matters: Matters) -> Self {
        let racks = fabric.racks.node.len();
        match matters {
            Matters::Rack => {
                Self { hosts: fabric.racks.hosts.clone(), of_rack: (0..racks as u32).map(|r| vec![r]).collect() }
            }
            Matters::Host => {
                Self { hosts: (0..fabric.hosts()).map(|h| vec![h]).collect(), of_rack: fabric.racks.hosts.clone() }
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.hosts.len()
    }

    pub(super) fn size(&self, class: usize) -> u64 {
        self.hosts[class].len() as u64
    }
}

/// Two different hosts of two classes, if there are.
pub(super) fn pair(sources: &[u32], destinations: &[u32]) -> Option<(u32, u32)> {
    let d = destinations[0];
    match sources.iter().find(|&&s| s != d) {
        Some(&s) => Some((s, d)),
        None => destinations.get(1).map(|&other| (sources[0], other)),
    }
}
