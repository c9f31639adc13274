//! Clients that ask for block after block, each when all fragments of the last one have arrived (Song §1.1.1).
//!
//! The sessions of one request of a workload form a barrier, or those of all its requests (`together`). A block begins when the client asks all servers for it; each request
//! takes the time of a small packet on the idle fabric. With kept connections it makes the server provide the next fragment of
//! its session; otherwise it opens the session that is the fragment. One entity of the scheduler stands for all requests that are on
//! their way.

use super::ledger::Ledger;
use super::session_group::SessionGroup;
use crate::workload::{Barrier, Connections, Session};
use anabranch_transport::{Bytes, Duration, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Bytes of a request on the wire: the least that an Ethernet frame has.
pub(super) const REQUEST: Bytes = Bytes(64);
/// In [`Barriers::place`]: no part of a barrier.
const NONE: u32 = u32::MAX;

/// A block of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// The first session of the request.
    pub session: u32,
    /// Number of the block, from 0.
    pub block: u32,
    /// Servers that send a fragment of it.
    pub servers: u32,
    /// Bytes of all fragments.
    pub bytes: u64,
    /// When the client asked for it.
    pub asked: Time,
    /// When its last fragment had arrived.
    pub complete: Option<Time>,
}

/// What a request on its way makes a server do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ask {
    /// Open a session.
    Open(u32),
    /// Provide the first so many bytes of a session.
    Provide(u32, u64),
    /// No request: a barrier has stopped.
    Stop(u32),
}

/// One server of a barrier.
#[derive(Clone, Debug)]
struct Server {
    /// Its session, or those of all blocks.
    sessions: Vec<u32>,
    /// Bytes of a fragment.
    fragment: u64,
    /// Fragments that have arrived.
    arrived: u32,
    /// The time that requests to it take.
    delay: Duration,
}

/// A client and its servers.
#[derive(Clone, Debug)]
struct Client {
    config: Barrier,
    /// Number of the gate at which it waits.
    gate: usize,
    servers: Vec<Server>,
    /// Blocks that the client has asked for, in order; of the last one, `missing` fragments have not arrived.
    blocks: Vec<(Time, Option<Time>)>,
    missing: u32,
    /// When the last of those that have arrived was there for the application, which may be later: a transport may decode them.
    latest: Time,
}

/// What opens for the next block: when one client has all fragments, or all that wait for each other.
#[derive(Clone, Debug, Default)]
struct Gate {
    clients: Vec<usize>,
    /// Clients that have not all fragments of the current block.
    missing: u32,
    /// When the last of the others had.
    latest: Time,
    /// Why there are no further blocks, before all have come.
    stopped: Option<String>,
}

impl Client {
    fn is_kept(&self) -> bool {
        self.config.connections == Connections::Kept
    }
}

fn place_in(sessions: &[u32], session: u32) -> usize {
    sessions.iter().position(|&own| own == session).unwrap_or_default()
}

/// All clients that wait at barriers.
#[derive(Default)]
pub(super) struct Barriers {
    clients: Vec<Client>,
    gates: Vec<Gate>,
    /// Of each session: its client and its server's number there. Empty without barriers.
    place: Vec<(u32, u32)>,
    on_their_way: BinaryHeap<Reverse<(Time, Ask)>>,
}

