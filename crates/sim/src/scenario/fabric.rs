//! `[fabric]`: the network. The topologies bring their own configuration; here their errors find their place.

use crate::fabric::topology::TopologyError;
use crate::workload::Fault;

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
