//! Explanation of one packet.

use super::chain::{CauseNode, End, StopNode, Tree};
use super::decision::{Decision, decision};
use super::find::Found;
use super::hops::{Hop, hops};
use super::log::Log;
use super::queue::{Share, label, total};
use super::stops::Ended;
use super::units::{instant, percent, size, span};
use super::words::{numbers, place};
use serde::Serialize;
use std::fmt::Write;
use tailback_qdisc::Reason;
use tailback_sim::plan::EventKind;
use tailback_units::Time;

/// Explanation of a packet.
#[derive(Clone, Debug, Serialize)]
pub struct PacketStory {
    /// The explanation in one sentence.
    pub verdict: String,
    /// Cause of the drop or of the largest part of the delay.
    pub culprit: Culprit,
    /// Name of the flow.
    pub flow: String,
    /// Number of the packet in the flow, or of the segment for flows with a transport.
    pub packet: u32,
    /// Index of this transmission among the explained transmissions of the packet, from 1.
    pub transmission: usize,
    /// Number of the explained transmissions of the packet.
    pub transmissions: usize,
    /// `delivered`, `dropped` or `in-network`.
    pub fate: &'static str,
    /// Time at which the source passed the packet to the network.
    pub from_ps: u64,
    /// Time of delivery or drop, or the end of the run.
    pub until_ps: u64,
    /// Hops in the order of the path.
    pub hops: Vec<Hop>,
    /// Drops and marks of the packet, in order of time.
    pub decisions: Vec<Decision>,
    /// For each port at which the packet was stopped or slowed, the tree of the stop that held it longest, in the order
    /// of the path.
    pub chain: Vec<StopNode>,
    /// Start of the interval that the rows must cover: the packet's time in the network, and the instants at which the
    /// queues in the trees filled up. If the rows of the log begin later, the explanation must be repeated with earlier
    /// rows.
    #[serde(skip)]
    pub needs: Time,
}

/// The cause of a packet's delay or drop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Culprit {
    /// Kind of the cause: `overflow`, `early-drop`, `unresponsive`, `policer`, `memory`, `input` (of a crossbar),
    /// `loss`, `link-down`, `storm`, `ring`, `congestion` (of a queue that stopped the packet), `priority` (of higher
    /// classes), `queue` (other packets before it), `overload` (of a port), `held` (by a shaper, a limiter or the
    /// discipline) or `path` (no wait is as long as a tenth of transmission and propagation).
    pub kind: String,
    /// Name of the port at which the cause is; `None`: the cause is at no port.
    pub port: Option<String>,
    /// Name of the flow that contributes most; `None`: the cause is no flow.
    pub flow: Option<String>,
    /// Name of the host, switch, conditioner or queue discipline that acted; `None`: no such part acted.
    pub actor: Option<String>,
    /// Names of the ports of a ring, each stopped because of the next; empty for other kinds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ring: Vec<String>,
    /// `true` if a watchdog ended the stop.
    pub watchdog: bool,
    /// The cause in words.
    pub words: String,
}

/// Explains a packet. `transmission`: index of this transmission among the explained ones of the packet, from 1, and
/// the number of these. `None`: the log has no row of the packet.
pub fn packet(log: &Log<'_>, found: Found, transmission: (usize, usize)) -> Option<PacketStory> {
    let row = log.of_packet(found.packet).next()?;
    let hops = hops(log, found.packet);
    let decides = |event| matches!(event, EventKind::Drop | EventKind::Mark);
    let decisions: Vec<Decision> =
        log.of_packet(found.packet).filter(|row| decides(row.event)).map(|row| decision(log, row)).collect();
    let mut tree = Tree::new(log);
    let to = log.destination(row);
    let chain: Vec<StopNode> = hops.iter().filter_map(|hop| longest_stop(&mut tree, hop, to)).collect();
    let fate = match () {
        () if hops.iter().any(|hop| hop.dropped) => "dropped",
        () if found.until == Time::NEVER => "in-network",
        () => "delivered",
    };
    let mut story = PacketStory {
        verdict: String::new(),
        culprit: Culprit::default(),
        flow: label(log, row),
        packet: row.sequence,
        transmission: transmission.0,
        transmissions: transmission.1,
        fate,
        from_ps: hops.first().map_or(found.from.0, |hop| hop.from_ps),
        until_ps: hops.last().map_or(found.until.0, |hop| hop.until_ps),
        hops,
        decisions,
        chain,
        needs: tree.earliest.min(found.from),
    };
    story.culprit = culprit(&story);
    story.verdict = verdict(&story);
    Some(story)
}

