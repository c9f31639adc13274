//! Captures: what the fabric tells them, if there are any.

use super::Fabric;
use crate::capture::{CapturePlan, CaptureRow, Captures, Files, Party};
use crate::engine::arena::PacketId;
use crate::fabric::graph::PortId;
use crate::network::engine::Engine;
use anabranch_transport::Time;
use std::io;

impl Fabric {
    /// Captures packets from now on, at the start of a run.
    pub(in crate::network) fn capture(&mut self, plans: Vec<CapturePlan>, files: Box<Files>) -> io::Result<()> {
        let captures = Captures::new(plans, &self.graph, files)?;
        for port in captures.ports() {
            self.ports[port as usize].capture();
        }
        self.captures = Some(Box::new(captures));
        Ok(())
    }

    /// An endpoint is being opened: the next in number.
    pub(in crate::network) fn introduce(&mut self, party: &Party<'_>) {
        if let Some(captures) = &mut self.captures {
            captures.open(party);
        }
    }

    /// Reads what a port tells, after each packet that came there: it must still have its header.
    pub(super) fn read_tap(&mut self, engine: &Engine, port: PortId) {
        if let Some(captures) = &mut self.captures
            && let Some(tap) = self.ports[port as usize].tap()
        {
            captures.read(port, tap, &engine.packets);
        }
    }

    /// A queue has rejected a packet, which is dropped unless it was `returned` to its sender.
    pub(super) fn capture_rejected(&mut self, engine: &Engine, port: PortId, id: PacketId, returned: bool) {
        let Some(captures) = &mut self.captures else { return };
        if returned {
            captures.turned(port, id);
        } else {
            captures.dropped(port, id, &engine.packets, engine.now, !self.links_up[(port / 2) as usize]);
        }
    }

    /// A port was cut and has lost these packets.
    pub(super) fn capture_cut(&mut self, engine: &Engine, port: PortId, lost: &[PacketId]) {
        self.read_tap(engine, port);
        if let Some(captures) = &mut self.captures {
            captures.cut(port, lost, &engine.packets, engine.now);
        }
    }

    /// Writes what is certain by now. No port is touched, since that would show in its counters.
    pub(in crate::network) fn write_captures(&mut self, engine: &Engine) {
        self.read_taps(engine);
        if let Some(captures) = &mut self.captures {
            captures.write(|port| self.ports[port as usize].next_start(engine.now));
        }
    }

    /// Ends captures, with all packets whose transmission has started. Nothing if there are none.
    pub(in crate::network) fn finish_captures(&mut self, engine: &Engine) -> io::Result<Vec<CaptureRow>> {
        self.read_taps(engine);
        let Some(captures) = self.captures.take() else { return Ok(Vec::new()) };
        let graph = &self.graph;
        captures.finish(&|host| graph.nodes[host as usize].name.clone(), Time(engine.now))
    }

    fn read_taps(&mut self, engine: &Engine) {
        let ports: Vec<PortId> = self.captures.iter().flat_map(|captures| captures.ports()).collect();
        for port in ports {
            self.read_tap(engine, port);
        }
    }
}
