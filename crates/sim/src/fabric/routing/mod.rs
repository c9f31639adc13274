//! Routing schemes: how a packet chooses among the ways to its destination.
//!
//! A scheme has two halves. At the **host** it gives each packet 32 bits, the *path bits*: one value for a flow, a new one
//! for each packet, or whatever its state for the flow says. At every **switch** (and every host that relays) it names
//! the egress port from destination and path bits, which it may change. Most schemes have a host half only: their path
//! bits are a fraction by which [`ecmp`] chooses among the shortest paths that [`Routes`] knows. One that reads its path
//! bits in another way, or has tables of its own, has both.
//!
//! A scheme is one file and one line in the registry below (`docs/how-to/add-a-routing-scheme.md`).

mod balancer;
mod conga;
mod d_mod_k;
mod detail;
mod drill;
mod flowlet;
mod flowlet_table;
mod leftmost;
mod letflow;
mod longest;
mod nix_vector;
mod per_flow;
mod per_packet;
mod permuted;
mod presto;
mod s_mod_k;
mod shortest;
mod single;
mod spain;
#[cfg(test)]
mod tests;
mod towards;
mod valiant;
mod virtual_tables;
mod weighted;
mod weights;

pub use balancer::{Arrived, Balancer, Ports};
pub use conga::Conga;
pub use detail::Detail;
pub use flowlet::Flowlet;
pub use flowlet_table::{Aging, Flowlets};
pub use letflow::Letflow;
pub use longest::{Exchange, LongestPath};
pub(crate) use nix_vector::VectorNeed;
pub use nix_vector::{Choice, DynamicNixVector, NixVector, index_bits};
pub use presto::{Presto, Turns};
pub use shortest::{Routes, disjoint_paths, path_fraction, select};
pub(crate) use spain::MOST_VLANS;
pub use spain::Spain;
pub use towards::Towards;
pub use valiant::{Per, Valiant};
pub use virtual_tables::VirtualTables;
pub(crate) use weighted::PathRoom;
pub use weighted::{WeightedPath, WeightedPaths};
pub use weights::{PathWeight, Weights};

use super::graph::{Graph, NodeId, PortId};
use crate::random::{self, Stream};
use rand::Rng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A flow, one direction of it, as the host that sends knows it when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Sending host.
    pub source: u32,
    /// Receiving host; of several, the first.
    pub destination: u32,
    /// Shortest paths between them, or multicast trees; of several receivers, the most.
    pub paths: u32,
    /// Links on a shortest path; 0 if there is none; of several receivers, the most.
    pub hops: u8,
}

/// A packet that a host hands to its own queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departing {
    /// When, in picoseconds.
    pub now: u64,
    /// Bytes on the wire.
    pub size: u32,
    /// Receiving host: that of the flow, but for the hub of a session with several ends.
    pub destination: u32,
}

/// A packet at a node that has to choose.
#[derive(Clone, Copy)]
pub struct Hop<'a> {
    /// Shortest paths over the links that work now.
    pub routes: &'a Routes,
    /// The switch, or the host that relays.
    pub node: NodeId,
    /// The receiving host.
    pub destination: u32,
}

/// What a host keeps of a flow to choose path bits by.
pub trait FlowPath {
    /// The path bits of the next packet.
    fn next(&mut self, packet: &Departing, random: &mut Stream) -> u32;
}

/// One value for all packets.
impl FlowPath for u32 {
    #[inline]
    fn next(&mut self, _packet: &Departing, _random: &mut Stream) -> u32 {
        *self
    }
}

/// A routing scheme, with its settings.
pub trait Scheme {
    /// What a host keeps of each flow.
    type Flow: FlowPath;
    /// Whether path bits are something else than a fraction for [`ecmp`]. If so, all flows of a run have to use this
    /// scheme, and multicast trees, which are shortest paths, are drawn at random for each packet.
    const OWN_BITS: bool = false;
    /// Whether [weights](PathWeight) decide among equal-cost ports. With an [`egress`](Self::egress) of its own a scheme has
    /// none.
    const WEIGHTED: bool = !Self::OWN_BITS;
    /// Whether hosts ask for the paths of all their flows anew when links fail or come back.
    const RENEWED: bool = false;

