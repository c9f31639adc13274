//! Which flows may begin: rules that hold them back or refuse them.

use anabranch_transport::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flows, by what is known of them when they want to begin. What is `None` is that of any flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// A host that sends.
    pub source: Option<u32>,
    /// A host that receives.
    pub destination: Option<u32>,
    /// Destination port.
    pub port: Option<u16>,
    /// More than so many bytes to send; objects without end are larger than any.
    pub larger_than: Option<Bytes>,
}

/// A flow that wants to begin.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Hosts that send.
    pub sources: &'a [u32],
    /// Hosts that receive.
    pub destinations: &'a [u32],
    /// Destination port; 0: none is given.
    pub port: u16,
    /// Bytes to send; `None`: without end.
    pub size: Option<Bytes>,
}

impl Rule {
    /// Whether it is about a flow.
    pub fn matches(&self, request: &Request<'_>) -> bool {
        self.source.is_none_or(|host| request.sources.contains(&host))
            && self.destination.is_none_or(|host| request.destinations.contains(&host))
            && self.port.is_none_or(|port| port == request.port)
            && self.larger_than.is_none_or(|least| request.size.is_none_or(|size| size > least))
    }
}

/// What becomes of flows that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// They begin: the rule is lifted, and those that it held begin now.
    Admit,
    /// They wait until the rule is lifted. Their time counts from when they wanted to begin.
    Hold,
    /// They never begin: the flow has failed.
    Refuse,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_about_flows_that_have_all_that_it_says() {
        let flow = Request { sources: &[1, 2], destinations: &[7], port: 80, size: Some(Bytes(1000)) };
        let endless = Request { size: None, ..flow };
        let any = Rule::default();
        assert!(any.matches(&flow) && any.matches(&endless));
        let all = Rule { source: Some(2), destination: Some(7), port: Some(80), larger_than: Some(Bytes(999)) };
        assert!(all.matches(&flow) && all.matches(&endless));
        for other in [
            Rule { source: Some(7), ..all },
            Rule { destination: Some(1), ..all },
            Rule { port: Some(81), ..all },
            Rule { larger_than: Some(Bytes(1000)), ..all },
        ] {
            assert!(!other.matches(&flow), "{other:?}");
        }
        assert!(Rule { larger_than: Some(Bytes(u64::MAX)), ..any }.matches(&endless));
    }
}
