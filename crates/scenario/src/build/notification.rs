//! Congestion points and rate limiters: consistency checks, and the plans of rate limiters.

use super::builder::{Builder, entry};
use super::links::LinkOf;
use super::nodes::{Node, Nodes, What};
use crate::disciplines::disciplines;
use crate::document::{FramingTable, RateLimiters, Scope, SwitchModel};
use tailback_diffserv::Dscp;
use tailback_document::{Checked, Path};
use tailback_qdisc::congestion_notification::{LimitersSpec, Tag};
use tailback_sim::plan::NodeId;

impl RateLimiters {
    /// Returns the engine's specification.
    pub(super) fn plan(&self) -> LimitersSpec {
        LimitersSpec {
            filter: self.filter,
            queues: self.queues,
            law: self.law.clone(),
            aqm: self.aqm.clone(),
            discipline: self.discipline.clone(),
            buffer: self.buffer.0,
            memory: self.memory,
            tag_bytes: self.tag_bytes,
        }
    }
}

/// Returns the rate limiters of a node; `None`: it has none.
fn limiters<'a>(node: &Node<'a>) -> Option<&'a RateLimiters> {
    match node.what {
        What::Host(host) => host.rate_limiters.as_ref(),
        What::Switch(switch) => switch.rate_limiters.as_ref(),
    }
}

