//! Transports that need ECN marks on paths whose queues do not mark.

use super::pass::{Pass, Warnings};
use super::paths::paths;
use crate::document::WarningName;
use std::collections::BTreeMap;
use tailback_qdisc::signals::Signals;
use tailback_sim::plan::{NodeKind, Plan};
use tailback_transport::{EcnMode, Ect, Tcp};

/// Flows of a group whose transport needs marks.
struct Group<'a> {
    /// Number of flows without a marking queue on their path.
    without: usize,
    /// Number of flows.
    all: usize,
    tcp: &'a Tcp,
    /// Ports on the path of the first flow without a marking queue.
    ports: Vec<u32>,
}

/// Adds a warning about each group of flows with a path on which no queue marks.
pub(super) fn check(pass: &Pass<'_>, found: &mut Warnings) {
    let plan = pass.plan;
    let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for flow in &plan.flows {
        let Some(tcp) = flow.transport.as_deref().filter(|tcp| wants_marks(tcp)) else { continue };
        // Hosts drawn at random may have any path between them.
        if flow.among.is_some() && tcp.ecn != EcnMode::Off {
            continue;
        }
        let ports: Vec<u32> = paths(plan, flow.from, flow.to).iter().map(|hop| hop.port).collect();
        let without = tcp.ecn == EcnMode::Off || !ports.iter().any(|port| marks(plan, *port));
        let entry = groups.entry(&flow.group).or_insert(Group { without: 0, all: 0, tcp, ports: Vec::new() });
        entry.all += 1;
        if without {
            if entry.without == 0 {
                entry.ports = ports;
            }
            entry.without += 1;
        }
    }
    for (group, Group { without, all, tcp, ports }) in groups.into_iter().filter(|(_, group)| group.without > 0) {
        let path = pass.places.flow(group).join("transport");
        let control = tcp.congestion_control.kind();
        if tcp.ecn == EcnMode::Off {
            found.add(
                WarningName::NoMarks,
                path.join("congestion-control"),
                format!(
                    "\"{control}\" needs ECN marks, but the segments of `{group}` cannot be marked, since `ecn` is \"off\""
                ),
                format!("write `{path}.ecn = \"classic\"`"),
            );
            continue;
        }
        let wants = if tcp.congestion_control.needs().marks {
            format!("\"{control}\" needs ECN marks")
        } else {
            "`ect = \"ect1\"` requests L4S".to_owned()
        };
        let share = if without < all { format!(" for {without} of its {all} flows") } else { String::new() };
        let names: Vec<String> = ports.iter().take(6).map(|port| pass.places.port(*port)).collect();
        let more = if ports.len() > names.len() { ", …" } else { "" };
        let key = if tcp.congestion_control.needs().marks { "congestion-control" } else { "ect" };
        let kind = ports.iter().find_map(|port| Some((pass.places.queue(*port)?, port)));
        let place = kind.map_or_else(
            || "the discipline of a switch on the path".to_owned(),
            |([discipline, _], port)| {
                let spec = &plan.links[*port as usize / 2].queue[*port as usize % 2].discipline;
                format!("`{discipline}`, which is \"{}\"", spec.kind())
            },
        );
        found.add(
            WarningName::NoMarks,
            path.join(key),
            format!("{wants}, but no queue on the path of `{group}` marks{share}: {}{more}", names.join(", ")),
            format!("let {place}, mark: set `ecn = true` if it has that key, or use a discipline such as \"red\" with `ecn = true` or \"dualpi2\""),
        );
    }
}

/// `true` if a connection needs ECN marks: its congestion control requires them, or it uses L4S (ECT(1)).
fn wants_marks(tcp: &Tcp) -> bool {
    tcp.congestion_control.needs().marks || tcp.ecn != EcnMode::Off && tcp.ect == Ect::Ect1
}

/// `true` if packets may be marked at a port.
fn marks(plan: &Plan, port: u32) -> bool {
    let link = &plan.links[port as usize / 2];
    let limiters = match &plan.nodes[usize::from(link.ends[port as usize % 2])].kind {
        NodeKind::Host(host) => host.limiters.as_deref(),
        NodeKind::Switch(switch) => switch.limiters.as_deref(),
    };
    let limited = limiters.is_some_and(|spec| {
        spec.discipline.marks()
            || spec.aqm.as_ref().is_some_and(|tailback_qdisc::congestion_notification::Aqm::Simple(aqm)| aqm.ecn)
    });
    limited || link.queue[port as usize % 2].discipline.marks()
}
