//! Overload: the long-run offered load exceeds the capacity of a link or a shaper.

use super::numbers::{percent, rate};
use super::offered::{Load, loads};
use super::pass::{Pass, Warnings};
use crate::document::WarningName;
use std::collections::BTreeMap;
use tailback_qdisc::Spec;
use tailback_sim::plan::{ChangeKind, NodeKind, Plan, QueuePlan};
use tailback_units::Time;

/// Relative excess that is attributed to rounding.
const TOLERANCE: f64 = 1e-9;

/// An overloaded link or shaper.
#[derive(Clone, Copy)]
struct Over {
    /// Offered load, bit/s.
    offered: f64,
    /// Capacity, bit/s.
    carried: f64,
    /// `true` if the capacity is that of the port's shaper, `false` if it is that of its link.
    by_shaper: bool,
}

/// Adds a warning about each kind of overloaded port.
pub(super) fn check(pass: &Pass<'_>, found: &mut Warnings) {
    let plan = pass.plan;
    if plan.end <= plan.warmup {
        return;
    }
    let no_port = vec![false; 2 * plan.links.len()];
    let candidates = overloaded(plan, &loads(plan, &no_port));
    if candidates.is_empty() {
        return;
    }
    // Behind an overloaded port the load of its flows is lower than offered. Therefore the loads are computed again,
    // with each flow counted only up to the first overloaded port on its path.
    let mut cut = no_port;
    for port in candidates.keys() {
        cut[*port as usize] = true;
    }
    let loads = loads(plan, &cut);
    // Ports described by the same entries share one warning, about the one with the greatest overload.
    let mut kinds: BTreeMap<_, Vec<(u32, Over)>> = BTreeMap::new();
    for (port, over) in overloaded(plan, &loads) {
        kinds.entry(pass.places.kind(port)).or_default().push((port, over));
    }
    for mut ports in kinds.into_values() {
        ports.sort_by(|(_, a), (_, b)| (b.offered / b.carried).total_cmp(&(a.offered / a.carried)));
        let (port, over) = ports[0];
        warn(pass, found, port, over, &loads[port as usize], ports.len() - 1);
    }
}

/// Returns the overloaded ports, by number.
fn overloaded(plan: &Plan, loads: &[Load]) -> BTreeMap<u32, Over> {
    let over = |port: u32| {
        let (load, link) = (&loads[port as usize], link_rate(plan, port));
        let shaper = queue(plan, port).shaper.as_ref().map(|shaper| shaper.rate.0 as f64);
        let by_shaper = shaper.is_some_and(|rate| load.buffer > rate * (1.0 + TOLERANCE));
        let (offered, carried) = if by_shaper { (load.buffer, shaper?) } else { (load.wire, link) };
        (offered > carried * (1.0 + TOLERANCE)).then_some((port, Over { offered, carried, by_shaper }))
    };
    (0..loads.len() as u32).filter_map(over).collect()
}

/// Returns the queue of a port.
fn queue(plan: &Plan, port: u32) -> &QueuePlan {
    &plan.links[port as usize / 2].queue[port as usize % 2]
}

/// Returns the mean rate of a port's link over the measured time in bit/s; failures of the link are ignored.
fn link_rate(plan: &Plan, port: u32) -> f64 {
    let link = port / 2;
    let (mut since, mut rate) = (Time::ZERO, plan.links[link as usize].rate[port as usize % 2].0 as f64);
    if !plan.timeline.iter().any(|change| matches!(change.what, ChangeKind::LinkRate(number, _) if number == link)) {
        return rate;
    }
    let mut bits = 0.0;
    let within = |at: Time| at.max(plan.warmup).min(plan.end);
    for change in &plan.timeline {
        if let ChangeKind::LinkRate(number, new) = change.what
            && number == link
        {
            bits += rate * within(change.at).since(within(since)).as_secs();
            (since, rate) = (change.at, new.0 as f64);
        }
    }
    bits += rate * plan.end.since(within(since)).as_secs();
    bits / plan.end.since(plan.warmup).as_secs()
}

/// Adds the warning about an overloaded port; `more` is the number of other ports with the same entries.
fn warn(pass: &Pass<'_>, found: &mut Warnings, port: u32, over: Over, load: &Load, more: usize) {
    let (plan, places) = (pass.plan, &pass.places);
    let from = plan.links[port as usize / 2].ends[port as usize % 2];
    let is_host = matches!(plan.nodes[usize::from(from)].kind, NodeKind::Host(_));
    let (offered, carried) = (rate(over.offered), rate(over.carried));
    let bound = if load.at_least { "at least " } else { "" };
    let mean = if load.divided { " (mean over the equal-cost paths)" } else { "" };
    let what = if over.by_shaper { "its shaper lets pass" } else { "its link carries" };
    let others = match more {
        0 => String::new(),
        1 => ", and the same holds for one similar port".to_owned(),
        n => format!(", and the same holds for {n} similar ports"),
    };
    let queue = queue(plan, port);
    // Classes inside a discipline have limits of their own.
    let unlimited = queue.discipline == Spec::default()
        && queue.limits.iter().all(|limit| *limit == u64::MAX)
        && queue.places.iter().all(|places| *places == u64::MAX);
    let excess = if unlimited {
        // Each second of arrivals takes offered/carried seconds to send.
        let grows = super::numbers::seconds(over.offered / over.carried - 1.0);
        format!("its queue has no limit, so nothing is lost and the delay grows by {grows} every second")
    } else {
        format!("{} of it cannot pass", percent(1.0 - over.carried / over.offered))
    };
    let group = load.largest.map(|(flow, _)| &plan.flows[flow as usize].group);
    let source = group.map(|group| {
        let path = places.flow(group);
        let key = if pass.places.document().flows.iter().any(|f| f.name == *group && f.application.is_some()) {
            "application"
        } else {
            "source"
        };
        path.join(key)
    });
    let capacity = if over.by_shaper { places.shaper(port) } else { places.rate(port) };
    let advice = source.as_ref().map_or_else(
        || format!("raise `{capacity}`"),
        |source| format!("lower the rate of `{source}`, or raise `{capacity}`"),
    );
    found.add(
        WarningName::Overload,
        source.filter(|_| is_host).unwrap_or(capacity),
        format!("{} is offered {bound}{offered}{mean} and {what} {carried}{others}: {excess}", places.port(port)),
        advice,
    );
}
