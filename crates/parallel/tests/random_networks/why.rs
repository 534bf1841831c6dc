//! Properties of explanations of packets. The bytes before a packet in a queue add up to the queue's length. The parts
//! of a packet's delay add up to the delay. The intervals of stops add up to the stopped time in the report. Each chain
//! of stops ends at a congested queue or at a storm, or closes a ring.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use tailback_sim::Report;
use tailback_sim::plan::{ChangeKind, EventKind, FrameKind, Plan};
use tailback_sim::trace::{Cause, Detail, Row};
use tailback_trace::Network;
use tailback_trace::why::{CauseNode, End, Ended, Found, Keeper, Log, PacketStory, StopNode, intervals, packet};
use tailback_units::Time;

/// Numbers of packets that are explained in each network: delivered packets with the largest delays, delivered packets
/// spread over time, dropped packets, packets in the network at the end, and delivered packets on whose path a
/// notification took effect.
const EACH: [usize; 5] = [3, 2, 3, 4, 8];

/// Parts of explanations that must occur in a few hundred networks, each with its number of occurrences in this
/// process.
static SEEN: [(&str, AtomicU64); 12] = [
    ("packets", AtomicU64::new(0)),
    ("drops", AtomicU64::new(0)),
    ("packets that were in the network at the end", AtomicU64::new(0)),
    ("bytes before a packet", AtomicU64::new(0)),
    ("stops", AtomicU64::new(0)),
    ("stops that only slow", AtomicU64::new(0)),
    ("stops ended by a watchdog", AtomicU64::new(0)),
    ("stops behind stops", AtomicU64::new(0)),
    ("causes that are inputs", AtomicU64::new(0)),
    ("causes that are limits of a destination", AtomicU64::new(0)),
    ("ends at a congested queue", AtomicU64::new(0)),
    ("ends at a storm", AtomicU64::new(0)),
];

/// Adds `number` occurrences of a part of explanations to [`SEEN`].
fn count_part(name: &str, number: u64) {
    let (_, count) = SEEN.iter().find(|(own, _)| *own == name).expect("a part of the list");
    count.fetch_add(number, Ordering::Relaxed);
}

/// Checks that every part of [`SEEN`] has occurred. It is called after at least 100 networks.
pub fn covered() {
    let counts: Vec<(&str, u64)> = SEEN.iter().map(|(name, count)| (*name, count.load(Ordering::Relaxed))).collect();
    assert!(counts.iter().all(|(_, count)| *count > 0), "explanations: {counts:?}");
    println!("explanations: {counts:?}");
}

/// Checks explanations of some packets of a traced run, and the time for which each port was stopped. To save time,
/// runs whose seed is a multiple of 3 are not checked.
pub fn check(plan: &Plan, rows: &[Row], report: &Report) -> Result<(), String> {
    if plan.seed.is_multiple_of(3) {
        return Ok(());
    }
    let network = Network::of(plan);
    let log = Log::new(&network, rows.to_vec(), plan.end);
    check_stopped_times(&log, report)?;
    let checks = Checks { plan, network: &network, log: &log, rows };
    let chosen = chosen(&log, rows);
    if let Some(found) = chosen.last() {
        check_kept_rows(&network, &log, *found, rows)?;
    }
    for found in chosen {
        let Some(story) = packet(&log, found, (1, 1)) else { return Err(format!("no rows of {found:?}")) };
        checks.story(found, &story).map_err(|fault| format!("{fault}\n{}", story.text()))?;
    }
    Ok(())
}

/// Checks that a packet has the same explanation by the whole trace and by the rows that a keeper keeps. The first
/// instant of the kept rows is set back until the explanation needs no earlier rows.
fn check_kept_rows(network: &Network, log: &Log<'_>, found: Found, rows: &[Row]) -> Result<(), String> {
    let json = |story: &PacketStory| serde_json::to_value(story).expect("a story has text keys");
    let whole = packet(log, found, (1, 1)).ok_or("no rows")?;
    let mut from = found.from;
    loop {
        let mut keeper = Keeper::new(from, found.until);
        keeper.add(rows.to_vec());
        let story =
            packet(&Log::new(network, keeper.finish(), found.until), found, (1, 1)).ok_or("no rows are kept")?;
        if story.needs >= from {
            // Rows after the packet's end are not kept: the later ends of stops are unknown and not compared.
            let known = |story: &PacketStory| (json(story)["hops"].clone(), json(story)["decisions"].clone());
            if known(&story) != known(&whole) || story.culprit.kind != whole.culprit.kind {
                return Err(format!("the kept rows give another story:\n{}\n{}", story.text(), whole.text()));
            }
            return Ok(());
        }
        from = story.needs;
    }
}

