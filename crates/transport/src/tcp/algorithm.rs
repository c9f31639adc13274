//! The congestion controls by name: what a configuration may choose. What they do is in `congestion`.

/// The registry: one line per control, for the macro that is named. The type has the variant's name and lives in
/// `congestion`, in the module of that name.
macro_rules! registry {
    ($with:ident) => {
        $with! {
            /// RFC 5681: additive increase, halving, recovery that ends with the first new ACK.
            Reno: reno, ecn: false;
            /// Reno's window with RFC 6582's recovery, which repairs one loss per round trip without leaving.
            #[default]
            NewReno: newreno, ecn: false;
            /// RFC 9438: growth as a cubic function of the time since the last reduction.
            Cubic: cubic, ecn: false;
            /// RFC 8257: reduction in proportion to the share of marked bytes.
            Dctcp: dctcp, ecn: true;
            /// SIGCOMM 2012: DCTCP whose reductions depend on how near the flow's deadline is.
            D2tcp: d2tcp, ecn: true;
            /// Joy 2015: DCTCP that reduces the windows of short flows less.
            FaDctcp: fa_dctcp, ecn: true;
            /// INFOCOM 2013: DCTCP whose growth and reductions depend on the bytes that the flow has sent.
            L2dct: l2dct, ecn: true;
            /// NSDI 2012: DCTCP whose flows are paced once they meet marks, for phantom queues.
            Hull: hull, ecn: true;
            /// SIGCOMM 2013: a flow begins with a whole window, and only timeouts tell of losses, for queues that go by what remains of
            /// a flow.
            Pfabric: pfabric, ecn: false;
            /// SIGCOMM 2020: the window follows the distance of the round trip from a target, and is a pace below one packet.
            Swift: swift, ecn: false;
            /// RFC 6356: the linked increases of several connections that carry one transfer. Alone it is NewReno.
            Lia: lia, ecn: false;
            /// `CoNEXT` 2012: opportunistic linked increases, of the same kind.
            Olia: olia, ecn: false;
            /// For tests: NewReno that keeps each round-trip sample.
            Timed: timed, ecn: false, only: cfg(test);
            /// For tests: NewReno at a fixed pace, with its own priorities.
            Paced: paced, ecn: false, only: cfg(test);
        }
    };
}
pub(super) use registry;

macro_rules! algorithm {
    ($($(#[$attribute:meta])* $variant:ident: $module:ident, ecn: $ecn:literal $(, only: $only:meta)?;)*) => {
        /// Names of the congestion controls.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum Algorithm {
            $($(#[$only])? $(#[$attribute])* $variant,)*
        }

        impl Algorithm {
            /// All of them, in the registry's order.
            pub const ALL: &[Self] = &[$($(#[$only])? Self::$variant),*];

            /// Its name: that of its file.
            pub const fn name(self) -> &'static str {
                match self { $($(#[$only])? Self::$variant => stringify!($module),)* }
            }

            /// Whether it makes no sense without ECN, and echoes each packet's mark as RFC 8257 §3.2 does.
            pub(super) const fn needs_ecn(self) -> bool {
                match self { $($(#[$only])? Self::$variant => $ecn,)* }
            }
        }
    };
}

registry!(algorithm);