    /// Whether all packets of a flow to one host take the same path, as long as the fabric does not change.
    const ONE_PATH: bool = false;
    /// Whether every packet takes a shortest path.
    const SHORTEST: bool = !Self::OWN_BITS;

    /// A new flow.
    fn flow(&self, ends: &Ends, random: &mut Stream) -> Self::Flow;

    /// The flows of a transport that opens so many connections between the same ends: like so many flows that know nothing of one
    /// another, if nothing else is said.
    fn flows(&self, ends: &Ends, subflows: u8, random: &mut Stream) -> Vec<Self::Flow> {
        (0..subflows).map(|_| self.flow(ends, random)).collect()
    }

    /// The port by which a packet goes on; `None` if there is no way.
    ///
    /// Called only with [`OWN_BITS`](Self::OWN_BITS).
    fn egress(&self, hop: &Hop<'_>, bits: &mut u32) -> Option<PortId> {
        ecmp(hop, bits)
    }

    /// Path bits of a packet that a switch sends back to `source`.
    fn back(&self, _source: u32, random: &mut Stream) -> u32 {
        random.next_u32()
    }

    /// The flowcell of a packet that has arrived with these path bits, where they tell: packets of a flow in one cell have taken one path.
    fn cell(&self, _bits: u32) -> Option<u16> {
        None
    }

    /// What a switch balances load by, where [switches do so](Balancer) instead of [`egress`](Self::egress). It draws from streams of its own,
    /// from this seed.
    fn balancer(&self, _graph: &Graph, _node: NodeId, _seed: u64) -> Option<Box<dyn Balancer>> {
        None
    }

    /// Makes the tables anew: at the start, and whenever the links that work are others.
    fn install(&mut self, _graph: &Graph, _alive: &dyn Fn(u32) -> bool) {}
}

/// The port that a path fraction chooses among those on shortest paths.
#[inline]
pub fn ecmp(hop: &Hop<'_>, fraction: &mut u32) -> Option<PortId> {
    let ports = hop.routes.next_ports(hop.node, hop.destination);
    (!ports.is_empty()).then(|| select(ports, fraction))
}

/// Scenarios that say nothing of a scheme keep the hashes of their runs.
fn is_default<T: Default + PartialEq>(settings: &T) -> bool {
    *settings == T::default()
}

