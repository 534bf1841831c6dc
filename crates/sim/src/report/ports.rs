//! Results of ports, nodes and conditioners.

use super::counts::{Counts, secs};
use crate::plan::NodeKind;
use crate::port::Queue;
use crate::stops::{OnTime, Stops};
use crate::target::Target;
use crate::world::{FabricState, World};
use serde::Serialize;
use tailback_measure::Digest;

/// Results of an output port from the end of the warm-up to the end of the run, unless stated otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct PortReport {
    /// Name, such as `sw1->sw2`.
    pub name: String,
    /// Name of the node that sends at the port.
    pub node: String,
    /// Name of the neighbour at the other end of the link.
    pub to: String,
    /// Link rate at the end, bit/s.
    pub rate_bps: u64,
    /// Fraction of the time spent transmitting, including control frames, 0 to 1.
    pub utilisation: f64,
    /// Time during which notifications stopped the port, a class or a destination, whether or not data waited, seconds.
    pub stopped_s: f64,
    /// Time during which a notification limited some traffic to less than the link's rate, seconds; above 0 only with
    /// [`Response::Rate`](crate::plan::Response::Rate).
    pub slowed_s: f64,
    /// Time during which data waited while the transmitter was idle, for any reason, seconds.
    pub held_s: f64,
    /// Stops by target, in the order port, classes, destinations; absent if there were no stops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<StopReport>,
    /// Maximum of the buffer bytes in the crossbar input at the other end of the port's link; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_max_bytes: Option<u64>,
    /// Data lost on the port's link, at random or because the link went down.
    pub lost_on_line: Counts,
    /// Data that arrived over the port's link and was refused by the input buffer of a crossbar switch.
    pub refused_at_input: Counts,
    /// Notifications queued for transmission at this port since the start, including repeated PAUSE frames and messages
    /// of congestion points.
    pub notifications_sent: u64,
    /// Control frames of this port that were lost, while they waited or were on the link, because the link went down,
    /// since the start. Absent if 0.
    #[serde(skip_serializing_if = "absent_if_zero")]
    pub notifications_lost: u64,
    /// Notifications obeyed at this port, since the start.
    pub notifications_received: u64,
    /// Head-of-line blocking since the start; absent if no packet waited when the neighbour stopped the port for lack
    /// of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_of_line: Option<HeadOfLine>,
    /// Pauses ended by the watchdog, since the start; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_storms: Option<u64>,
    /// Results by class, the highest first.
    pub classes: Vec<PortClassReport>,
}

/// Stops of a target at a port: the port, a class, a destination, or a destination in a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StopReport {
    /// Class; `None`: all classes.
    pub class: Option<u8>,
    /// Name of the destination; `None`: all destinations.
    pub destination: Option<String>,
    /// Number of stops that began after the warm-up.
    pub times: u64,
    /// Time during which notifications stopped the target, seconds.
    pub stopped_s: f64,
}

/// Results of a class at a port. The queue may hold packets at the end of the warm-up, so that arrived + queued at the
/// end of the warm-up = sent + dropped + queued at the end of the run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PortClassReport {
    /// Packets and buffer bytes that arrived at the queue.
    pub arrived: Counts,
    /// Packets and buffer bytes of completed transmissions.
    pub sent: Counts,
    /// Packets and buffer bytes dropped.
    pub dropped: Counts,
    /// Packets and buffer bytes waiting or in transmission at the end of the run.
    pub queued: Counts,
    /// Packets marked "congestion experienced" at this port.
    pub marked_packets: u64,
    /// Maximum backlog, buffer bytes.
    pub max_bytes: u64,
    /// Time average of the backlog, buffer bytes.
    pub mean_bytes: f64,
}

/// Head-of-line blocking: packets that waited at a port when its neighbour stopped the port for lack of memory, since
/// the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeadOfLine {
    /// Number of packets that waited, summed over the stops.
    pub held_up_packets: u64,
    /// Number of these packets that were head-of-line blocked: bound for a port of the neighbour other than its fullest
    /// one.
    pub for_others_packets: u64,
}

/// Results of a node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeReport {
    /// Name.
    pub name: String,
    /// `host` or `switch`.
    pub kind: &'static str,
    /// Time average of the sum of the backlogs of all ports and classes, buffer bytes.
    pub mean_bytes: f64,
    /// Largest maximum backlog of a class at a port, buffer bytes.
    pub max_queue_bytes: u64,
    /// Packets dropped in the node's queues and at its inputs.
    pub dropped_packets: u64,
}

/// Results of a conditioner, in packets and buffer bytes.
#[derive(Clone, Debug, Serialize)]
pub struct ConditionerReport {
    /// Name of the conditioner: that of a group of flows, or of a port and a direction.
    pub name: String,
    /// Kind of the meter.
    pub meter: String,
    /// Packets metered green.
    pub green: Counts,
    /// Packets metered yellow.
    pub yellow: Counts,
    /// Packets metered red.
    pub red: Counts,
    /// Packets of any colour that the conditioner dropped.
    pub policed: Counts,
}

/// Returns `true` for counts that serde skips: zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn absent_if_zero(count: &u64) -> bool {
    *count == 0
}

