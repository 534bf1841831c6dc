//! Queues: buffer and discipline of each output port, and their checks.

use super::builder::Builder;
use super::links::LinkOf;
use super::nodes::{Node, Nodes, What};
use crate::document::{
    Document, FramingTable, Limit, Limits, Port, Scope, Shaper, Switch, SwitchModel, default_discipline,
};
use crate::glob::{Glob, is_pattern};
use serde_json::json;
use std::collections::BTreeSet;
use tailback_document::{Checked, Path, decode, listed};
use tailback_qdisc::Spec;
use tailback_qdisc::discipline::shaper;
use tailback_sim::plan::{NodeId, QueuePlan, ShaperPlan};
use tailback_units::Size;

/// Upper bound on the packets of a transmit ring; a larger number indicates a wrong unit.
const MAX_RING: u32 = 10_000;

/// A setting with its path in the document.
pub(super) struct Setting<'a, T> {
    value: &'a T,
    pub path: Path,
}

/// The settings of a switch's port: those of the port, otherwise those of the switch, otherwise those of the network.
pub(super) struct Settings<'a> {
    pub buffer: Setting<'a, Limits>,
    pub discipline: Setting<'a, Spec>,
}

impl<'a> Settings<'a> {
    /// Returns the settings of a port of `node`, which is the switch `switch`; `port` is the table of the port, if any.
    fn of(
        document: &'a Document,
        node: &Node<'a>,
        switch: &'a Switch,
        port: Option<&Setting<'a, Port>>,
    ) -> Settings<'a> {
        let network = Path::root().join("network");
        let buffer = port
            .and_then(|port| Some(Setting { value: port.value.buffer.as_ref()?, path: port.path.join("buffer") }))
            .or_else(|| Some(Setting { value: switch.buffer.as_ref()?, path: node.path().join("buffer") }))
            .unwrap_or_else(|| Setting { value: &document.network.buffer, path: network.join("buffer") });
        let discipline = port
            .and_then(|port| {
                Some(Setting { value: port.value.discipline.as_ref()?, path: port.path.join("discipline") })
            })
            .or_else(|| Some(Setting { value: switch.discipline.as_ref()?, path: node.path().join("discipline") }))
            .unwrap_or_else(|| Setting { value: &document.network.discipline, path: network.join("discipline") });
        Settings { buffer, discipline }
    }
    /// Returns the settings of the port of `node` towards `neighbour`, in a checked document.
    pub fn find(
        document: &'a Document,
        nodes: &Nodes<'a>,
        node: &Node<'a>,
        switch: &'a Switch,
        to: &Node<'a>,
    ) -> Settings<'a> {
        let port = fitting(nodes, switch, to).next();
        let port = port.map(|(key, port)| Setting { value: port, path: port_path(node, key) });
        Settings::of(document, node, switch, port.as_ref())
    }
}

/// Returns a switch's port tables that apply to the port towards `to`: first that under its name, then those under a
/// pattern or group.
fn fitting<'a>(nodes: &Nodes<'a>, switch: &'a Switch, to: &Node<'a>) -> impl Iterator<Item = (&'a str, &'a Port)> {
    let others = switch.ports.iter().filter(|(key, _)| **key != to.name && nodes.fits(key, to));
    switch.ports.get_key_value(&to.name).into_iter().chain(others).map(|(key, port)| (key.as_str(), port))
}

/// Returns the path of the port table under `key`.
fn port_path(node: &Node<'_>, key: &str) -> Path {
    node.path().join("ports").join(key)
}