impl Barriers {
    /// Those of these sessions.
    pub(super) fn new(sessions: &[Session], groups: &[SessionGroup]) -> Self {
        let mut barriers = Self::default();
        if groups.iter().all(|group| group.barrier.is_none()) {
            return barriers;
        }
        let mut number_of: BTreeMap<(u16, u32), usize> = BTreeMap::new();
        let mut gate_of: BTreeMap<(u16, u32), usize> = BTreeMap::new();
        for (number, session) in (0..).zip(sessions) {
            let Some(config) = &groups[usize::from(session.group)].barrier else {
                barriers.place.push((NONE, 0));
                continue;
            };
            let client = *number_of.entry((session.group, session.request)).or_insert_with(|| {
                let gate = *gate_of
                    .entry((session.group, if config.together { 0 } else { session.request }))
                    .or_insert_with(|| {
                        barriers.gates.push(Gate::default());
                        barriers.gates.len() - 1
                    });
                barriers.gates[gate].clients.push(barriers.clients.len());
                let (servers, blocks) = (Vec::new(), Vec::new());
                barriers.clients.push(Client {
                    config: config.clone(),
                    gate,
                    servers,
                    blocks,
                    missing: 0,
                    latest: Time::ZERO,
                });
                barriers.clients.len() - 1
            });
            let servers = &mut barriers.clients[client].servers;
            // The sessions of a server, block after block.
            let known = servers.iter().position(|server| {
                let first = &sessions[server.sessions[0] as usize];
                server.sessions.len() as u32 == session.block
                    && (&first.sources, &first.sinks) == (&session.sources, &session.sinks)
            });
            let server = known.unwrap_or_else(|| {
                let size = session.size.map_or(0, |size| size.0);
                let fragment =
                    if config.connections == Connections::Kept { size / u64::from(config.blocks) } else { size };
                servers.push(Server { sessions: Vec::new(), fragment, arrived: 0, delay: Duration::ZERO });
                servers.len() - 1
            });
            servers[server].sessions.push(number);
            barriers.place.push((client as u32, server as u32));
        }
        for client in &mut barriers.clients {
            client.missing = client.servers.len() as u32;
        }
        for gate in &mut barriers.gates {
            gate.missing = gate.clients.len() as u32;
        }
        barriers
    }

    /// Whether there are any.
    pub(super) fn exist(&self) -> bool {
        !self.clients.is_empty()
    }

    fn place_of(&self, session: u32) -> Option<(usize, usize)> {
        let &(client, server) = self.place.get(session as usize)?;
        (client != NONE).then_some((client as usize, server as usize))
    }

    /// Whether a session is part of a barrier.
    pub(super) fn has(&self, session: u32) -> bool {
        self.place_of(session).is_some()
    }

    /// The bytes of a fragment, if a session carries several.
    pub(super) fn fragment(&self, session: u32) -> Option<u64> {
        let (client, server) = self.place_of(session)?;
        let client = &self.clients[client];
        client.is_kept().then(|| client.servers[server].fragment)
    }

    /// A client asks the server of a session for its first block now; requests take `delay`. False if this is a session of a later
    /// block. An error says why the barrier has stopped before.
    pub(super) fn ask_first(&mut self, now: Time, session: u32, delay: Duration) -> Result<bool, String> {
        let Some((client, server)) = self.place_of(session) else { return Ok(false) };
        let client = &mut self.clients[client];
        if let Some(why) = &self.gates[client.gate].stopped {
            return Err(why.clone());
        }
        client.servers[server].delay = delay;
        if client.servers[server].sessions[0] != session {
            return Ok(false);
        }
        if client.blocks.is_empty() {
            client.blocks.push((now, None));
        }
        self.on_their_way.push(Reverse((now + delay, Ask::Open(session))));
        Ok(true)
    }

    /// A receiver has so many bytes of a session that carries several fragments.
    pub(super) fn delivered(&mut self, ledger: &mut Ledger, session: u32, bytes: u64, at: Time) {
        let Some((client, server)) = self.place_of(session) else { return };
        let of = &self.clients[client].servers[server];
        if bytes >= of.fragment * (u64::from(of.arrived) + 1) {
            self.arrived(ledger, client, server, at);
        }
    }

    /// A session is complete.
    pub(super) fn completed(&mut self, ledger: &mut Ledger, session: u32, at: Time) {
        let Some((client, server)) = self.place_of(session) else { return };
        let of = &self.clients[client];
        // One that carries several fragments says when it has each.
        if !of.is_kept() && of.servers[server].sessions.get(of.servers[server].arrived as usize) == Some(&session) {
            self.arrived(ledger, client, server, at);
        }
    }

    /// The fragment of a server has arrived. With the last one, its client's block is complete.
    fn arrived(&mut self, ledger: &mut Ledger, client: usize, server: usize, at: Time) {
        let client = &mut self.clients[client];
        client.servers[server].arrived += 1;
        client.missing -= 1;
        client.latest = client.latest.max(at);
        if client.missing > 0 {
            return;
        }
        if let Some(block) = client.blocks.last_mut() {
            block.1 = Some(client.latest);
        }
        let (number, latest) = (client.gate, client.latest);
        let gate = &mut self.gates[number];
        gate.missing -= 1;
        gate.latest = gate.latest.max(latest);
        if gate.missing > 0 || gate.stopped.is_some() {
            return;
        }
        gate.missing = gate.clients.len() as u32;
        for client in gate.clients.clone() {
            self.ask_next(ledger, client);
        }
    }

