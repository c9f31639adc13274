//! One capture: packets of some directed links in the order of time, in a file, and those that were dropped there in another.

use super::flows::{Flows, address};
use super::headers;
use super::pcapng::{Direction, Interface, Packet, Statistics, Writer};
use super::plan::{CapturePlan, Files};
use crate::engine::arena::{Hot, flag};
use crate::fabric::graph::PortId;
use crate::host::stack::Header;
use anabranch_transport::Time;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was on the link.
    Carried,
    /// It found no room in the queue, or the queue chose to drop it.
    Dropped,
    /// The link did not work.
    Down,
    /// The link was cut while the packet was on it, or waited for it.
    Cut,
}

/// A packet that is to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Picoseconds.
    pub(super) time: u64,
    pub(super) interface: u32,
    pub(super) direction: Direction,
    pub(super) fate: Fate,
    pub(super) hot: Hot,
    pub(super) header: Header,
    /// Its flags when it came to the port.
    pub(super) came_with: u8,
}

/// What a capture has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureRow {
    /// Name of the file, and of that with the packets that were dropped if there were any.
    pub files: Vec<String>,
    /// The directed links in it.
    pub links: Vec<String>,
    /// Packets in the file.
    pub packets: u64,
    /// Bytes that these had on the wire.
    pub bytes: u64,
    /// Packets that were dropped at these links, whether or not they are in the file.
    pub dropped: u64,
    /// When the limit was reached, after which there is nothing more in it.
    pub full_at: Option<Time>,
}

/// A file that is open.
type Open = Writer<Box<dyn Write + Send>>;

/// A capture that is going on.
pub(super) struct CaptureFile {
    plan: CapturePlan,
    interfaces: Vec<Interface>,
    /// Where each interface's packets are queued.
    pub(super) ports: Vec<PortId>,
    statistics: Vec<Statistics>,
    /// Drops of each interface that no packet has told yet.
    untold: Vec<u64>,
    /// What may have to wait for something earlier.
    records: Vec<(u64, Record)>,
    taken: u64,
    file: Option<Open>,
    /// Opened at the first drop.
    lost: Option<Open>,
    hosts: BTreeSet<u32>,
    row: CaptureRow,
    scratch: Vec<u8>,
}

impl CaptureFile {
    pub(super) fn new(
        plan: CapturePlan,
        interfaces: Vec<Interface>,
        ports: Vec<PortId>,
        files: &mut Files,
    ) -> io::Result<Self> {
        let name = format!("{}.pcapng", plan.name);
        let file = Writer::new(files(&name)?, &plan.comment, u32::from(plan.snap), &interfaces)?;
        let row = CaptureRow {
            files: vec![name],
            links: interfaces.iter().map(|interface| interface.name.clone()).collect(),
            packets: 0,
            bytes: 0,
            dropped: 0,
            full_at: None,
        };
        Ok(Self {
            statistics: vec![Statistics::default(); interfaces.len()],
            untold: vec![0; interfaces.len()],
            records: Vec::new(),
            taken: 0,
            file: Some(file),
            lost: None,
            hosts: BTreeSet::new(),
            row,
            scratch: Vec::new(),
            plan,
            interfaces,
            ports,
        })
    }

    /// A packet, in any order.
    pub(super) fn take(&mut self, record: Record) {
        self.records.push((self.taken, record));
        self.taken += 1;
    }

    /// The link of an interface was cut: what was to arrive after `now` does not.
    pub(super) fn cut(&mut self, interface: u32, now: u64) {
        for (_, record) in &mut self.records {
            if record.interface == interface && record.direction == Direction::Inbound && record.time > now {
                record.fate = Fate::Cut;
                record.time = now;
            }
        }
    }

    /// Writes what was before a time, which nothing can precede any more.
    pub(super) fn write_before(&mut self, time: u64, flows: &Flows, files: &mut Files) -> io::Result<()> {
        // What reaches a node comes before what the node sends because of it.
        self.records.sort_unstable_by_key(|(n, record)| (record.time, record.direction, *n));
        let ready = self.records.partition_point(|(_, record)| record.time < time);
        let records: Vec<_> = self.records.drain(..ready).collect();
        records.iter().try_for_each(|(_, record)| self.write(record, flows, files))
    }