/// Checks that the time for which each port was stopped, by the intervals of the log, is that of the report.
fn check_stopped_times(log: &Log<'_>, report: &Report) -> Result<(), String> {
    for (number, port) in (0u32..).zip(&report.ports) {
        let (from, until) = ((report.warmup_s * 1e12).round() as u64, (report.end_s * 1e12).round() as u64);
        let mut spans: Vec<(u64, u64)> = intervals(log, number)
            .iter()
            .filter(|interval| !interval.slows)
            .map(|interval| (interval.start.0.max(from), interval.end.0.min(until)))
            .collect();
        spans.sort_unstable();
        let (mut sum, mut last) = (0u64, from);
        for (start, end) in spans {
            let start = start.max(last);
            if end > start {
                (sum, last) = (sum + (end - start), end);
            }
        }
        if (sum as f64 * 1e-12 - port.stopped_s).abs() > 1e-9 {
            return Err(format!(
                "{}: stopped for {} s by its rows, {} s in the report",
                port.name,
                sum as f64 * 1e-12,
                port.stopped_s
            ));
        }
    }
    Ok(())
}

/// Returns the packets to explain: of each kind the number in [`EACH`], or all if there are fewer. Kinds may overlap.
fn chosen(log: &Log<'_>, rows: &[Row]) -> Vec<Found> {
    let mut ends: BTreeMap<u64, (&Row, Option<&Row>)> = BTreeMap::new();
    for row in rows.iter().filter(|row| matches!(row.frame, FrameKind::Data | FrameKind::Syn)) {
        let entry = ends.entry(row.packet).or_insert((row, None));
        if matches!(row.event, EventKind::Deliver | EventKind::Drop) {
            entry.1 = Some(row);
        }
    }
    let found = |(first, last): (&Row, Option<&Row>)| Found {
        packet: first.packet,
        from: first.stamp,
        until: last.map_or(Time::NEVER, |row| row.time),
    };
    let of = |event: Option<EventKind>| {
        let mut all: Vec<Found> =
            (ends.values().copied()).filter(|(_, last)| last.map(|row| row.event) == event).map(found).collect();
        all.sort_by_key(|found| (found.from, found.packet));
        all
    };
    let spread = |all: &[Found], count: usize| -> Vec<Found> {
        (0..count.min(all.len())).map(|at| all[at * all.len() / count.min(all.len())]).collect()
    };
    let delivered = of(Some(EventKind::Deliver));
    let mut slow = delivered.clone();
    slow.sort_by_key(|found| std::cmp::Reverse(found.until.since(found.from)));
    let mut all: Vec<Found> = slow.into_iter().take(EACH[0]).collect();
    // The packets with the largest delays may not include any with a stop on their path.
    all.extend(spread(&held(log, &delivered), EACH[4]));
    all.extend(spread(&delivered, EACH[1]));
    all.extend(spread(&of(Some(EventKind::Drop)), EACH[2]));
    all.extend(spread(&of(None), EACH[3]));
    all
}

/// Returns the delivered packets on whose path a notification took effect while they were in the network.
fn held(log: &Log<'_>, delivered: &[Found]) -> Vec<Found> {
    let crosses = |found: &&Found| {
        log.of_packet(found.packet)
            .filter(|row| row.event == EventKind::Enqueue)
            .any(|row| log.effects(row.port).any(|(_, effect)| (found.from..found.until).contains(&effect.time)))
    };
    delivered.iter().filter(crosses).copied().collect()
}

/// Context of the checks of explanations.
struct Checks<'a> {
    plan: &'a Plan,
    network: &'a Network,
    log: &'a Log<'a>,
    rows: &'a [Row],
}

