//! Queues: which buffer and discipline each output port has, and whether they can do their work.

use super::Builder;
use super::links::LinkOf;
use super::nodes::{Node, Nodes, What};
use crate::document::{FramingTable, Limit, Limits, Port, Scope, Shaper, Switch, SwitchModel, default_discipline};
use crate::glob::{Glob, is_pattern};
use serde_json::json;
use std::collections::BTreeSet;
use tailback_document::{Checked, Path, decode, listed};
use tailback_qdisc::Spec;
use tailback_qdisc::discipline::shaper;
use tailback_sim::plan::{NodeId, QueuePlan, ShaperPlan};
use tailback_units::Size;

/// Packets in a transmit ring; more is a mistake about what it is.
const LONGEST_RING: u32 = 10_000;

/// A setting and the place in the document that made it.
struct Set<'a, T> {
    value: &'a T,
    path: Path,
}

impl<'a> Builder<'a> {
    /// The two queues of each link.
    pub(super) fn queues(
        &mut self,
        nodes: &Nodes<'a>,
        links: &[LinkOf<'a>],
        framing: &FramingTable,
    ) -> Vec<[QueuePlan; 2]> {
        for node in &nodes.list {
            if let What::Switch(switch) = node.what {
                self.overrides(node, switch);
            }
        }
        let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
        let queues = links
            .iter()
            .map(|link| [0, 1].map(|side| self.queue(nodes, link.ends[side], link.ends[1 - side], framing, &mut used)))
            .collect();
        if self.complaints.is_empty() {
            self.unused_overrides(nodes, links, &used);
        }
        queues
    }

    /// What can be said of a switch's overrides without knowing its neighbours.
    fn overrides(&mut self, node: &Node<'a>, switch: &'a Switch) {
        let path = node.path();
        if let Some(discipline) = &switch.discipline {
            self.complaints.invalid(&path.join("discipline"), Checked::check(discipline));
        }
        for (neighbour, port) in &switch.ports {
            let path = path.join("ports").join(neighbour.as_str());
            if is_pattern(neighbour)
                && let Err(message) = Glob::new(neighbour)
            {
                self.complaints.key(path.clone(), message, "patterns have `*`, `?` and `[12]`");
            }
            if let Some(discipline) = &port.discipline {
                self.complaints.invalid(&path.join("discipline"), Checked::check(discipline));
            }
            if let Some(Shaper { rate, burst, accounting }) = &port.shaper {
                self.complaints.invalid(&path.join("shaper"), shaper::check(*rate, *burst, *accounting));
            }
            if let Some(ring) = port.ring.filter(|ring| !(1..=LONGEST_RING).contains(ring)) {
                let help = format!("write 1 to {LONGEST_RING}, or leave it out for none");
                self.complaints.value(path.join("ring"), format!("a ring of {ring} packets"), help);
            }
        }
    }

    /// The queue at `node` towards `neighbour`.
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
                let limits = self.limits(&Set { value: &limits, path: node.path().join("buffer") }, framing);
                return queue_plan(default_discipline(), &limits);
            }
            What::Switch(switch) => switch,
        };
        let port = self.port(nodes, node, switch, to, used);
        let network = Path::root().join("network");
        let buffer = port
            .as_ref()
            .and_then(|port| Some(Set { value: port.value.buffer.as_ref()?, path: port.path.join("buffer") }))
            .or_else(|| Some(Set { value: switch.buffer.as_ref()?, path: node.path().join("buffer") }))
            .unwrap_or_else(|| Set { value: &self.document.network.buffer, path: network.join("buffer") });
        let discipline = port
            .as_ref()
            .and_then(|port| Some(Set { value: port.value.discipline.as_ref()?, path: port.path.join("discipline") }))
            .or_else(|| Some(Set { value: switch.discipline.as_ref()?, path: node.path().join("discipline") }))
            .unwrap_or_else(|| Set { value: &self.document.network.discipline, path: network.join("discipline") });
        self.selectable(&discipline, node, to);
        self.measurable(&buffer, node, switch);
        let shaper = port.as_ref().and_then(|port| port.value.shaper.as_ref()).map(|shaper| ShaperPlan {
            rate: shaper.rate,
            burst: shaper::bucket(shaper.rate, shaper.burst).depth(),
            accounting: shaper.accounting,
        });
        let ring = port.as_ref().and_then(|port| port.value.ring);
        QueuePlan { ring, shaper, ..queue_plan(discipline.value.clone(), &self.limits(&buffer, framing)) }
    }

    /// The override for the port towards `neighbour`: the one by name, or the one by pattern or group.
    fn port(
        &mut self,
        nodes: &Nodes<'a>,
        node: &Node<'a>,
        switch: &'a Switch,
        to: &Node<'a>,
        used: &mut BTreeSet<(&'a str, &'a str)>,
    ) -> Option<Set<'a, Port>> {
        let (base, neighbour) = (node.path().join("ports"), to.name.as_str());
        let exact = switch.ports.get_key_value(neighbour);
        let patterns: Vec<_> = switch.ports.iter().filter(|(pattern, _)| nodes.fits(pattern, to)).collect();
        used.extend(patterns.iter().map(|(pattern, _)| (node.entry, pattern.as_str())));
        if let ([(first, _), (second, _), ..], None) = (&patterns[..], exact) {
            self.complaints.key(
                base.join(second.as_str()),
                format!("the port towards `{neighbour}` fits `{first}` and `{second}`"),
                format!("narrow one of the patterns, or name `{neighbour}` by itself"),
            );
        }
        let (key, port) = exact.or_else(|| patterns.first().copied())?;
        used.insert((node.entry, key));
        Some(Set { value: port, path: base.join(key.as_str()) })
    }

    fn unused_overrides(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>], used: &BTreeSet<(&str, &str)>) {
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

    /// Limits, one for each class.
    fn limits(&mut self, set: &Set<'_, Limits>, framing: &FramingTable) -> Vec<Limit> {
        let classes = usize::from(self.document.network.classes);
        let limits = match set.value {
            Limits::Each(limit) => vec![*limit; classes],
            Limits::PerClass(limits) => {
                if limits.len() != classes {
                    self.complaints.value(
                        set.path.clone(),
                        format!("{} limits for {classes} classes", limits.len()),
                        format!("write one size for all classes or a list of {classes}, or change `network.classes`"),
                    );
                }
                limits.clone()
            }
        };
        for (i, limit) in limits.iter().enumerate() {
            let path = if matches!(set.value, Limits::PerClass(_)) { set.path.join(i) } else { set.path.clone() };
            if let Limit::Bytes(size) = limit {
                self.holds_a_frame(path, *size, framing);
            }
        }
        limits
    }

    /// A buffer that cannot hold one full frame drops all of them.
    pub(super) fn holds_a_frame(&mut self, path: Path, size: Size, framing: &FramingTable) {
        // Without framing, packets are as large as their source makes them: only nothing is too small.
        let framed = framing.mtu.0 < 65_535;
        let frame = if framed { framing.in_buffer(framing.mtu.0) } else { 1 };
        if size.0 < frame {
            let message =
                format!("a buffer of {size} does not hold a single full frame, which takes {} in it", Size(frame));
            self.complaints.value(
                path,
                message,
                format!("make it \"{}\" or more, or \"unlimited\"", Size(frame.max(1_000))),
            );
        }
    }

    /// Destinations can be stopped one by one only where the discipline keeps them apart.
    fn selectable(&mut self, discipline: &Set<'_, Spec>, node: &Node<'a>, to: &Node<'a>) {
        let Some(switch) = to.switch() else { return };
        let scope = self.document.scope_of(switch);
        if matches!(scope, Scope::Destination | Scope::ClassDestination) && !discipline.value.selects_destinations() {
            let able = Spec::NAMES.iter().copied().filter(|kind| {
                let spec: Result<Spec, _> = decode(json!({ "kind": kind }));
                spec.is_ok_and(|spec| spec.selects_destinations())
            });
            let message = format!(
                "`{}` cannot stop single destinations, as `{}` will ask `{}` to",
                discipline.value.kind(),
                to.name,
                node.name
            );
            let help = format!("use {} here, or back-pressure with scope \"plain\" or \"class\"", listed(able));
            self.complaints.value(discipline.path.clone(), message, help);
        }
    }

    /// Back-pressure measures fractions of a limit in bytes.
    fn measurable(&mut self, buffer: &Set<'_, Limits>, node: &Node<'a>, switch: &Switch) {
        let without = match buffer.value {
            Limits::Each(limit) => Some(*limit).filter(|limit| limit.bytes().is_none()),
            Limits::PerClass(limits) => limits.iter().copied().find(|limit| limit.bytes().is_none()),
        };
        let Some(without) = without else { return };
        let by_input = matches!(switch.model, SwitchModel::SharedBuffer(_));
        if self.document.scope_of(switch) != Scope::None && !by_input {
            self.complaints.value(
                buffer.path.clone(),
                match without {
                    Limit::Packets(_) => format!("back-pressure of `{}` watches bytes, and this is a limit in packets", node.name),
                    _ => format!("back-pressure of `{}` watches fractions of its buffers, and a fraction of \"unlimited\" is never reached", node.name),
                },
                "write a size such as \"50kB\", or switch back-pressure off with `backpressure = { scope = \"none\" }`",
            );
        }
    }
}

fn queue_plan(discipline: Spec, limits: &[Limit]) -> QueuePlan {
    QueuePlan {
        discipline,
        limits: limits.iter().map(|limit| limit.bytes().unwrap_or(u64::MAX)).collect(),
        places: limits.iter().map(|limit| limit.packets().unwrap_or(u64::MAX)).collect(),
        ring: None,
        shaper: None,
    }
}