impl<'a> Builder<'a> {
    /// Returns the two queues of each link, in the order of its ends.
    pub(super) fn queues(
        &mut self,
        nodes: &Nodes<'a>,
        links: &[LinkOf<'a>],
        framing: &FramingTable,
    ) -> Vec<[QueuePlan; 2]> {
        for node in &nodes.list {
            if let What::Switch(switch) = node.what {
                self.check_port_tables(node, switch);
            }
        }
        let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
        let queues = links
            .iter()
            .map(|link| [0, 1].map(|side| self.queue(nodes, link.ends[side], link.ends[1 - side], framing, &mut used)))
            .collect();
        if self.complaints.is_empty() {
            self.report_unused_port_tables(nodes, links, &used);
        }
        queues
    }

    /// Checks those parts of a switch's port settings that do not depend on its neighbours.
    fn check_port_tables(&mut self, node: &Node<'a>, switch: &'a Switch) {
        let path = node.path();
        if let Some(discipline) = &switch.discipline {
            self.complaints.invalid(&path.join("discipline"), Checked::check(discipline));
        }
        for (neighbour, port) in &switch.ports {
            let path = path.join("ports").join(neighbour.as_str());
            if is_pattern(neighbour)
                && let Err(message) = Glob::new(neighbour)
            {
                self.complaints.key(path.clone(), message, "patterns may contain `*`, `?` and sets such as `[12]`");
            }
            if let Some(discipline) = &port.discipline {
                self.complaints.invalid(&path.join("discipline"), Checked::check(discipline));
            }
            if let Some(Shaper { rate, burst, accounting }) = &port.shaper {
                self.complaints.invalid(&path.join("shaper"), shaper::check(*rate, *burst, *accounting));
            }
            if let Some(ring) = port.ring.filter(|ring| !(1..=MAX_RING).contains(ring)) {
                let help = format!("write a number from 1 to {MAX_RING}, or remove `ring`");
                self.complaints.value(
                    path.join("ring"),
                    format!("a transmit ring of {ring} packets is out of range"),
                    help,
                );
            }
        }
    }

    /// Returns the queue at `node` towards `neighbour`.
    fn queue(
        &mut self,
        nodes: &Nodes<'a>,
        node: NodeId,
        neighbour: NodeId,
        framing: &FramingTable,
        used: &mut BTreeSet<(&'a str, &'a str)>,
    ) -> QueuePlan {
        let (node, to) = (nodes.get(node), nodes.get(neighbour));
        let switch = match node.what {
            What::Host(host) => {
                let limits = Limits::Each(host.buffer);
                let limits = self.limits(&Setting { value: &limits, path: node.path().join("buffer") }, framing);
                return queue_plan(default_discipline(), &limits);
            }
            What::Switch(switch) => switch,
        };
        let port = self.port(nodes, node, switch, to, used);
        let Settings { buffer, discipline } = Settings::of(self.document, node, switch, port.as_ref());
        self.check_separates_destinations(&discipline, node, to);
        self.check_limits_in_bytes(&buffer, node, switch);
        let shaper = port.as_ref().and_then(|port| port.value.shaper.as_ref()).map(|shaper| ShaperPlan {
            rate: shaper.rate,
            burst: shaper::bucket(shaper.rate, shaper.burst).depth(),
            accounting: shaper.accounting,
        });
        let ring = port.as_ref().and_then(|port| port.value.ring);
        QueuePlan { ring, shaper, ..queue_plan(discipline.value.clone(), &self.limits(&buffer, framing)) }
    }

    /// Returns the settings of the port towards `neighbour`: those under its name, otherwise those of the only pattern
    /// or group that matches.
    fn port(
        &mut self,
        nodes: &Nodes<'a>,
        node: &Node<'a>,
        switch: &'a Switch,
        to: &Node<'a>,
        used: &mut BTreeSet<(&'a str, &'a str)>,
    ) -> Option<Setting<'a, Port>> {
        let found: Vec<_> = fitting(nodes, switch, to).collect();
        used.extend(found.iter().map(|(key, _)| (node.entry, *key)));
        let (first, port) = *found.first()?;
        let neighbour = to.name.as_str();
        if let Some((second, _)) = found.get(1)
            && first != neighbour
        {
            self.complaints.key(
                port_path(node, second),
                format!("the port towards `{neighbour}` matches both `{first}` and `{second}`"),
                format!("narrow one of the patterns, or add an entry `{neighbour}`"),
            );
        }
        Some(Setting { value: port, path: port_path(node, first) })
    }