impl Checks<'_> {
    /// Checks the explanation of a packet.
    fn story(&self, found: Found, story: &PacketStory) -> Result<(), String> {
        count_part("packets", 1);
        count_part("drops", (story.fate == "dropped").into());
        count_part("packets that were in the network at the end", (story.fate == "in-network").into());
        let until = if found.until == Time::NEVER { story.until_ps } else { found.until.0 };
        let parts: u64 = story.hops.iter().map(|hop| hop.waits.total()).sum();
        if (story.from_ps, story.until_ps) != (found.from.0, until) || parts != until - found.from.0 {
            return Err(format!("{found:?}: the parts of the delay sum to {parts} ps"));
        }
        for hop in &story.hops {
            let before: u64 = hop.before.iter().map(|share| share.bytes).sum();
            count_part("bytes before a packet", before);
            if before != hop.queue_bytes {
                return Err(format!("{}: {before} B before it, {} B measured", hop.port, hop.queue_bytes));
            }
        }
        // Ports whose stops the tree explains, and ports for whose stops it refers to another place in the tree.
        let mut explained = BTreeSet::new();
        let mut referred = BTreeSet::new();
        for stop in &story.chain {
            self.stop(stop, &mut explained, &mut referred)?;
        }
        match referred.difference(&explained).next() {
            Some(port) => Err(format!("the stop of {port} is not explained in the tree")),
            None => Ok(()),
        }
    }

    /// Checks a stop and its causes; adds its port to `explained`, or to `referred` if the tree explains it elsewhere.
    fn stop(
        &self,
        stop: &StopNode,
        explained: &mut BTreeSet<String>,
        referred: &mut BTreeSet<String>,
    ) -> Result<(), String> {
        count_part("stops", 1);
        count_part("stops that only slow", stop.slows.into());
        count_part("stops ended by a watchdog", (stop.ended == Ended::Watchdog).into());
        match &stop.end {
            None if stop.causes.is_empty() => {
                return Err(format!("the stop of {} has neither cause nor end", stop.port));
            }
            None => _ = explained.insert(stop.port.clone()),
            Some(End::Above { port }) => _ = referred.insert(port.clone()),
            Some(End::Ring { ports }) => {
                for name in ports {
                    let number = self.network.ports.iter().position(|port| port.name == *name);
                    let at = Time(stop.at_ps);
                    let active = number.is_some_and(|number| {
                        let all = intervals(self.log, number as u32);
                        all.iter().any(|interval| interval.start <= at && at < interval.end)
                    });
                    if !active {
                        return Err(format!("{name} of the ring {ports:?} was not stopped at {at:?}"));
                    }
                }
            }
            Some(other) => return Err(format!("the stop of {} ends with {other:?}", stop.port)),
        }
        stop.causes.iter().try_for_each(|cause| self.cause(stop, cause, explained, referred))
    }

    /// Checks a cause of a stop, and the stops behind that cause.
    fn cause(
        &self,
        stop: &StopNode,
        cause: &CauseNode,
        explained: &mut BTreeSet<String>,
        referred: &mut BTreeSet<String>,
    ) -> Result<(), String> {
        let known = Time(cause.known_ps);
        if known.0 > stop.at_ps {
            return Err(format!("the cause {} is later than the stop: {cause:?}", cause.port));
        }
        if let Some(End::Storm { host }) = &cause.end {
            count_part("ends at a storm", 1);
            let starts_storm = |change: &tailback_sim::plan::Change| match change.what {
                ChangeKind::PauseStorm { node, on } => {
                    change.at <= known && self.network.nodes[usize::from(node)] == *host && on
                }
                _ => false,
            };
            let has_storm = self.plan.timeline.iter().any(starts_storm);
            return if has_storm { Ok(()) } else { Err(format!("{host} has no storm by {known:?}")) };
        }
        // A queue is congested while it has become congested more often than it has been relieved.
        let is_of_queue = |row: &&Row| match row.detail.as_deref() {
            // At a crossbar, queues of several inputs have the same output. The rows of an input's queue name the port
            // towards the neighbour that is notified.
            Some(Detail::Congestion { cause: own, .. }) => {
                same(*own, cause.cause) && (!own.input || row.port == cause.target)
            }
            _ => false,
        };
        let count = |event: EventKind, until: Time| {
            self.rows.iter().filter(|row| row.event == event && row.time <= until).filter(is_of_queue).count()
        };
        let before = Time(known.0.saturating_sub(1));
        if count(EventKind::Congested, known) <= count(EventKind::Relieved, before) {
            return Err(format!("{} was not congested at {known:?}: {cause:?}", cause.port));
        }
        count_part("stops behind stops", cause.stops.len() as u64);
        count_part("causes that are inputs", cause.input.into());
        count_part("causes that are limits of a destination", cause.destination.is_some().into());
        count_part("ends at a congested queue", matches!(cause.end, Some(End::Congested { .. })).into());
        match &cause.end {
            Some(End::Congested { .. }) => {}
            None if !cause.stops.is_empty() => {}
            other => return Err(format!("the chain ends at {} with {other:?}", cause.port)),
        }
        cause.stops.iter().try_for_each(|inner| self.stop(inner, explained, referred))
    }
}

/// Returns `true` if two causes are the same queue of a port.
fn same(a: Cause, b: Cause) -> bool {
    (a.port, a.class, a.destination) == (b.port, b.class, b.destination)
}
