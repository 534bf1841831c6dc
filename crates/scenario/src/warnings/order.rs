//! Go-back-N over sprayed paths: packets that arrive out of order count as lost.

use super::pass::{Pass, Warnings};
use super::paths::paths;
use crate::document::WarningName;
use std::collections::BTreeMap;
use tailback_document::Path;
use tailback_sim::plan::Spread;
use tailback_transport::Recovery;

/// Adds a warning about each group of flows with go-back-N over sprayed paths.
pub(super) fn check(pass: &Pass<'_>, found: &mut Warnings) {
    let plan = pass.plan;
    if plan.routes.spread != Spread::Packet {
        return;
    }
    // Per group, the largest number of equal-cost paths: the reciprocal of the smallest share of a port.
    let mut groups: BTreeMap<&str, f64> = BTreeMap::new();
    for flow in &plan.flows {
        let goes_back = flow.transport.as_ref().is_some_and(|tcp| matches!(tcp.recovery, Recovery::GoBackN(_)));
        if !goes_back || flow.among.is_some() {
            continue;
        }
        let smallest = paths(plan, flow.from, flow.to).iter().map(|hop| hop.share).fold(1.0, f64::min);
        if smallest < 1.0 {
            let largest = groups.entry(&flow.group).or_insert(0.0);
            *largest = f64::max(*largest, (1.0 / smallest).round());
        }
    }
    for (group, paths) in groups {
        let transport = pass.places.flow(group).join("transport");
        let routing = Path::root().join("network").join("routing");
        found.add(
            WarningName::Reordering,
            routing,
            format!(
                "packets of `{group}` are sprayed over {paths} paths and overtake each other, and its receiver discards packets that are \
                 out of order (go-back-N): each overtaken packet is retransmitted with all that follow"
            ),
            format!("write `routing = \"ecmp\"`, or give `{transport}` another recovery, such as TCP with \"sack\""),
        );
    }
}
