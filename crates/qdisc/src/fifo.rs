//! A queue in order of arrival, with its limits: the packets of the disciplines with one queue.

use crate::law::Backlog;
use crate::retune::Retune;
use crate::{Cx, Gate, Packet, Reason, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tailback_random::Rng;
use tailback_units::Time;

/// Packet that is dropped when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The arriving packet.
    #[default]
    Tail,
    /// The oldest waiting packet (Lakshman, Neidhardt and Ott, INFOCOM 1996).
    Head,
    /// A packet drawn with equal probability from the queue and the arriving packet.
    Random,
}

/// Packets in order of arrival.
#[derive(Debug)]
pub(crate) struct Fifo {
    waiting: VecDeque<Packet>,
    /// Buffer bytes waiting.
    bytes: u64,
    site: Site,
}

impl Fifo {
    /// Returns an empty queue with the limits of `site`.
    pub fn new(site: &Site) -> Fifo {
        Fifo { waiting: VecDeque::new(), bytes: 0, site: *site }
    }
    /// Returns the numbers of waiting packets and bytes.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets(), bytes: self.bytes }
    }
    /// Returns the number of waiting packets.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }
    /// Returns `true` if a packet of `size` bytes would exceed the limits.
    #[inline]
    pub fn is_full(&self, size: u16) -> bool {
        self.site.is_full(self.packets(), self.bytes, size)
    }
    /// Returns the limits, which are an admission policy (tail drop).
    pub fn limits_mut(&mut self) -> &mut Site {
        &mut self.site
    }
    /// Returns the oldest packet. `None`: the queue is empty.
    pub fn head(&self) -> Option<&Packet> {
        self.waiting.front()
    }
    /// Appends a packet even if there is no room.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.size);
        self.waiting.push_back(packet);
    }
    /// Appends a packet and drops victims until the queue is within its limits; returns `true` if there was no room.
    pub fn push_and_trim(&mut self, packet: Packet, victim: Victim, cx: &mut Cx<'_>) -> bool {
        if victim == Victim::Tail {
            let full = self.is_full(packet.size);
            if full {
                cx.drop(packet, Reason::BufferFull);
            } else {
                self.push(packet);
            }
            return full;
        }
        let full = self.is_full(packet.size);
        self.push(packet);
        while self.bytes > self.site.bytes || self.packets() > self.site.packets {
            let Some(packet) = self.remove(victim, cx.rng) else { break };
            cx.drop(packet, Reason::BufferFull);
        }
        full
    }
    /// Removes and returns the packet that `victim` selects. `None`: the queue is empty.
    pub fn remove(&mut self, victim: Victim, rng: &mut Rng) -> Option<Packet> {
        let packet = match victim {
            Victim::Tail => self.waiting.pop_back()?,
            Victim::Head => self.waiting.pop_front()?,
            Victim::Random if self.waiting.is_empty() => return None,
            Victim::Random => self.waiting.remove(rng.below(self.packets()) as usize)?,
        };
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }
    /// Removes and returns the oldest packet. `None`: the queue is empty, or the gate stops that packet.
    #[inline]
    pub fn pop(&mut self, gate: &Gate) -> Option<Packet> {
        let head = self.waiting.front()?;
        if !gate.admits(head.class(), head.dst) {
            return None;
        }
        self.bytes -= u64::from(head.size);
        self.waiting.pop_front()
    }
    /// Does the same as [`Fifo::pop`] and also returns the backlog that remains.
    #[inline]
    pub fn pop_and_count(&mut self, gate: &Gate) -> Option<(Packet, Backlog)> {
        let packet = self.pop(gate)?;
        Some((packet, self.backlog()))
    }
    /// Visits each waiting packet, the oldest first.
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.waiting.iter().for_each(f);
    }
}

/// Takes the new limits; a queue above them keeps its packets.
impl Retune for Fifo {
    fn adopt(&mut self, _now: Time, fresh: Fifo) {
        self.site = fresh.site;
    }
}

/// Unit in which a queue is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Buffer bytes.
    #[default]
    Bytes,
    /// Packets.
    Packets,
}