impl World {
    /// Returns the results of all ports, whose names are `names`, and adds them to the digest.
    pub(super) fn port_reports(&mut self, names: &[String], digest: &mut Digest) -> Vec<PortReport> {
        let now = self.now;
        let span = now.since(self.plan.warmup).0;
        let mut reports = Vec::with_capacity(self.ports.len());
        for (index, name) in names.iter().enumerate() {
            let p = &mut self.ports[index];
            let busy = p.busy_at(now) - p.base.busy;
            let blocked = p.blocked_at(now) - p.base.blocked;
            digest.u64(busy);
            digest.u64(blocked);
            let mut classes = Vec::with_capacity(p.classes.len());
            for class in 0..p.classes.len() {
                let (settled, base, max) = (p.settled(now, class), p.base.classes[class], p.classes[class].max);
                let area = settled.area - base.area;
                digest.u128(area);
                digest.u64(max);
                for count in [settled.arrived, settled.sent, settled.dropped, settled.queued] {
                    digest.u64(count.packets);
                    digest.u64(count.bytes);
                }
                // The digest of a run without marks is the same as before marks were counted.
                if settled.marked > 0 {
                    digest.u64(settled.marked);
                }
                classes.push(PortClassReport {
                    arrived: settled.arrived.minus(base.arrived).into(),
                    sent: settled.sent.minus(base.sent).into(),
                    dropped: settled.dropped.minus(base.dropped).into(),
                    queued: settled.queued.into(),
                    marked_packets: settled.marked - base.marked,
                    max_bytes: max,
                    mean_bytes: if span == 0 { 0.0 } else { area as f64 / span as f64 },
                });
            }
            let (sent, lost_control, received, held_up, for_others, storms) = match &p.queue {
                Queue::General(general) => {
                    let storms = general.responder.as_ref().map_or(0, |r| r.storms);
                    let (sent, lost, received) =
                        (general.notifications_sent, general.notifications_lost, general.notifications_received);
                    (sent, lost, received, general.held_up, general.held_up_for_others, storms)
                }
                Queue::Fifo { .. } | Queue::Admission(_) => (0, 0, 0, 0, 0, 0),
            };
            digest.u64(sent);
            digest.u64(received);
            let (lost, refused) = (p.lost.minus(p.base.lost), p.refused.minus(p.base.refused));
            digest.u64(lost.packets);
            digest.u64(refused.packets);
            let (node, to, rate) = (p.from, p.to, p.rate.0);
            let p = &self.ports[index];
            let (stopped, slowed) = p.stops().map_or((0, 0), |s| (s.any.measured(now), s.slowed.measured(now)));
            let stops = p.stops().map_or_else(Vec::new, |stops| self.stop_reports(stops));
            reports.push(PortReport {
                name: name.clone(),
                node: self.node_name(node).to_owned(),
                to: self.node_name(to).to_owned(),
                rate_bps: rate,
                utilisation: if span == 0 { 0.0 } else { busy as f64 / span as f64 },
                stopped_s: secs(stopped),
                slowed_s: secs(slowed),
                held_s: secs(blocked),
                stops,
                input_max_bytes: self.input_max(index),
                lost_on_line: lost.into(),
                refused_at_input: refused.into(),
                notifications_sent: sent,
                notifications_lost: lost_control,
                notifications_received: received,
                head_of_line: (held_up > 0)
                    .then_some(HeadOfLine { held_up_packets: held_up, for_others_packets: for_others }),
                pause_storms: (storms > 0).then_some(storms),
                classes,
            });
        }
        reports
    }

    /// Returns the stops of a port by target, without targets that were not stopped after the warm-up.
    fn stop_reports(&self, stops: &Stops) -> Vec<StopReport> {
        let report = |(target, on_time): (&Target, &OnTime)| {
            let (class, destination) = match *target {
                Target::Port => (None, None),
                Target::Class(class) => (Some(class), None),
                Target::Destination(node, class) => (class, Some(self.node_name(node).to_owned())),
            };
            StopReport { class, destination, times: on_time.begun(), stopped_s: secs(on_time.measured(self.now)) }
        };
        stops.by_target.iter().map(report).filter(|stop| stop.times > 0 || stop.stopped_s > 0.0).collect()
    }

    /// Returns the maximum of the buffer bytes at the crossbar input at the other end of a port's link; `None`: there
    /// is no such input.
    fn input_max(&self, port: usize) -> Option<u64> {
        let FabricState::Crossbar(crossbar) = &self.nodes[usize::from(self.ports[port].to)].fabric else { return None };
        Some(crossbar.inputs[self.slots[port ^ 1] as usize].max)
    }

    /// Returns the results of all nodes, computed from those of their ports.
    pub(super) fn node_reports(&self, ports: &[PortReport]) -> Vec<NodeReport> {
        let report = |(node, state): (&crate::plan::NodePlan, &crate::world::Node)| {
            // Data refused at an input is counted at the port that sends to it, the reverse of an output port.
            let inputs = state.ports.iter().map(|p| ports[(*p ^ 1) as usize].refused_at_input.packets);
            let classes = || state.ports.iter().flat_map(|p| &ports[*p as usize].classes);
            NodeReport {
                name: node.name.clone(),
                kind: if matches!(node.kind, NodeKind::Host(_)) { "host" } else { "switch" },
                mean_bytes: classes().map(|c| c.mean_bytes).sum(),
                max_queue_bytes: classes().map(|c| c.max_bytes).max().unwrap_or(0),
                dropped_packets: classes().map(|c| c.dropped.packets).chain(inputs).sum(),
            }
        };
        self.plan.nodes.iter().zip(&self.nodes).map(report).collect()
    }

    /// Returns the results of all conditioners, and adds them to the digest.
    pub(super) fn conditioner_reports(&self, digest: &mut Digest) -> Vec<ConditionerReport> {
        let report = |rule: &crate::conditioning::Rule| {
            for count in rule.metered.iter().chain([&rule.dropped]) {
                digest.u64(count.packets);
            }
            ConditionerReport {
                name: rule.plan.name.clone(),
                meter: rule.plan.meter.kind().to_owned(),
                green: rule.metered[0].into(),
                yellow: rule.metered[1].into(),
                red: rule.metered[2].into(),
                policed: rule.dropped.into(),
            }
        };
        self.conditioning.rules.iter().map(report).collect()
    }
}
