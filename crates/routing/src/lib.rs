//! Link and switch loads of oblivious routing, computed exactly and without simulation.
//!
//! A routing says which share of the traffic of each pair of hosts crosses each port, whatever the traffic is. From it, a
//! fabric and a traffic matrix follow the load of every link and switch (Song's dissertation, Definitions 3.1 to 3.5), how
//! far that is from the least possible (the performance ratio, §5.1), and the traffic that is worst for the routing (§2.4).
//! Everything is a function of its arguments: nothing here runs packets, and the simulator's own schemes are elsewhere.
//!
//! | module | idea |
//! |---|---|
//! | [`fabric`] | the fabric, less failed links: racks, levels, distances, numbers of shortest paths |
//! | [`traffic`] | traffic matrices: patterns, and CSV files |
//! | [`schemes`] | routings, one file each: pair of hosts -> shares of ports |
//! | [`loads`] | loads of links and switches under a traffic matrix |
//! | [`optimum`] | the least possible loads on FT(m, n), in closed form |
//! | [`worst`] | the permutation that is worst for a routing, by maximum-weight matching |
//! | [`theorems`] | the dissertation's bounds as functions; [`findings`] says where they do not hold |
//! | [`decomposition`] | a matrix as a sum over the levels that its pairs reach (Song §5.2.2) |
//! | [`answer`] | questions and answers as JSON, for the Python package |
//!
//! Numbers are [`number::Exact`] fractions; `f64` is there for fabrics whose fractions do not fit. What it does *not* do:
//! linear programs, which are in `python/anabranch/routing`, and adaptive routing.
//!
//! The two most important types are [`fabric::Fabric`] and [`schemes::Scheme`].

pub mod answer;
pub mod decomposition;
pub mod error;
pub mod fabric;
pub mod findings;
pub mod loads;
pub mod number;
pub mod optimum;
pub mod schemes;
pub mod theorems;
pub mod traffic;
pub mod worst;