/// Returns the tree of the stop that held a packet longest at a port; `None`: the packet was not stopped there. `to`:
/// destination of the packet.
fn longest_stop(tree: &mut Tree<'_, '_>, hop: &Hop, to: u16) -> Option<StopNode> {
    let from = hop.enqueued_ps?;
    let until = hop.started_ps.unwrap_or(hop.until_ps);
    let held = |start: Time, end: Time| end.0.min(until).saturating_sub(start.0.max(from));
    let stops = hop.stops.iter().filter(|interval| {
        let concerns = if interval.slows { hop.waits.slowed_ps } else { hop.waits.stopped_ps };
        concerns > 0 && held(interval.start, interval.end) > 0
    });
    let longest = stops.max_by_key(|interval| (!interval.slows, held(interval.start, interval.end)))?;
    tree.stop(hop.number, Time(longest.start.0.max(from)), &[(hop.class, to)])
}

/// Returns the cause of a packet's drop, or of the largest part of its delay.
fn culprit(story: &PacketStory) -> Culprit {
    let drop = story.decisions.iter().find(|decision| decision.event == "drop");
    if let Some(decision) = drop {
        return drop_culprit(story, decision);
    }
    let waits = |hop: &Hop| {
        let waits = hop.waits;
        [
            ("stopped", waits.stopped_ps),
            ("behind", waits.behind_ps),
            ("input", waits.input_ps),
            ("slowed", waits.slowed_ps),
            ("down", waits.down_ps),
            ("held", waits.held_ps),
        ]
    };
    let mut largest: Option<(&Hop, &str, u64)> = None;
    for hop in &story.hops {
        for (kind, wait) in waits(hop) {
            if wait > largest.map_or(0, |(_, _, best)| best) {
                largest = Some((hop, kind, wait));
            }
        }
    }
    let base: u64 = story.hops.iter().map(|hop| hop.waits.serialisation_ps + hop.waits.propagation_ps).sum();
    let Some((hop, kind, wait)) = largest else { return path(base) };
    if wait < base / 10 {
        return path(base);
    }
    wait_culprit(story, hop, kind, wait)
}

/// Returns the cause of a delay without long waits. `base`: transmission and propagation, picoseconds.
fn path(base: u64) -> Culprit {
    let words = format!("transmission and propagation take {}", span(base));
    Culprit { kind: "path".to_owned(), words, ..Culprit::default() }
}

/// Returns the cause of a wait of `kind` at a hop; `wait`: its length, picoseconds.
fn wait_culprit(story: &PacketStory, hop: &Hop, kind: &str, wait: u64) -> Culprit {
    let at = format!("{} at {}", span(wait), hop.port);
    let port = Some(hop.port.clone());
    match kind {
        "stopped" | "slowed" => {
            let stop = story.chain.iter().find(|stop| stop.number == hop.number);
            let verb = if kind == "slowed" { "slowed" } else { "stopped" };
            let known = stop.map(chain_culprit).filter(|culprit| !culprit.kind.is_empty());
            let Some(mut culprit) = known else {
                let words = format!("it was {verb} for {at}");
                return Culprit { kind: "congestion".to_owned(), port, words, ..Culprit::default() };
            };
            culprit.words = format!("it was {verb} for {at}, since {}", culprit.words);
            culprit
        }
        "behind" => {
            let before = hop.left.first();
            let overtaking = total(&hop.overtook);
            let higher: Vec<&Share> = hop.left.iter().filter(|share| share.class < hop.class).collect();
            let higher_bytes: u64 = higher.iter().map(|share| share.bytes).sum();
            if 2 * higher_bytes > total(&hop.left) {
                let first = higher[0];
                let words = format!(
                    "it waited {at} for higher classes: {} of the {} that left before it were {}'s, class {}",
                    percent(first.bytes, total(&hop.left)),
                    size(total(&hop.left)),
                    first.flow,
                    first.class
                );
                let flow = Some(first.flow.clone());
                return Culprit { kind: "priority".to_owned(), port, flow, words, ..Culprit::default() };
            }
            let mut words = format!("it waited {at}");
            if let Some(share) = before {
                let _ = write!(
                    words,
                    ": {} of the {} that left before it were {}'s",
                    percent(share.bytes, total(&hop.left)),
                    size(total(&hop.left)),
                    share.flow
                );
            }
            if overtaking > 0 {
                let _ = write!(words, ", {} had arrived later", percent(overtaking, total(&hop.left)));
            }
            let flow = before.map(|share| share.flow.clone());
            Culprit { kind: "queue".to_owned(), port, flow, words, ..Culprit::default() }
        }
        "input" => {
            let first = hop.at_input.first();
            let mut words = format!("it waited {} at the input of the crossbar before {}", span(wait), hop.port);
            if let Some(share) = first {
                let _ = write!(
                    words,
                    ": {} of the {} before it were {}'s",
                    percent(share.bytes, total(&hop.at_input)),
                    size(total(&hop.at_input)),
                    share.flow
                );
            }
            let flow = first.map(|share| share.flow.clone());
            Culprit { kind: "input".to_owned(), port, flow, words, ..Culprit::default() }
        }
        "down" => {
            let words = format!("it waited {at} while the link was down");
            Culprit { kind: "link-down".to_owned(), port, words, ..Culprit::default() }
        }
        _ => {
            let words =
                format!("it waited {at} with an idle transmitter: a shaper, a limiter or the discipline held it");
            Culprit { kind: "held".to_owned(), port, words, ..Culprit::default() }
        }
    }
}

