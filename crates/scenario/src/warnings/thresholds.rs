//! Thresholds that a queue can never reach, so that the discipline never takes the action that the threshold triggers.

use super::numbers::{bytes, digits, seconds};
use super::pass::{Pass, Warnings};
use crate::document::WarningName;
use std::collections::BTreeMap;
use tailback_document::Path;
use tailback_qdisc::Site;
use tailback_qdisc::signals::{Length, Signals};
use tailback_sim::plan::{ChangeKind, Fabric, NodeKind, Plan, SwitchPlan};

/// A threshold above the longest possible queue. Both are formatted in the threshold's unit.
struct Short {
    threshold: String,
    /// Longest possible queue.
    longest: String,
}

/// Adds a warning about each threshold that no queue at its port can reach.
pub(super) fn check(pass: &Pass<'_>, found: &mut Warnings) {
    // By path of the threshold: first port, threshold, longest queue, path of the limit, number of ports. Each path
    // gives one warning.
    let mut reported: BTreeMap<Path, (u32, String, String, Path, u32)> = BTreeMap::new();
    for port in (0..2 * pass.plan.links.len() as u32).filter(|port| pass.used.is_used(*port)) {
        for (path, buffer, what, longest) in unreachable(pass, port) {
            reported.entry(path).and_modify(|(.., count)| *count += 1).or_insert((port, what, longest, buffer, 1));
        }
    }
    for (path, (port, what, longest, buffer, ports)) in reported {
        let others = match ports {
            1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        found.add(
            WarningName::Unreachable,
            path,
            format!("{what} is never reached: the queue {}{others} holds at most {longest}", pass.places.port(port)),
            format!("lower it, or raise `{buffer}`"),
        );
    }
}

/// Returns the unreachable thresholds at a port, only the lowest of each discipline: path of the threshold, path of the
/// limit, name, and longest possible queue.
fn unreachable(pass: &Pass<'_>, port: u32) -> Vec<(Path, Path, String, String)> {
    let plan = pass.plan;
    let link = &plan.links[port as usize / 2];
    let (from, side) = (link.ends[port as usize % 2], port as usize % 2);
    let NodeKind::Switch(switch) = &plan.nodes[usize::from(from)].kind else { return Vec::new() };
    let Some(([discipline, buffer], most)) = pass.places.queue(port).zip(memory(switch)) else { return Vec::new() };
    let queue = &link.queue[side];
    let bounds = Bounds::new(plan, steady(plan, port));
    let mut found: BTreeMap<Path, (Path, String, String)> = BTreeMap::new();
    // The class with the largest limit is examined: a threshold that it cannot reach is unreachable for every class.
    let limits = queue.limits.iter().zip(&queue.places).max_by_key(|(bytes, packets)| (**bytes, **packets));
    let Some((limit, places)) = limits else { return Vec::new() };
    let rate = queue.shaper.as_ref().map_or(link.rate[side], |shaper| shaper.rate.min(link.rate[side]));
    let site = Site { bytes: (*limit).min(most), packets: *places, rate };
    let mut tables = Vec::new();
    queue.discipline.each_threshold(&site, &mut |threshold| {
        let Some(short) = bounds.short(threshold.length, &threshold.site) else { return };
        let inner = Path::parse(&threshold.path).unwrap_or_default();
        let table = discipline.join_path(&inner.parent().unwrap_or_default());
        // If the lower threshold is unreachable, the higher one is too, and not reported again.
        if tables.contains(&table) {
            return;
        }
        tables.push(table);
        let default = if threshold.derived { "the default " } else { "" };
        let what = format!("{default}`{}` of {}", threshold.path, short.threshold);
        found.insert(discipline.join_path(&inner), (buffer.clone(), what, short.longest));
    });
    if let Some(point) = switch.notification.as_deref() {
        let path = pass.places.table(from).join("congestion-notification");
        let first = point.thresholds().into_iter().find_map(|(name, length)| {
            let short = bounds.short(length, &site)?;
            Some((path.join(name), (buffer.clone(), format!("`{name}` of {}", short.threshold), short.longest)))
        });
        found.extend(first);
    }
    found.into_iter().map(|(path, (buffer, what, longest))| (path, buffer, what, longest)).collect()
}

/// Returns the upper bound that the memory of a switch sets to an output queue, in buffer bytes; `None`: the switch is
/// a crossbar, where frames wait at the inputs.
fn memory(switch: &SwitchPlan) -> Option<u64> {
    match switch.fabric {
        Fabric::OutputQueued | Fabric::CutThrough { .. } => Some(u64::MAX),
        // A single queue in the memory is limited to alpha times the rest (Choudhury and Hahne 1998).
        Fabric::SharedMemory { memory, alpha } => Some((memory as f64 * alpha / (1.0 + alpha)).ceil() as u64),
        Fabric::SharedBuffer(buffer) => Some(buffer.memory),
        Fabric::InputFifo { .. } | Fabric::VirtualOutputQueues { .. } => None,
    }
}

/// `true` if a port sends at its link's rate whenever packets wait, in order of arrival: it has one class, no shaper and
/// no ring, is never stopped, and its link does not change.
fn steady(plan: &Plan, port: u32) -> bool {
    let (number, side) = (port / 2, port as usize % 2);
    let link = &plan.links[number as usize];
    let notifies = |node: u16| match &plan.nodes[usize::from(node)].kind {
        NodeKind::Switch(switch) => switch.backpressure.is_some() || switch.limiters.is_some(),
        NodeKind::Host(_) => false,
    };
    let changes = |what: &ChangeKind| match what {
        ChangeKind::LinkDown(n) | ChangeKind::LinkUp(n) | ChangeKind::LinkRate(n, _) => *n == number,
        ChangeKind::PauseStorm { .. } => true,
        _ => false,
    };
    plan.classes == 1
        && link.queue[side].ring.is_none()
        && link.queue[side].shaper.is_none()
        && !link.ends.iter().any(|node| notifies(*node))
        && !plan.timeline.iter().any(|change| changes(&change.what))
}

/// Bounds of packet lengths.
struct Bounds {
    /// Buffer bytes of the smallest packet.
    smallest: f64,
    /// Buffer bytes of the largest packet.
    largest: f64,
    /// Wire bytes of the largest packet.
    largest_wire: f64,
    /// Upper bound of wire bytes per buffer byte.
    wire_per_byte: f64,
    /// `true` if waiting times are bounded.
    steady: bool,
}

impl Bounds {
    fn new(plan: &Plan, steady: bool) -> Bounds {
        let ((smallest, wire), (largest, largest_wire)) =
            (plan.framing.lengths(1), plan.framing.lengths(plan.framing.mtu));
        let [smallest, wire, largest, largest_wire] = [smallest, wire, largest, largest_wire].map(f64::from);
        Bounds { smallest, largest, largest_wire, wire_per_byte: wire / smallest, steady }
    }
    /// Returns the threshold and the upper bound of the queue if the bound is below the threshold, otherwise `None`.
    fn short(&self, length: Length, site: &Site) -> Option<Short> {
        let finite = |limit: u64| if limit == u64::MAX { f64::INFINITY } else { limit as f64 };
        let (limit, places) = (finite(site.bytes), finite(site.packets));
        let in_bytes = f64::min(limit, places * self.largest);
        let in_packets = f64::min(places, limit / self.smallest);
        match length {
            Length::Bytes(bound) => {
                (bound > in_bytes).then(|| Short { threshold: bytes(bound), longest: bytes(in_bytes) })
            }
            Length::Packets(bound) => (bound > in_packets).then(|| {
                let packets = |n: f64| format!("{} packets", digits(n));
                Short { threshold: packets(bound), longest: packets(in_packets.floor()) }
            }),
            Length::Wait(bound) if self.steady => {
                // Longest wait: the transmission of all packets ahead, and of the packet in transmission.
                let longest = (in_bytes * self.wire_per_byte + self.largest_wire) * 8.0 / site.rate.0 as f64;
                (bound.as_secs() > longest).then(|| Short {
                    threshold: bound.to_string(),
                    longest: format!("{} of waiting", seconds(longest)),
                })
            }
            Length::Wait(_) => None,
        }
    }
}
