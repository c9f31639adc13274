//! Stub.
#![allow(missing_docs)]
use crate::*;
use serde::{Serialize, Deserialize};
use schemars::JsonSchema;
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScdpConfig { pub packet: Bytes, pub header: Bytes, pub initial_window: u32, pub priority_thresholds: Vec<Bytes> }
impl Default for ScdpConfig { fn default() -> Self { Self { packet: Bytes(1500), header: Bytes(64), initial_window: 12, priority_thresholds: vec![Bytes(10_000), Bytes(100_000), Bytes(1_000_000), Bytes(10_000_000)] } } }
impl ScdpConfig { pub fn validate(&self) -> Result<(), ConfigError> { Ok(()) } }
#[derive(Clone, Copy, Debug)] pub enum Mode { Unicast, OneToMany, ManyToOne }
#[derive(Clone, Copy, Debug)] pub struct Header;
#[derive(Clone, Debug)] pub struct Connection;
pub type Sender = Connection; pub type Receiver = Connection;
impl Endpoint for Connection { type Header = Header;
 fn handle_packet(&mut self, _: Time, _: &Arrival<Header>) {} fn handle_timeout(&mut self, _: Time) {} fn poll_transmit(&mut self, _: Time) -> Option<Transmit<Header>> { None } fn poll_timeout(&self) -> Option<Time> { None } fn poll_event(&mut self) -> Option<Event> { None } fn stats(&self) -> Stats { Stats::default() } fn waiting_for(&self) -> String { String::new() } }
