//! Meters, markers and policers: where flows enter the network, and at the ports of switches.

use super::builder::{Builder, entry};
use super::links::LinkOf;
use super::nodes::{Node, Nodes, What};
use crate::document::{Action, Conditioner, Direction, Per};
use crate::glob::{Glob, is_pattern};
use tailback_diffserv::{Colour, Dscp};
use tailback_document::{Checked, Path, listed};
use tailback_qdisc::Accounting;
use tailback_sim::plan::{self, ConditionerPlan, FlowPlan, Place};

impl<'a> Builder<'a> {
    /// Returns all conditioners: first those of the groups of flows, then those of the ports.
    pub(super) fn conditioners(
        &mut self,
        nodes: &Nodes<'a>,
        links: &[LinkOf<'a>],
        flows: &[FlowPlan],
    ) -> Vec<ConditionerPlan> {
        let mut plans = Vec::new();
        for (i, group) in self.document.flows.iter().enumerate() {
            let Some(marking) = &group.marking else { continue };
            let path = entry("flows", i).join("marking");
            self.complaints.invalid(&path.join("meter"), marking.meter.check());
            self.check_police(&path, marking.police);
            plans.push(ConditionerPlan {
                name: group.name.clone(),
                place: Place::Source,
                flows: Some(flows_of_groups(flows, |name| name == group.name)),
                matches: None,
                per_flow: marking.per == Per::Flow,
                meter: marking.meter.clone(),
                accounting: Accounting::default(),
                police: marking.police,
                actions: Default::default(),
            });
        }
        for (number, link) in links.iter().enumerate() {
            for side in [0, 1] {
                let (node, to) = (nodes.get(link.ends[side]), nodes.get(link.ends[1 - side]));
                let port = 2 * number as u32 + side as u32;
                for (path, conditioner) in port_conditioners(nodes, node, to) {
                    plans.extend(self.conditioner_at_port(&path, conditioner, (&node.name, &to.name), port, flows));
                }
            }
        }
        // Conditioners with equal names (of parallel links, or of one port) are numbered.
        for index in 0..plans.len() {
            let count = plans[..index].iter().filter(|plan| plan.name == plans[index].name).count();
            if count > 0 {
                plans[index].name = format!("{} #{}", plans[index].name, count + 1);
            }
        }
        plans
    }

    /// Returns the plan of a conditioner at `port`, that of `node` towards `neighbour`; `None`: its flows or match are
    /// invalid, which is reported.
    fn conditioner_at_port(
        &mut self,
        path: &Path,
        conditioner: &Conditioner,
        (node, neighbour): (&str, &str),
        port: u32,
        flows: &[FlowPlan],
    ) -> Option<ConditionerPlan> {
        self.complaints.invalid(&path.join("meter"), conditioner.meter.check());
        self.complaints.invalid(path, conditioner.accounting.check("accounting"));
        self.check_police(path, conditioner.police);
        let members = match &conditioner.flows {
            None => None,
            Some(pattern) => Some(self.members(path, pattern, flows)?),
        };
        let matches = match &conditioner.matches {
            None => None,
            Some(matches) => Some(self.resolved(&path.join("match"), matches, flows)?),
        };
        let actions =
            [("conform", conditioner.conform), ("exceed", conditioner.exceed), ("violate", conditioner.violate)];
        let actions = actions.map(|(name, action)| self.action(&path.join(name), action));
        let (name, place) = match conditioner.direction {
            Direction::Egress => (format!("{node}->{neighbour} egress"), Place::Egress { port }),
            // Packets from the neighbour arrive over the other direction of the link.
            Direction::Ingress => (format!("{neighbour}->{node} ingress"), Place::Ingress { port: port ^ 1 }),
        };
        Some(ConditionerPlan {
            name: conditioner.flows.as_ref().map_or(name.clone(), |flows| format!("{name} {flows}")),
            place,
            flows: members,
            matches,
            per_flow: conditioner.per == Per::Flow,
            meter: conditioner.meter.clone(),
            accounting: conditioner.accounting,
            police: conditioner.police,
            actions,
        })
    }

    /// Returns the plan of an action; reports a class or precedence out of range, and a precedence next to a DSCP.
    fn action(&mut self, path: &Path, action: Action) -> plan::Action {
        let classes = self.document.network.classes;
        if let Some(class) = action.class.filter(|class| *class >= classes) {
            let help = format!("`network.classes` is {classes}; raise it, or choose a lower class");
            self.complaints.value(path.join("class"), format!("there is no class {class}"), help);
        }
        if let Some(precedence) = action.precedence.filter(|precedence| *precedence > 7) {
            let message = format!("{precedence} is not a precedence, which has three bits");
            self.complaints.value(path.join("precedence"), message, "write a number from 0 to 7");
        }
        if action.precedence.is_some() && action.dscp.is_some() {
            let help = "remove one: the precedence is the upper three bits of the DSCP";
            self.complaints.key(path.join("precedence"), "the action sets both a DSCP and a precedence", help);
        }
        let Action { drop, dscp, precedence, class } = action;
        plan::Action { drop, dscp: dscp.map(Dscp::codepoint), precedence, class }
    }

    /// Returns the flows of the groups that a name or pattern matches; `None`: there are none, or the pattern is
    /// malformed, which is reported.
    fn members(&mut self, path: &Path, pattern: &str, flows: &[FlowPlan]) -> Option<Vec<u32>> {
        let path = path.join("flows");
        let found = if is_pattern(pattern) {
            match Glob::new(pattern) {
                Ok(glob) => flows_of_groups(flows, |name| glob.matches(name)),
                Err(message) => {
                    self.complaints.value(path, message, "patterns may contain `*`, `?` and sets such as `[12]`");
                    return None;
                }
            }
        } else {
            flows_of_groups(flows, |name| name == pattern)
        };
        if found.is_empty() {
            let groups = self.document.flows.iter().map(|group| group.name.as_str());
            let help = format!("the groups are {}", listed(groups));
            self.complaints.value(path, format!("no group of flows is named `{pattern}`"), help);
            return None;
        }
        Some(found)
    }

    /// Checks `police`, the first colour that a policer drops: green would drop every packet.
    fn check_police(&mut self, path: &Path, police: Option<Colour>) {
        if police == Some(Colour::Green) {
            self.complaints.value(
                path.join("police"),
                "every packet would be dropped",
                "write \"yellow\" or \"red\", the first colour that is dropped",
            );
        }
    }
}

/// Returns the conditioners of a switch's port towards a neighbour: those under its name, otherwise those under a
/// pattern or group that matches it.
fn port_conditioners<'a>(nodes: &Nodes<'a>, node: &Node<'a>, to: &Node<'a>) -> Vec<(Path, &'a Conditioner)> {
    let What::Switch(switch) = node.what else { return Vec::new() };
    let several = || switch.ports.iter().find(|(key, _)| nodes.fits(key, to));
    let found = switch.ports.get_key_value(&to.name).or_else(several);
    let Some((key, port)) = found else { return Vec::new() };
    let path = node.path().join("ports").join(key.as_str()).join("conditioners");
    port.conditioners.iter().enumerate().map(|(i, conditioner)| (path.join(i), conditioner)).collect()
}

/// Returns the flows of the groups whose name satisfies `fits`, ascending.
pub(super) fn flows_of_groups(flows: &[FlowPlan], fits: impl Fn(&str) -> bool) -> Vec<u32> {
    (0..flows.len() as u32).filter(|flow| fits(&flows[*flow as usize].group)).collect()
}