    /// Reports settings of ports towards nodes that are not neighbours; `used` has the entry and the key of each
    /// setting that applies to a port.
    fn report_unused_port_tables(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>], used: &BTreeSet<(&str, &str)>) {
        for id in nodes.ids() {
            let node = nodes.get(id);
            let Some(switch) = node.switch() else { continue };
            for key in switch.ports.keys().filter(|key| !used.contains(&(node.entry, key.as_str()))) {
                let neighbours =
                    links.iter().filter(|link| link.ends.contains(&id)).map(|link| nodes.name(link.other(id)));
                let (message, neighbours) = (format!("`{}` has no link to `{key}`", node.name), listed(neighbours));
                self.complaints.key(
                    node.path().join("ports").join(key.as_str()),
                    message,
                    format!("its neighbours are {neighbours}"),
                );
            }
        }
    }

    /// Returns one limit per class.
    fn limits(&mut self, set: &Setting<'_, Limits>, framing: &FramingTable) -> Vec<Limit> {
        let classes = usize::from(self.document.network.classes);
        let limits = match set.value {
            Limits::Each(limit) => vec![*limit; classes],
            Limits::PerClass(limits) => {
                if limits.len() != classes {
                    self.complaints.value(
                        set.path.clone(),
                        format!("{} limits for {classes} classes", limits.len()),
                        format!("write one limit for all classes or a list of {classes}, or change `network.classes`"),
                    );
                }
                limits.clone()
            }
        };
        for (i, limit) in limits.iter().enumerate() {
            let path = if matches!(set.value, Limits::PerClass(_)) { set.path.join(i) } else { set.path.clone() };
            if let Limit::Bytes(size) = limit {
                self.check_holds_a_frame(path, *size, framing);
            }
        }
        limits
    }

    /// Refuses a buffer smaller than one full frame: it would drop every full frame.
    pub(super) fn check_holds_a_frame(&mut self, path: Path, size: Size, framing: &FramingTable) {
        // Without framing, packet sizes are those of the sources: only a buffer of 0 B is certainly too small.
        let framed = framing.mtu.0 < 65_535;
        let frame = if framed { framing.in_buffer(framing.mtu.0) } else { 1 };
        if size.0 < frame {
            let message = format!("a buffer of {size} does not hold a full frame, which takes {}", Size(frame));
            self.complaints.value(
                path,
                message,
                format!("make it \"{}\" or more, or \"unlimited\"", Size(frame.max(1_000))),
            );
        }
    }

    /// Checks that the queue at `node` towards `to` separates destinations if individual destinations are stopped: by
    /// the back-pressure of `node` itself, or by that of `to`, which `node` has to obey.
    fn check_separates_destinations(&mut self, discipline: &Setting<'_, Spec>, node: &Node<'a>, to: &Node<'a>) {
        let names =
            |switch: &Switch| matches!(self.document.scope_of(switch), Scope::Destination | Scope::ClassDestination);
        let required = to.switch().is_some_and(names);
        let crossbar =
            |switch: &&Switch| matches!(switch.model, SwitchModel::InputFifo(_) | SwitchModel::VirtualOutputQueues(_));
        // In a crossbar frames wait at the inputs, whose queues back-pressure then watches.
        let own = node.switch().filter(|switch| !crossbar(switch)).is_some_and(names);
        if required && node.switch().is_some_and(|switch| matches!(switch.model, SwitchModel::SharedBuffer(_))) {
            self.complaints.value(
                node.path().join("model"),
                format!(
                    "memory accounted by ingress requires FIFO queues, but neighbours require `{}` to stop individual destinations",
                    node.name
                ),
                "use another model, or back-pressure of scope \"plain\" or \"class\" for the neighbours",
            );
        } else if (required || own) && !discipline.value.selects_destinations() {
            let separating = Spec::NAMES.iter().copied().filter(|kind| {
                let spec: Result<Spec, _> = decode(json!({ "kind": kind }));
                spec.is_ok_and(|spec| spec.selects_destinations())
            });
            let kind = discipline.value.kind();
            let message = if required {
                format!("`{kind}` cannot stop individual destinations, which `{}` requires of `{}`", to.name, node.name)
            } else {
                format!("`{kind}` does not separate destinations, which the back-pressure of `{}` requires", node.name)
            };
            let help = format!("use {} here, or back-pressure with scope \"plain\" or \"class\"", listed(separating));
            self.complaints.value(discipline.path.clone(), message, help);
        }
    }

    /// Checks that the limits of a switch with back-pressure are in bytes: its watermarks are fractions of them.
    fn check_limits_in_bytes(&mut self, buffer: &Setting<'_, Limits>, node: &Node<'a>, switch: &Switch) {
        let unmeasurable = match buffer.value {
            Limits::Each(limit) => Some(*limit).filter(|limit| limit.bytes().is_none()),
            Limits::PerClass(limits) => limits.iter().copied().find(|limit| limit.bytes().is_none()),
        };
        let Some(unmeasurable) = unmeasurable else { return };
        let by_input = matches!(switch.model, SwitchModel::SharedBuffer(_));
        if self.document.scope_of(switch) != Scope::None && !by_input {
            self.complaints.value(
                buffer.path.clone(),
                match unmeasurable {
                    Limit::Packets(_) => format!("back-pressure of `{}` needs a limit in bytes, but this one is in packets", node.name),
                    _ => format!("the watermarks of back-pressure at `{}` are fractions of the buffer, and a fraction of \"unlimited\" is never reached", node.name),
                },
                "write a size such as \"50kB\", or disable back-pressure with `backpressure = { scope = \"none\" }`",
            );
        }
    }
}

/// Returns the plan of a queue with one limit per class.
fn queue_plan(discipline: Spec, limits: &[Limit]) -> QueuePlan {
    QueuePlan {
        discipline,
        limits: limits.iter().map(|limit| limit.bytes().unwrap_or(u64::MAX)).collect(),
        places: limits.iter().map(|limit| limit.packets().unwrap_or(u64::MAX)).collect(),
        ring: None,
        shaper: None,
    }
}
