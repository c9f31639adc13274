//! Who sends what to whom, and when.

use anabranch_transport::{Bytes, Time};

/// How the ends of a session relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One sender, one receiver.
    Unicast,
    /// One sender, several receivers of the same object.
    OneToMany,
    /// Several senders, each holding the whole object, one receiver.
    ManyToOne,
}

impl Mode {
    /// Snake-case name, as in scenario files and result tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unicast => "unicast",
            Self::OneToMany => "one_to_many",
            Self::ManyToOne => "many_to_one",
        }
    }
}

/// One transfer of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// When the application asks for it.
    pub start: Time,
    /// Object size, at least one byte. `None`: a long flow without end (background), which lasts until the run ends.
    pub size: Option<Bytes>,
    /// Relation of the ends.
    pub mode: Mode,
    /// Sending hosts: one, or several for many-to-one.
    pub sources: Vec<u32>,
    /// Receiving hosts: one, or several for one-to-many.
    pub sinks: Vec<u32>,
    /// Which `[[workload]]` of the scenario made it.
    pub group: u16,
}