    fn write(&mut self, record: &Record, flows: &Flows, files: &mut Files) -> io::Result<()> {
        let at = record.interface as usize;
        let subflow = headers::subflow(&record.header);
        let Some(ends) = flows.ends(&record.hot, subflow) else { return Ok(()) };
        let length = headers::write(&record.hot, &record.header, &ends, &mut self.scratch);
        self.scratch.truncate(usize::from(self.plan.snap));
        let carried = record.fate == Fate::Carried;
        let comment = self.comment(record);
        let counted = &mut self.statistics[at];
        let dropped = if carried {
            counted.carried += 1;
            std::mem::take(&mut self.untold[at])
        } else {
            counted.dropped += 1;
            self.row.dropped += 1;
            self.untold[at] += 1;
            0
        };
        if self.row.full_at.is_some() {
            return Ok(());
        }
        let packet = Packet {
            interface: record.interface,
            time_ns: record.time / 1000,
            data: &self.scratch,
            length,
            direction: record.direction,
            dropped,
            comment: &comment,
        };
        if !carried && self.lost.is_none() {
            let name = format!("{}.dropped.pcapng", self.plan.name);
            let comment = format!("{}: packets that were dropped", self.plan.comment);
            let file = files(&name)?;
            self.row.files.push(name);
            self.lost = Some(Writer::new(file, &comment, u32::from(self.plan.snap), &self.interfaces)?);
        }
        let file = if carried { &mut self.file } else { &mut self.lost };
        let Some(file) = file else { return Ok(()) };
        let there = if carried { self.row.packets } else { self.row.dropped - 1 };
        let room = self.plan.packets.is_none_or(|most| there < most);
        if !room || !file.packet(&packet, self.plan.bytes.unwrap_or(u64::MAX))? {
            self.row.full_at = Some(Time(record.time));
            return Ok(());
        }
        for end in [ends.source, ends.destination] {
            self.hosts.insert(end.ip().to_bits());
        }
        if carried {
            counted.written += 1;
            self.row.packets += 1;
            self.row.bytes += u64::from(length);
        }
        Ok(())
    }

    /// What happened to a packet at the port, for people.
    fn comment(&self, record: &Record) -> String {
        let port = &self.interfaces[record.interface as usize].name;
        let new = |flag: u8| record.hot.has(flag) && record.came_with & flag == 0;
        match record.fate {
            Fate::Dropped => format!("dropped by the queue of {port}"),
            Fate::Down => format!("dropped: {port} was cut"),
            Fate::Cut => format!("lost when {port} was cut"),
            Fate::Carried => match (new(flag::TRIMMED), new(flag::CE)) {
                (true, _) => format!("trimmed by the queue of {port}"),
                (false, true) => format!("CE mark set by the queue of {port}"),
                (false, false) => String::new(),
            },
        }
    }

    /// Ends the files. `names` of the hosts, by number.
    pub(super) fn finish(mut self, names: &dyn Fn(u32) -> String, end: Time) -> io::Result<CaptureRow> {
        let first = address(0).to_bits();
        let hosts: Vec<_> = self
            .hosts
            .iter()
            .filter_map(|&bits| Some((bits.into(), names(bits.checked_sub(first).filter(|&host| host < 1 << 24)?))))
            .collect();
        let names = || hosts.iter().map(|(address, name)| (*address, name.as_str()));
        let end_ns = end.ps() / 1000;
        if let Some(file) = self.file.take() {
            file.finish(names(), &self.statistics, end_ns)?;
        }
        if let Some(lost) = self.lost.take() {
            let dropped = |counted: &Statistics| Statistics { written: counted.dropped, ..*counted };
            lost.finish(names(), &self.statistics.iter().map(dropped).collect::<Vec<_>>(), end_ns)?;
        }
        Ok(self.row)
    }
}