    /// A client asks all its servers for the next block, if there is one, when its gate opens.
    fn ask_next(&mut self, ledger: &mut Ledger, client: usize) {
        let client = &mut self.clients[client];
        let current = client.blocks.len() as u32;
        if current == client.config.blocks {
            return;
        }
        let asked = self.gates[client.gate].latest + client.config.think;
        client.blocks.push((asked, None));
        client.missing = client.servers.len() as u32;
        for server in &client.servers {
            let ask = if client.is_kept() {
                Ask::Provide(server.sessions[0], server.fragment * (u64::from(current) + 1))
            } else {
                let session = server.sessions[current as usize];
                ledger.set_start(session, asked);
                Ask::Open(session)
            };
            self.on_their_way.push(Reverse((asked + server.delay, ask)));
        }
    }

    /// When the next request reaches its server.
    pub(super) fn due(&self) -> Option<Time> {
        self.on_their_way.peek().map(|Reverse((when, _))| *when)
    }

    /// Takes a request that has reached its server by now.
    pub(super) fn take(&mut self, now: Time) -> Option<Ask> {
        self.due().filter(|due| *due <= now)?;
        self.on_their_way.pop().map(|Reverse((_, ask))| ask)
    }

    /// A session will never be complete: the client that waits for it asks for nothing more.
    pub(super) fn stop(&mut self, session: u32, now: Time, why: &str) {
        let Some((client, server)) = self.place_of(session) else { return };
        let of = &self.clients[client];
        let server = &of.servers[server];
        // It may have given up on the acknowledgement of what has arrived.
        let needed = if of.is_kept() { of.config.blocks } else { place_in(&server.sessions, session) as u32 + 1 };
        let gate = &mut self.gates[of.gate];
        if gate.stopped.is_none() && server.arrived < needed {
            let block = of.blocks.len().max(1) - 1;
            gate.stopped = Some(format!("block {block} will never be complete: {why}"));
            self.on_their_way.push(Reverse((now, Ask::Stop(session))));
        }
    }

    /// Why the barrier of a session has stopped, and all sessions of it.
    pub(super) fn stopped(&self, session: u32) -> Option<(String, Vec<u32>)> {
        let (client, _) = self.place_of(session)?;
        let gate = &self.gates[self.clients[client].gate];
        let why = gate.stopped.clone()?;
        let servers = gate.clients.iter().flat_map(|&client| &self.clients[client].servers);
        Some((why, servers.flat_map(|server| &server.sessions).copied().collect()))
    }

    /// What a session of a barrier that has not been opened waits for, for a person.
    pub(super) fn waits_for(&self, session: u32) -> Option<String> {
        let (client, server) = self.place_of(session)?;
        let client = &self.clients[client];
        let block = place_in(&client.servers[server].sessions, session);
        (!client.is_kept() && block >= client.blocks.len()).then(|| {
            let clients = self.gates[client.gate].clients.iter().map(|&client| &self.clients[client]);
            format!(
                "waits for block {}, of which {} fragments are missing",
                client.blocks.len().max(1) - 1,
                clients.map(|client| client.missing).sum::<u32>()
            )
        })
    }

    /// All blocks that were asked for.
    pub(super) fn rows(&self) -> Vec<BlockRow> {
        let of = |client: &Client| {
            let bytes = client.servers.iter().map(|server| server.fragment).sum();
            let session = client.servers[0].sessions[0];
            let servers = client.servers.len() as u32;
            let row = |(block, &(asked, complete)): (usize, &(Time, Option<Time>))| BlockRow {
                session,
                block: block as u32,
                servers,
                bytes,
                asked,
                complete,
            };
            client.blocks.iter().enumerate().map(row).collect::<Vec<_>>()
        };
        self.clients.iter().flat_map(of).collect()
    }
}
