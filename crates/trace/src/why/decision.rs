//! Decisions to drop or mark a packet: the queue discipline that decided, and its state.

use super::log::Log;
use super::queue::{Share, at_input, shares, total, waiting_at, waiting_before};
use super::units::{size, span};
use crate::Memory;
use serde::Serialize;
use tailback_qdisc::Reason;
use tailback_qdisc::signals::{Length, Threshold};
use tailback_sim::plan::EventKind;
use tailback_sim::trace::Row;

/// A drop or a mark of a packet.
#[derive(Clone, Debug, Serialize)]
pub struct Decision {
    /// `drop` or `mark`.
    pub event: &'static str,
    /// Reason of a drop, as in reports; `None`: a mark.
    pub reason: Option<String>,
    /// The same reason as a value of the engine.
    #[serde(skip)]
    pub why: Option<Reason>,
    /// Name of the port.
    pub port: String,
    /// Time of the decision.
    pub time_ps: u64,
    /// Kind of the queue discipline.
    pub law: &'static str,
    /// State variables of the discipline after the decision, by name.
    pub numbers: Vec<(&'static str, f64)>,
    /// Thresholds in the parameters of the discipline, such as `max 9 kB`; empty except for early drops and marks.
    pub thresholds: Vec<String>,
    /// Buffer bytes of the packet.
    pub bytes: u64,
    /// Buffer bytes of the packets of its class in the queue, without the packet itself.
    pub queue_bytes: u64,
    /// Number of packets of its class in the queue, without the packet itself.
    pub queue_packets: u64,
    /// Limit of the queue in bytes; `None`: unbounded.
    pub limit_bytes: Option<u64>,
    /// Limit of the queue in packets; `None`: unbounded.
    pub limit_packets: Option<u64>,
    /// Use of the memory into which the packet did not fit; `None`: the memory was not the reason.
    pub memory: Option<MemoryUse>,
    /// Names of the conditioners that may have dropped it; empty unless the reason is a policer.
    pub conditioners: Vec<String>,
    /// Probability of loss on the link, 0 to 1; `None`: the packet was not lost on the link.
    pub loss: Option<f64>,
}

/// Use of a switch's memory.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryUse {
    /// Name of the switch.
    pub node: String,
    /// Size of the memory, or of the memory of the crossbar's input, bytes.
    pub memory_bytes: u64,
    /// Bytes in use.
    pub used_bytes: u64,
    /// Names of the ports at which the packets wait, with the bytes at each, the largest first; empty for an input.
    pub ports: Vec<(String, u64)>,
    /// Packets in the memory by flow, the largest share first.
    pub flows: Vec<Share>,
}

/// Returns the decision to which a row of a drop or mark belongs.
pub(super) fn decision(log: &Log<'_>, row: &Row) -> Decision {
    let port = &log.network.ports[row.port as usize];
    let class = usize::from(row.class);
    let bounded = |limits: &[u64]| limits.get(class).copied().filter(|limit| *limit != u64::MAX);
    let names = port.state.get(class).map_or(&[][..], |names| names);
    let is = |why: Reason| row.reason == Some(why);
    let mut conditioners = Vec::new();
    if is(Reason::Policed) {
        conditioners.clone_from(&port.conditioners);
        if conditioners.is_empty() {
            conditioners.clone_from(&log.network.flows[row.flow as usize].conditioners);
        }
    }
    Decision {
        event: if row.event == EventKind::Mark { "mark" } else { "drop" },
        reason: row.reason.map(|reason| reason.to_string()),
        why: row.reason,
        port: port.name.clone(),
        time_ps: row.time.0,
        law: port.law,
        numbers: names.iter().copied().zip(row.state.iter().copied()).collect(),
        thresholds: match row.reason {
            None | Some(Reason::Early | Reason::Unresponsive) => port.thresholds.iter().map(threshold).collect(),
            _ => Vec::new(),
        },
        bytes: row.size.into(),
        queue_bytes: row.queue_bytes,
        queue_packets: row.queue_packets,
        limit_bytes: bounded(&port.limits),
        limit_packets: bounded(&port.places),
        memory: memory(log, row),
        conditioners,
        loss: is(Reason::LinkLoss).then_some(port.loss),
    }
}

/// Returns a threshold as text.
fn threshold(threshold: &Threshold) -> String {
    let value = match threshold.length {
        Length::Bytes(bytes) => size(bytes.round() as u64),
        Length::Packets(packets) => format!("{packets} packets"),
        Length::Wait(wait) => span(wait.0),
    };
    format!("{} {value}", threshold.path)
}

/// Returns the use of the memory at a drop for lack of memory; `None`: the drop had another reason.
fn memory(log: &Log<'_>, row: &Row) -> Option<MemoryUse> {
    let port = &log.network.ports[row.port as usize];
    match row.reason {
        Some(Reason::SharedMemoryFull) => {
            let node = port.from;
            let memory = match log.network.memories[usize::from(node)] {
                Memory::Shared(bytes) | Memory::ByInput(bytes) => bytes,
                Memory::Queues | Memory::Crossbar(_) => return None,
            };
            let mut ports = Vec::new();
            let mut all = Vec::new();
            for other in log.ports_of(node) {
                let waits = if other == row.port {
                    // At its own port the packet itself is among the arrivals, so only earlier rows of that queue
                    // count.
                    waiting_before(log, other, row.turn)
                } else {
                    waiting_at(log, other, row.time)
                };
                let own: Vec<usize> = waits.into_iter().filter(|index| log.row(*index).packet != row.packet).collect();
                let bytes: u64 = own.iter().map(|index| u64::from(log.row(*index).size)).sum();
                ports.push((log.port_name(other), bytes));
                all.extend(own);
            }
            ports.retain(|(_, bytes)| *bytes > 0);
            ports.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
            let flows = shares(log, all.iter().map(|index| log.row(*index)));
            Some(MemoryUse { node: log.node_name(node), memory_bytes: memory, used_bytes: total(&flows), ports, flows })
        }
        Some(Reason::InputBufferFull) => {
            let Memory::Crossbar(memory) = log.network.memories[usize::from(port.to)] else { return None };
            let inside: Vec<&Row> = at_input(log, row.port, row.time)
                .into_iter()
                .map(|(index, _)| log.row(index))
                .filter(|other| other.packet != row.packet)
                .collect();
            let flows = shares(log, inside);
            Some(MemoryUse {
                node: log.node_name(port.to),
                memory_bytes: memory,
                used_bytes: total(&flows),
                ports: Vec::new(),
                flows,
            })
        }
        _ => None,
    }
}