impl<'a> Builder<'a> {
    /// Checks the congestion points and rate limiters of the whole document.
    pub(super) fn check_notification(&mut self, nodes: &Nodes<'a>, links: &[LinkOf<'a>], framing: &FramingTable) {
        let (mut first_point, mut first_limiter, mut points, mut tagged) = (None, None, 0, false);
        for id in nodes.ids() {
            let node = nodes.get(id);
            if let Some(found) = limiters(node) {
                let path = node.path().join("rate-limiters");
                self.check_rate_limiters(&path, found, framing, nodes, links, id);
                first_limiter.get_or_insert(path);
            }
            if let Some(switch) = node.switch()
                && let Some(law) = &switch.congestion_notification
            {
                let path = node.path().join("congestion-notification");
                self.complaints.invalid(&path, law.check());
                if matches!(switch.model, SwitchModel::InputFifo(_) | SwitchModel::VirtualOutputQueues(_)) {
                    self.complaints.value(
                        node.path().join("model"),
                        "congestion points sample output queues, but in a crossbar switch frames wait at the inputs",
                        "choose another model, or remove `congestion-notification`",
                    );
                }
                // Ports with rate limiters, those towards other switches, have no congestion points.
                let limited =
                    |link: &&LinkOf<'_>| switch.rate_limiters.is_some() && !nodes.get(link.other(id)).is_host();
                let ports = links.iter().filter(|link| link.ends.contains(&id)).filter(|link| !limited(link)).count();
                points += ports * usize::from(self.document.network.classes);
                tagged |= law.reads_tags();
                let limit = if tagged { Tag::MAX_POINTS } else { usize::from(u16::MAX) };
                if points > limit {
                    self.complaints.key(
                        path.clone(),
                        format!("`{}` brings the number of congestion points to {points}", node.name),
                        format!(
                            "the limit is {limit}, one for each class of each output port; configure them at fewer switches"
                        ),
                    );
                    return;
                }
                first_point.get_or_insert(path);
            }
        }
        match (&first_point, &first_limiter) {
            (Some(path), None) => self.complaints.key(
                path.clone(),
                "no rate limiter reacts to the congestion points",
                "add `rate-limiters = { law = { kind = \"bcn\" }, buffer = \"150kB\" }` to the edge switches, or to the hosts",
            ),
            (None, Some(path)) => self.complaints.key(
                path.clone(),
                "no congestion point notifies the rate limiters",
                "add `congestion-notification = { kind = \"bcn\" }` to the switches whose queues they control",
            ),
            (Some(_), Some(_)) => {
                self.check_no_colours(nodes);
                self.check_no_code_points(nodes);
            }
            (None, None) => {}
        }
    }

    /// Checks the rate limiters `found` of the node `id`.
    fn check_rate_limiters(
        &mut self,
        path: &Path,
        found: &RateLimiters,
        framing: &FramingTable,
        nodes: &Nodes<'a>,
        links: &[LinkOf<'a>],
        id: NodeId,
    ) {
        self.complaints.invalid(path, found.check());
        self.check_holds_a_frame(path.join("buffer"), found.buffer, framing);
        self.complaints.invalid(&path.join("law"), found.law.check());
        self.complaints.invalid(&path.join("discipline"), Checked::check(&found.discipline));
        if let Some(aqm) = &found.aqm {
            self.complaints.invalid(&path.join("aqm"), aqm.check());
        }
        let node = nodes.get(id);
        let neighbours = links.iter().filter(|link| link.ends.contains(&id)).map(|link| nodes.get(link.other(id)));
        let limited: Vec<_> = neighbours.filter(|to| node.is_host() || !to.is_host()).collect();
        if limited.is_empty() {
            self.complaints.key(
                path.clone(),
                format!("`{}` has no link to another switch, so its rate limiters have no port", node.name),
                "give them to the hosts instead, or to the switches that have such links",
            );
        }
        let by_destination = |to: &&&Node<'a>| {
            let scope = to.switch().map_or(Scope::None, |switch| self.document.scope_of(switch));
            matches!(scope, Scope::Destination | Scope::ClassDestination)
        };
        let own = node.switch().map_or(Scope::None, |switch| self.document.scope_of(switch));
        let requiring = limited.iter().find(by_destination).map(|to| to.name.clone());
        let requiring = requiring
            .or_else(|| matches!(own, Scope::Destination | Scope::ClassDestination).then(|| node.name.clone()));
        if let Some(name) = requiring {
            self.complaints.key(
                path.clone(),
                format!(
                    "rate limiters cannot stop individual destinations, which the back-pressure of `{name}` requires"
                ),
                "use back-pressure with scope \"plain\" or \"class\" there",
            );
        }
    }

    /// Checks that no DSCP is set or matched: a frame's tag uses the bits of the DSCP in the packet.
    fn check_no_code_points(&mut self, nodes: &Nodes<'a>) {
        let document = self.document;
        let given = "frames cannot have a DSCP in a network whose rate limiters tag them";
        let read = "frames have no DSCP to match in a network whose rate limiters tag them";
        let root = Path::root();
        for (i, group) in document.flows.iter().enumerate() {
            if group.dscp != Dscp::default() {
                let help = "remove one of the two: a tag replaces the DSCP";
                self.complaints.value(entry("flows", i).join("dscp"), given, help);
            }
        }
        let instead = "match `class` or `flows` instead: a tag replaces the DSCP";
        for (name, map) in &document.class_maps {
            if map.reads_code_point() {
                self.complaints.value(root.join("class-maps").join(name.as_str()), read, instead);
            }
        }
        for (path, spec) in disciplines(document) {
            if spec.reads_code_point() {
                let help = "use a discipline that classifies by `class` or `flows`: a tag replaces the DSCP";
                self.complaints.value(path, read, help);
            }
        }
        for node in &nodes.list {
            let Some(switch) = node.switch() else { continue };
            for (neighbour, port) in &switch.ports {
                if port.mpls.is_some() {
                    let path = node.path().join("ports").join(neighbour.as_str()).join("mpls");
                    self.complaints.key(path, read, "remove one of the two: labels are derived from the DSCP");
                }
            }
        }
    }

    /// Checks that no part of the document colours packets: a frame's tag uses the bits of the colour in the packet.
    fn check_no_colours(&mut self, nodes: &Nodes<'a>) {
        let help = "remove one of the two: a tag replaces the colour";
        let message = "frames cannot have a colour in a network whose rate limiters tag them";
        for (i, group) in self.document.flows.iter().enumerate() {
            if group.marking.is_some() {
                self.complaints.key(entry("flows", i).join("marking"), message, help);
            }
            // Colours come from a reservation, or from a congestion control that colours packets.
            if group.transport.as_ref().is_some_and(|transport| transport.connection().marks()) {
                self.complaints.key(entry("flows", i).join("transport"), message, help);
            }
        }
        for node in &nodes.list {
            let Some(switch) = node.switch() else { continue };
            for (neighbour, port) in &switch.ports {
                if !port.conditioners.is_empty() {
                    let path = node.path().join("ports").join(neighbour.as_str()).join("conditioners");
                    self.complaints.key(path, message, help);
                }
            }
        }
    }
}
