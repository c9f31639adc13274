//! Routings: which share of the traffic of a pair of hosts crosses each port (Song Definition 3.3).
//!
//! A scheme is one file and one line in [`registry`]. It is a pure function of fabric, pair and seed; it knows no traffic,
//! but for [`Weighted`], whose weights were chosen for one.

mod balanced;
mod d_mod_k;
mod dnvr;
mod ecmp;
mod mdnvr;
mod mdnvr_k;
mod nr;
mod s_mod_k;
mod virtual_tables;
mod vlb;
mod walk;
mod weighted;

pub use balanced::{Balanced, promise as balanced_promise};
pub use d_mod_k::DModK;
pub use dnvr::Dnvr;
pub use ecmp::Ecmp;
pub use mdnvr::Mdnvr;
pub use mdnvr_k::{MdnvrK, WorstDraw};
pub use nr::NormalRouting;
pub use s_mod_k::SModK;
pub use virtual_tables::VirtualTables;
pub use vlb::Vlb;
pub use walk::{Shares, paths_of};
pub use weighted::{PathList, Weighted};

use crate::error::{RoutingError, RoutingResult, nearest};
use crate::fabric::Fabric;
use crate::number::{Exact, Scalar};

/// What of a source or destination matters to a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matters {
    /// Its rack: all hosts of a rack are routed alike between switches.
    Rack,
    /// The host itself.
    Host,
}

/// A routing.
pub trait Scheme<S: Scalar>: Send + Sync {
    /// What of the source matters, and what of the destination.
    fn matters(&self) -> (Matters, Matters);

    /// The share of one unit from host `s` to host `d` that crosses each port; those of the links to the hosts, too.
    ///
    /// # Errors
    ///
    /// Fractions that do not fit.
    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()>;

    /// Whether it uses shortest paths only.
    fn shortest(&self) -> bool {
        true
    }

    /// A scheme that looks at racks only and gives no port a smaller share than this one does, where that is cheaper to
    /// compute: a bound.
    fn envelope(&self) -> Option<Box<dyn Scheme<S>>> {
        None
    }
}

/// What a scheme is made with.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// What stands after the colon: k of `mdnvr-k:2`.
    pub parameter: Option<&'a str>,
    /// Seed of random choices.
    pub seed: u64,
}

impl Settings<'_> {
    fn parameter(&self, scheme: &str, expected: &str, default: Exact) -> RoutingResult<Exact> {
        let Some(text) = self.parameter else { return Ok(default) };
        text.parse::<Exact>().ok().filter(|&k| k >= Exact::ONE).ok_or_else(|| {
            RoutingError::new(format!("scheme \"{scheme}:{text}\": expected {expected} after the colon"))
                .hint(format!("{scheme}:{default}"))
        })
    }
}

type Make<S> = fn(&Fabric, &Settings<'_>) -> RoutingResult<Box<dyn Scheme<S>>>;

/// One line of the registry.
pub struct Entry<S: Scalar> {
    /// Name on the command line and in results.
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    /// Whether a parameter may follow its name.
    pub takes: bool,
    /// Whether the seed matters.
    pub random: bool,
    make: Make<S>,
}

/// All schemes that need no traffic.
pub fn registry<S: Scalar>() -> Vec<Entry<S>> {
    macro_rules! entries {
        ($($name:literal $(($takes:ident))? $([$random:ident])? => $make:expr, $about:literal;)+) => {
            vec![$(Entry {
                name: $name,
                about: $about,
                takes: false $(|| stringify!($takes) == "takes")?,
                random: false $(|| stringify!($random) == "random")?,
                make: $make,
            }),+]
        };
    }
    entries! {
        "nr" => |_, _| Ok(Box::new(NormalRouting)), "one fixed shortest path, leftmost at every switch";
        "d-mod-k" => |_, _| Ok(Box::new(DModK)), "one path, by the digits of the destination";
        "s-mod-k" => |_, _| Ok(Box::new(SModK)), "one path, by the digits of the source";
        "dnvr" [random] => |_, s| Ok(Box::new(Dnvr::new(s.seed))), "one random shortest path for each pair";
        "balanced" => |f, _| Ok(Box::new(Balanced::new(f)?)), "one path, the best single-path assignment known for FT(m, n), n <= 3";
        "virtual-tables" (takes) => |_, s| Ok(Box::new(VirtualTables::new(s)?)), "equal over V static tables (V after a colon, 2 by default)";
        "mdnvr-k" (takes) [random] => |_, s| Ok(Box::new(MdnvrK::from_settings(s)?)), "equal over ceil(X/k) random ones of the X shortest paths (k after a colon, 2 by default)";
        "ecmp" => |_, _| Ok(Box::new(Ecmp)), "equal at every switch over the ports on shortest paths";
        "mdnvr" => |_, _| Ok(Box::new(Mdnvr)), "equal over all shortest paths";
        "vlb" => |f, _| Ok(Box::new(Vlb::new(f)?)), "equal over all top switches, whatever the destination";
    }
}

/// Makes the scheme that `text` names: `mdnvr`, `mdnvr-k:4/3`, `virtual-tables:2` ...
///
/// # Errors
///
/// An unknown name, a parameter that cannot be used, a scheme that the fabric does not allow.
pub fn make<S: Scalar>(text: &str, fabric: &Fabric, seed: u64) -> RoutingResult<Box<dyn Scheme<S>>> {
    let (name, parameter) = text.split_once(':').map_or((text, None), |(name, p)| (name, Some(p)));
    let entries = registry::<S>();
    let Some(entry) = entries.iter().find(|e| e.name == name) else {
        let names: Vec<&str> = entries.iter().map(|e| e.name).collect();
        let error = RoutingError::new(format!("unknown scheme {name:?}: expected one of {}", names.join(", ")));
        return Err(match nearest(name, names.into_iter()) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error,
        });
    };
    if parameter.is_some() && !entry.takes {
        return Err(RoutingError::new(format!("scheme {text:?}: {name} takes no parameter")).hint(name));
    }
    (entry.make)(fabric, &Settings { parameter, seed })
}