macro_rules! schemes {
    (@settings $config:ident $type:ty) => { <$type>::default() };
    (@settings $config:ident $type:ty, $settings:ident) => { $config.$settings.clone() };
    ($($(#[doc = $doc:literal])+ $name:ident($type:ty) $({ $(#[$about:meta])+ $settings:ident })?,)+) => {
        /// Which routing scheme.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum RoutingMode {
            /// By the transport: `per-packet` for SCDP and NDP, `per-flow` for TCP.
            #[default]
            Auto,
            $($(#[doc = $doc])+ $name,)+
        }

        /// How packets choose among the ways to their destination.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct RoutingConfig {
            /// The scheme.
            pub mode: RoutingMode,
            /// Multicast trees of each one-to-many session, at least 1; its packets are sprayed over them, as SCDP sprays packets in all
            /// modes (SCDP §III). 1 is a static tree.
            #[schemars(range(min = 1))]
            pub multicast_trees: u32,
            $($($(#[$about])+ pub $settings: $type,)?)+
        }

        impl Default for RoutingConfig {
            fn default() -> Self {
                Self { mode: RoutingMode::Auto, multicast_trees: 16, $($($settings: <$type>::default(),)?)+ }
            }
        }

        impl RoutingConfig {
            /// Settings that differ from their defaults although their scheme is not used.
            pub fn unused(&self) -> Vec<&'static str> {
                let mut unused: Vec<&'static str> = Vec::new();
                $($(if self.$settings != <$type>::default() && self.mode != RoutingMode::$name {
                    unused.push(stringify!($settings));
                })?)+
                unused
            }
        }

        /// A scheme with its tables.
        #[derive(Clone, Debug)]
        pub enum Routing { $($(#[doc = $doc])+ $name($type),)+ }

        /// What a host keeps of a flow, under any scheme.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "each variant is documented at its scheme")]
        pub enum FlowState { $($name(<$type as Scheme>::Flow),)+ }

        impl Routing {
            /// The scheme of a mode, without tables; of [`RoutingMode::Auto`], random spraying.
            pub fn new(mode: RoutingMode, config: &RoutingConfig) -> Self {
                match mode {
                    RoutingMode::Auto => Self::new(RoutingMode::PerPacket, config),
                    $(RoutingMode::$name => Self::$name(schemes!(@settings config $type $(, $settings)?)),)+
                }
            }

            /// See [`Scheme::OWN_BITS`].
            #[inline]
            pub fn own_bits(&self) -> bool {
                match self { $(Self::$name(_) => <$type as Scheme>::OWN_BITS,)+ }
            }

            /// See [`Scheme::WEIGHTED`].
            pub fn weighted(&self) -> bool {
                match self { $(Self::$name(_) => <$type as Scheme>::WEIGHTED,)+ }
            }

            /// See [`Scheme::ONE_PATH`].
            pub fn one_path(&self) -> bool {
                match self { $(Self::$name(_) => <$type as Scheme>::ONE_PATH,)+ }
            }

            /// See [`Scheme::SHORTEST`].
            pub fn shortest(&self) -> bool {
                match self { $(Self::$name(_) => <$type as Scheme>::SHORTEST,)+ }
            }

            /// See [`Scheme::RENEWED`].
            fn renewed(&self) -> bool {
                match self { $(Self::$name(_) => <$type as Scheme>::RENEWED,)+ }
            }

            /// See [`Scheme::flow`].
            pub fn flow(&self, ends: &Ends, random: &mut Stream) -> FlowState {
                match self { $(Self::$name(scheme) => FlowState::$name(scheme.flow(ends, random)),)+ }
            }

            /// See [`Scheme::flows`].
            fn flows(&self, ends: &Ends, subflows: u8, random: &mut Stream) -> Vec<FlowState> {
                match self {
                    $(Self::$name(s) => s.flows(ends, subflows, random).into_iter().map(FlowState::$name).collect(),)+
                }
            }

            /// See [`Scheme::egress`].
            #[inline]
            pub fn egress(&self, hop: &Hop<'_>, bits: &mut u32) -> Option<PortId> {
                match self { $(Self::$name(scheme) => scheme.egress(hop, bits),)+ }
            }

            /// See [`Scheme::back`].
            pub fn back(&self, source: u32, random: &mut Stream) -> u32 {
                match self { $(Self::$name(scheme) => scheme.back(source, random),)+ }
            }

            /// See [`Scheme::cell`].
            fn cell(&self, bits: u32) -> Option<u16> {
                match self { $(Self::$name(scheme) => scheme.cell(bits),)+ }
            }

            /// See [`Scheme::balancer`].
            fn balancer(&self, graph: &Graph, node: NodeId, seed: u64) -> Option<Box<dyn Balancer>> {
                match self { $(Self::$name(scheme) => scheme.balancer(graph, node, seed),)+ }
            }

            /// See [`Scheme::install`].
            pub fn install(&mut self, graph: &Graph, alive: &dyn Fn(u32) -> bool) {
                match self { $(Self::$name(scheme) => scheme.install(graph, alive),)+ }
            }
        }

        impl FlowPath for FlowState {
            #[inline]
            fn next(&mut self, packet: &Departing, random: &mut Stream) -> u32 {
                match self { $(Self::$name(flow) => flow.next(packet, random),)+ }
            }
        }
    };
}

// The registry: one line per scheme, with the name of its settings in `[routing]` if it has any.
schemes! {
    /// Each packet takes a random path.
    PerPacket(per_packet::PerPacket),
    /// Each packet takes the next path of a random permutation, which is drawn anew when it is used up (NDP §3.1.1).
    PerPacketPermuted(permuted::Permuted),
    /// All packets of a flow take the path that its hash chooses.
    PerFlow(per_flow::PerFlow),
    /// All packets to a destination take the same path, which its hash chooses.
    Single(single::Single),
    /// Every pair uses the leftmost of its shortest paths ("Normal Routing", Song §3.3.3.1).
    Leftmost(leftmost::Leftmost),
    /// A flow that paused for longer than `flowlet.gap` takes a new random path (FLARE, CONGA).
    Flowlet(flowlet::Flowlet) {
        /// With `mode = "flowlet"`.
        flowlet
    },
    /// At each switch a new flowlet takes a random port (`LetFlow`).
    Letflow(letflow::Letflow) {
        /// With `mode = "letflow"`.
        #[serde(skip_serializing_if = "is_default")]
        letflow
    },
    /// In leaf-spine fabrics, a new flowlet takes the least congested path (CONGA).
    Conga(conga::Conga) {
        /// With `mode = "conga"`.
        #[serde(skip_serializing_if = "is_default")]
        conga
    },
    /// At each switch each packet takes the port with the shortest queue of some that are drawn and some that are remembered (DRILL).
    Drill(drill::Drill) {
        /// With `mode = "drill"`.
        #[serde(skip_serializing_if = "is_default")]
        drill
    },
    /// The host sends flowcells of 64 KiB by all paths in turn (Presto).
    Presto(presto::Presto) {
        /// With `mode = "presto"`.
        #[serde(skip_serializing_if = "is_default")]
        presto
    },
    /// At each switch each packet takes a random port of those with the fewest bytes to send before it, where switches lose nothing (`DeTail`).
    Detail(detail::Detail) {
        /// With `mode = "detail"`.
        #[serde(skip_serializing_if = "is_default")]
        detail
    },
    /// By way of a random intermediate switch (Valiant load balancing).
    Valiant(valiant::Valiant) {
        /// With `mode = "valiant"`.
        valiant
    },
    /// The digits of the destination's number choose the ports on the way up (Song §2.3.2): a static route for each destination.
    DModK(d_mod_k::DModK),
    /// The digits of the source's number choose the ports on the way up (Song §2.3.2): a static route for each source.
    SModK(s_mod_k::SModK),
    /// The host draws a shortest path for each flow and writes it into the packets (Dynamic Nix-Vector Routing, Song §2.2).
    NixVector(nix_vector::DynamicNixVector) {
        /// With `mode = "nix-vector"`.
        nix_vector
    },
    /// The host draws one of several VLANs for each flow; VLANs have `spain.k` paths between any two edges of any fabric (SPAIN).
    Spain(spain::Spain) {
        /// With `mode = "spain"`.
        #[serde(skip_serializing_if = "is_default")]
        spain
    },
    /// Each switch has one default upward port in each of several static tables; hosts and subflows take the tables in turn (Virtual
    /// Table-Based Multipath Routing, Song §2.3).
    VirtualTables(virtual_tables::VirtualTables) {
        /// With `mode = "virtual-tables"`.
        virtual_tables
    },
    /// The host draws a path for each flow by the weights in a file, and writes it into the packets (Song §2.4).
    Weighted(weighted::WeightedPaths) {
        /// With `mode = "weighted"`.
        weighted
    },
}

impl RoutingMode {
    /// Whether packets of a flow overtake each other because they take several paths at once.
    pub fn reorders(self) -> bool {
        matches!(self, Self::PerPacket | Self::PerPacketPermuted | Self::Drill | Self::Presto | Self::Detail)
    }
}

/// What a host keeps of an endpoint to choose path bits by: one state for each of its subflows.
#[derive(Clone, Debug)]
pub struct FlowPaths {
    first: FlowState,
    /// Nearly always none.
    others: Box<[FlowState]>,
}

impl FlowPaths {
    /// That of a subflow.
    ///
    /// # Panics
    /// If the endpoint has not so many.
    #[inline]
    pub fn of(&mut self, subflow: u8) -> &mut FlowState {
        if subflow == 0 { &mut self.first } else { &mut self.others[usize::from(subflow) - 1] }
    }

    /// The path bits of a packet with an entropy, which switches hash with the flow; `None` if they do not hash flows, or if it has none (0).
    pub fn by_entropy(&self, entropy: u16) -> Option<u32> {
        match self.first {
            FlowState::PerFlow(flow) if entropy > 0 => {
                Some((random::mix(u64::from(flow) << 16 | u64::from(entropy)) >> 32) as u32)
            }
            _ => None,
        }
    }

    /// Whether a controller may choose the path: there is one, by per-flow routing.
    pub fn is_placeable(&self) -> bool {
        self.others.is_empty() && matches!(self.first, FlowState::PerFlow(_))
    }

    /// All packets have these path bits from now on.
    pub fn place(&mut self, bits: u32) {
        debug_assert!(self.is_placeable(), "one path, by per-flow routing");
        self.first = FlowState::PerFlow(bits);
    }
}

/// The schemes of a run: what switches do is one of them, the same for all packets.
#[derive(Clone, Debug)]
pub struct Schemes {
    switches: Routing,
    /// See [`Scheme::OWN_BITS`].
    own_bits: bool,
    decides: Decides,
    hosts: Vec<(RoutingMode, Routing)>,
}

/// Who decides at switches.
#[derive(Clone, Debug)]
enum Decides {
    /// The path fraction: plain [`ecmp`].
    Fraction,
    /// What controllers have set.
    Weights(Box<Weights>),
    /// See [`Scheme::egress`].
    Scheme,
    /// See [`Scheme::balancer`].
    Balancers,
}

impl Schemes {
    /// The schemes of these modes.
    ///
    /// # Panics
    ///
    /// If one of several has path bits of its own.
    pub fn new(modes: impl IntoIterator<Item = RoutingMode>, config: &RoutingConfig) -> Self {
        let mut hosts: Vec<(RoutingMode, Routing)> = Vec::new();
        for mode in modes {
            if hosts.iter().all(|(known, _)| *known != mode) {
                hosts.push((mode, Routing::new(mode, config)));
            }
        }
        let own_bits = hosts.iter().any(|(_, scheme)| scheme.own_bits());
        assert!(!own_bits || hosts.len() == 1, "switches read path bits in one way");
        let switches = hosts.first().map_or(Routing::new(RoutingMode::PerPacket, config), |(_, scheme)| scheme.clone());
        let decides = if own_bits { Decides::Scheme } else { Decides::Fraction };
        Self { switches, own_bits, decides, hosts }
    }

    /// The [balancers](Balancer) of all switches, which decide from now on; none if the scheme has none.
    pub fn balancers(&mut self, graph: &Graph, seed: u64) -> Vec<Option<Box<dyn Balancer>>> {
        let switches = graph.hosts..graph.nodes.len() as NodeId;
        let balancers: Vec<_> = switches.map(|node| self.switches.balancer(graph, node, seed)).collect();
        if balancers.iter().all(Option::is_none) {
            return Vec::new();
        }
        self.decides = Decides::Balancers;
        balancers
    }

    /// Sets the weight of a port.
    ///
    /// # Errors
    /// If the scheme has no weights, or if the switch that has the port would be left without a way to a host: which.
    pub fn set_weight(&mut self, graph: &Graph, routes: &Routes, weight: PathWeight) -> Result<(), String> {
        if !self.switches.weighted() {
            return Err(
                "this fabric's routing scheme has no path weights: it does not choose among equal ways".to_owned()
            );
        }
        let mut weights = match &self.decides {
            Decides::Weights(weights) => (**weights).clone(),
            _ => Weights::default(),
        };
        weights.set(weight);
        let node = graph.port_owner(weight.port);
        let hosts = weight.to.map_or(0..graph.hosts, |host| host..host + 1);
        for host in hosts.filter(|&host| host != node) {
            let ways = routes.ways(node, host);
            if ways.contains(&weight.port) && ways.iter().all(|&port| weights.get(port, host) == 0) {
                let names = [node, host].map(|n| graph.nodes[n as usize].name.as_str());
                return Err(format!("weight 0 would leave {} no way to {}", names[0], names[1]));
            }
        }
        self.decides = Decides::Weights(Box::new(weights));
        Ok(())
    }

    /// Whether [`egress`](Self::egress) is [`ecmp`].
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self.decides, Decides::Fraction)
    }

    /// See [`Scheme::egress`]; where [balancers](Balancer) decide, a way that a packet may take.
    #[inline]
    pub fn egress(&self, hop: &Hop<'_>, bits: &mut u32) -> Option<PortId> {
        // Nearly always, and for every packet at every switch.
        if self.is_plain() { ecmp(hop, bits) } else { self.decide(hop, bits, ecmp) }
    }

    /// The same, where [balancers](Balancer) are asked.
    #[inline(never)]
    pub fn decide(
        &self,
        hop: &Hop<'_>,
        bits: &mut u32,
        ask_balancer: impl FnOnce(&Hop<'_>, &mut u32) -> Option<PortId>,
    ) -> Option<PortId> {
        match &self.decides {
            Decides::Fraction => ecmp(hop, bits),
            Decides::Weights(weights) => weights.choose(hop, bits),
            Decides::Scheme => self.switches.egress(hop, bits),
            Decides::Balancers => ask_balancer(hop, bits),
        }
    }

    /// See [`Scheme::OWN_BITS`].
    #[inline]
    pub fn own_bits(&self) -> bool {
        self.own_bits
    }

    /// See [`Scheme::back`].
    pub fn back(&self, source: u32, random: &mut Stream) -> u32 {
        self.switches.back(source, random)
    }

    /// See [`Scheme::cell`].
    pub fn cell(&self, bits: u32) -> Option<u16> {
        self.switches.cell(bits)
    }

    /// See [`Scheme::RENEWED`].
    pub fn renewed(&self) -> bool {
        self.hosts.iter().any(|(_, scheme)| scheme.renewed())
    }

    /// The scheme of a mode.
    pub fn of(&self, mode: RoutingMode) -> &Routing {
        let of_mode = self.hosts.iter().find(|(known, _)| *known == mode).map(|(_, scheme)| scheme);
        // With tables of their own, switches and hosts have to mean the same.
        of_mode.filter(|scheme| !scheme.own_bits()).unwrap_or(&self.switches)
    }

    /// The paths of an endpoint with so many subflows, by a mode.
    pub fn flows(&self, mode: RoutingMode, ends: &Ends, subflows: u8, random: &mut Stream) -> FlowPaths {
        let scheme = self.of(mode);
        if subflows == 1 {
            return FlowPaths { first: scheme.flow(ends, random), others: Box::default() };
        }
        let mut flows = scheme.flows(ends, subflows, random).into_iter();
        let first = flows.next().expect("an endpoint has one subflow at least");
        FlowPaths { first, others: flows.collect() }
    }

    /// See [`Scheme::install`].
    pub fn install(&mut self, graph: &Graph, alive: &dyn Fn(u32) -> bool) {
        self.switches.install(graph, alive);
    }
}
