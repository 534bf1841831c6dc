//! Measured times that are too short for a measured packet to arrive.

use super::numbers::seconds;
use super::pass::{Pass, Warnings};
use crate::document::WarningName;
use std::collections::BTreeMap;
use tailback_document::Path;
use tailback_sim::plan::{ChangeKind, Plan};
use tailback_units::Dur;

/// Adds a warning about each group of flows whose packets all take longer than the measured time.
pub(super) fn check(pass: &Pass<'_>, found: &mut Warnings) {
    let plan = pass.plan;
    let measured = plan.end.since(plan.warmup);
    if plan.timeline.iter().any(|change| matches!(change.what, ChangeKind::LinkDelay(..))) {
        return;
    }
    // Per group, the smallest path delay of its flows. Many flows of a group have the same two hosts, so each pair of
    // nodes is computed once.
    let mut groups: BTreeMap<&str, Dur> = BTreeMap::new();
    let mut known: BTreeMap<(u16, u16), Dur> = BTreeMap::new();
    for flow in plan.flows.iter().filter(|flow| flow.among.is_none()) {
        let delay = *known.entry((flow.from, flow.to)).or_insert_with(|| shortest(plan, flow.from, flow.to));
        groups.entry(&flow.group).and_modify(|minimum| *minimum = (*minimum).min(delay)).or_insert(delay);
    }
    for (group, delay) in groups.into_iter().filter(|(_, delay)| *delay > measured) {
        found.add(
            WarningName::ShortMeasurement,
            Path::root().join("run").join("duration"),
            format!(
                "{} are measured, but packets of `{group}` take at least {} to arrive, so no packet is measured",
                seconds(measured.as_secs()),
                seconds(delay.as_secs())
            ),
            "make the run longer, or its warm-up shorter",
        );
    }
}

/// Returns a lower bound on the propagation delay over all paths from one node to another.
fn shortest(plan: &Plan, from: u16, to: u16) -> Dur {
    // Equal-cost paths have the same number of links, so the sum of the minimum delay of each step is a lower bound.
    let mut at = vec![from];
    let mut sum = Dur::ZERO;
    for _ in 0..plan.nodes.len() {
        let (mut next, mut minimum): (Vec<u16>, Option<Dur>) = (Vec::new(), None);
        for node in &at {
            for link in plan.routes.links(*node, to) {
                let link = &plan.links[*link as usize];
                minimum = Some(minimum.map_or(link.delay, |minimum| minimum.min(link.delay)));
                next.push(if link.ends[0] == *node { link.ends[1] } else { link.ends[0] });
            }
        }
        sum += minimum.unwrap_or(Dur::ZERO);
        next.sort_unstable();
        next.dedup();
        if next.is_empty() || next.contains(&to) {
            break;
        }
        at = next;
    }
    sum
}