/// Returns the cause of a drop.
fn drop_culprit(story: &PacketStory, decision: &Decision) -> Culprit {
    let hop = story.hops.iter().find(|hop| hop.dropped);
    let before: &[Share] = hop.map_or(&[], |hop| &hop.before);
    let first = before.first();
    let flow = first.map(|share| share.flow.clone());
    let port = Some(decision.port.clone());
    let mut words;
    let (kind, flow, actor, port) = match decision.why {
        Some(Reason::BufferFull) | None => {
            words = "the queue was full".to_owned();
            let bytes = decision.limit_bytes.filter(|limit| decision.queue_bytes + decision.bytes > *limit);
            if let Some(limit) = bytes {
                let _ = write!(
                    words,
                    " ({} and {} more exceed {})",
                    size(decision.queue_bytes),
                    size(decision.bytes),
                    size(limit)
                );
            } else if let Some(limit) = decision.limit_packets {
                let _ = write!(words, " ({} packets, limit {limit})", decision.queue_packets);
            }
            ("overflow", flow, Some(decision.law.to_owned()), port)
        }
        Some(Reason::Early) => {
            words = format!("early drop by {}", decision.law);
            let numbers = numbers(decision);
            if !numbers.is_empty() {
                let _ = write!(words, " ({numbers})");
            }
            ("early-drop", flow, Some(decision.law.to_owned()), port)
        }
        Some(Reason::Unresponsive) => {
            words = format!("{} limits a flow that does not respond ({})", decision.law, numbers(decision));
            ("unresponsive", flow, Some(decision.law.to_owned()), port)
        }
        Some(Reason::SharedMemoryFull) => {
            words = "the switch had no memory for it".to_owned();
            let mut culprit = (flow, port);
            if let Some(memory) = &decision.memory {
                let _ = write!(words, " ({} of {} in use)", size(memory.used_bytes), size(memory.memory_bytes));
                if let Some((port, bytes)) = memory.ports.first() {
                    let _ = write!(words, "; {} of it waits at {port}", percent(*bytes, memory.used_bytes));
                    culprit.1 = Some(port.clone());
                }
                if let Some(share) = memory.flows.first() {
                    let _ = write!(words, ", {} is {}'s", percent(share.bytes, memory.used_bytes), share.flow);
                    culprit.0 = Some(share.flow.clone());
                }
            }
            return Culprit {
                kind: "memory".to_owned(),
                port: culprit.1,
                flow: culprit.0,
                actor: decision.memory.as_ref().map(|memory| memory.node.clone()),
                words,
                ..Culprit::default()
            };
        }
        Some(Reason::InputBufferFull) => {
            words = "the input of the crossbar was full".to_owned();
            let mut flow = None;
            if let Some(memory) = &decision.memory {
                let _ = write!(words, " ({} of {} in use)", size(memory.used_bytes), size(memory.memory_bytes));
                if let Some(share) = memory.flows.first() {
                    let _ = write!(words, "; {} of it is {}'s", percent(share.bytes, memory.used_bytes), share.flow);
                    flow = Some(share.flow.clone());
                }
            }
            ("input", flow, decision.memory.as_ref().map(|memory| memory.node.clone()), port)
        }
        Some(Reason::LinkLoss) => {
            words = "lost at random on the link".to_owned();
            if let Some(loss) = decision.loss {
                let _ = write!(words, " (probability {loss})");
            }
            ("loss", None, None, port)
        }
        Some(Reason::LinkDown) => {
            words = "the link went down".to_owned();
            ("link-down", None, None, port)
        }
        Some(Reason::Policed) => {
            let names = decision.conditioners.join(" or ");
            words = format!("a policer dropped it ({names})");
            ("policer", None, (!names.is_empty()).then_some(names), port)
        }
    };
    let measured = hop.map_or(0, |hop| hop.queue_bytes);
    if let Some(share) = first.filter(|_| flow.is_some() && measured > 0) {
        let _ = write!(
            words,
            "; {} of the {} before it were {}'s",
            percent(share.bytes, measured),
            size(measured),
            share.flow
        );
    }
    Culprit { kind: kind.to_owned(), port, flow, actor, words, ..Culprit::default() }
}

/// Returns the cause of a stop: the end of its chain.
pub(super) fn chain_culprit(stop: &StopNode) -> Culprit {
    let watchdog = stop.ended == Ended::Watchdog;
    let mut culprit = stop_culprit(stop).unwrap_or_default();
    culprit.watchdog = watchdog;
    if watchdog && let Some(until) = stop.until_ps {
        let _ = write!(culprit.words, ", until the watchdog ignored it at {}", instant(until));
    }
    culprit
}

/// Returns the cause of a stop without the watchdog; `None`: the cause is unknown or explained elsewhere.
fn stop_culprit(stop: &StopNode) -> Option<Culprit> {
    match &stop.end {
        Some(End::Ring { ports }) => {
            return Some(Culprit {
                kind: "ring".to_owned(),
                port: Some(stop.port.clone()),
                ring: ports.clone(),
                words: format!("ports wait for each other in a ring: {}", ports.join(", ")),
                ..Culprit::default()
            });
        }
        Some(End::Above { .. } | End::Unknown) => return None,
        _ => {}
    }
    let ends: Vec<Culprit> = stop.causes.iter().filter_map(|cause| cause_culprit(stop, cause)).collect();
    // A storm or a ring precedes a congested queue, which it may have filled.
    let rank = |culprit: &Culprit| match culprit.kind.as_str() {
        "storm" => 0,
        "ring" => 1,
        _ => 2,
    };
    ends.into_iter().min_by_key(rank)
}

/// Returns the cause at the end of the chain of one congested queue or storm; `None`: it is unknown.
fn cause_culprit(stop: &StopNode, cause: &CauseNode) -> Option<Culprit> {
    match &cause.end {
        Some(End::Storm { host }) => {
            return Some(Culprit {
                kind: "storm".to_owned(),
                port: Some(stop.port.clone()),
                actor: Some(host.clone()),
                words: format!("{host} sends PAUSE frames continuously and stops {}", stop.port),
                ..Culprit::default()
            });
        }
        Some(End::Congested { port }) => {
            let first = cause.filled_by.first();
            let mut words = format!("{} held {}", place(cause).trim_end_matches(','), size(cause.level));
            if let Some(threshold) = cause.threshold {
                let _ = write!(words, " (threshold {})", size(threshold));
            }
            if let Some(share) = first {
                let _ = write!(words, ", {} of it {}'s", percent(share.bytes, total(&cause.filled_by)), share.flow);
            }
            if *port != cause.port {
                let _ = write!(words, ", for the link of {port}");
            }
            return Some(Culprit {
                kind: "congestion".to_owned(),
                port: Some(port.clone()),
                flow: first.map(|share| share.flow.clone()),
                words,
                ..Culprit::default()
            });
        }
        _ => {}
    }
    cause.stops.iter().find_map(stop_culprit)
}

/// Returns the explanation in one sentence.
fn verdict(story: &PacketStory) -> String {
    let PacketStory { flow, packet, .. } = story;
    let again = match story.transmissions {
        0 | 1 => String::new(),
        many => format!(" (transmission {} of {many})", story.transmission),
    };
    let place = story.hops.iter().find(|hop| hop.dropped).or(story.hops.last()).map_or("", |hop| &hop.port);
    let words = &story.culprit.words;
    let delay = span(story.until_ps - story.from_ps);
    match story.fate {
        "dropped" => {
            format!("{flow} packet {packet}{again} was dropped at {place} at {}: {words}", instant(story.until_ps))
        }
        "delivered" => {
            format!("{flow} packet {packet}{again} was delivered at {} after {delay}: {words}", instant(story.until_ps))
        }
        _ => format!("{flow} packet {packet}{again} was still at {place} at the end, after {delay}: {words}"),
    }
}
