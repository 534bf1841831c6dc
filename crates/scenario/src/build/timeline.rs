//! The timeline: names become indices, and times are checked against the run.

use super::builder::{Builder, entry};
use super::links::LinkOf;
use super::nodes::{Node, Nodes};
use crate::document::{Change, Ends, Signal, State};
use crate::glob::{Glob, is_pattern};
use serde_json::{Map, Value};
use tailback_document::{Path, listed, suggest};
use tailback_sim::plan::{self, ChangeKind, FlowPlan, NodeId};
use tailback_traffic::MAX_BURST;
use tailback_units::{Dur, Size, Time};

impl<'a> Builder<'a> {
    /// Returns all changes in order of time; those at equal times keep the order of the document. A missing flow is
    /// reported only if the flows themselves are valid (`sound`).
    pub(super) fn timeline(
        &mut self,
        nodes: &Nodes<'a>,
        links: &[LinkOf<'a>],
        flows: &[FlowPlan],
        sound: bool,
    ) -> Vec<plan::Change> {
        let mut changes = Vec::new();
        for (i, change) in self.document.timeline.iter().enumerate() {
            let path = entry("timeline", i);
            let end = self.document.run.duration;
            if change.at > end && end > Dur::ZERO {
                self.complaints.value(
                    path.join("at"),
                    format!("the change is at {}, but the run ends at {end}", change.at),
                    "make it earlier, or lengthen `run.duration`",
                );
            }
            let kinds = match (&change.set, &change.link, &change.flow, &change.switch, &change.host) {
                // The keys of `set` need the whole document (`tuning`).
                (Some(set), None, None, None, None) => {
                    self.set_changes(&path, change, set);
                    continue;
                }
                (None, Some(ends), None, None, None) => self.link_changes(&path, change, ends, nodes, links),
                (None, None, Some(flow), None, None) => self.flow_changes(&path, change, flow, flows, sound),
                (None, None, None, Some(switch), None) => self.switch_changes(&path, change, switch, nodes),
                (None, None, None, None, Some(host)) => self.host_changes(&path, change, host, nodes, links),
                _ => {
                    let message = "a change needs exactly one of `set`, `link`, `flow`, `switch` and `host`";
                    self.complaints.value(
                        path,
                        message,
                        "write exactly one of `set = { \"links[0].rate\" = \"5Mbit/s\" }`, `link = [\"sw1\", \"sw2\"]`, `flow = \"data\"`, `switch = \"sw1\"` and `host = \"h1\"`",
                    );
                    continue;
                }
            };
            changes.extend(kinds.into_iter().map(|what| plan::Change { at: Time(change.at.0), what }));
        }
        changes.sort_by_key(|change| change.at);
        changes
    }

    /// Returns `true` if a change has at least one key and only `allowed` ones; reports other keys, or that all are
    /// missing.
    fn has_only(&mut self, path: &Path, change: &Change, what: &str, allowed: &[&str]) -> bool {
        let given = [
            ("state", change.state.is_some()),
            ("rate", change.rate.is_some()),
            ("delay", change.delay.is_some()),
            ("high", change.high.is_some()),
            ("low", change.low.is_some()),
            ("send", change.send.is_some()),
        ];
        let mut valid = true;
        for (key, _) in given.iter().filter(|(key, given)| *given && !allowed.contains(key)) {
            valid = false;
            self.complaints.key(
                path.join(*key),
                format!("a {what} has no `{key}` to change"),
                format!("the keys of a {what} are {}", listed(allowed.iter().copied())),
            );
        }
        if valid && !given.iter().any(|(_, given)| *given) {
            valid = false;
            self.complaints.value(
                path.clone(),
                format!("the change of the {what} is missing"),
                format!("add {}", listed(allowed.iter().copied())),
            );
        }
        valid
    }

    /// Checks that a change with `set` has no other key than `at`, and that `set` is not empty.
    fn set_changes(&mut self, path: &Path, change: &Change, set: &Map<String, Value>) {
        let bare = Change { set: None, ..change.clone() };
        if bare != (Change { at: change.at, ..Change::default() }) {
            self.complaints.value(
                path.clone(),
                "a change with `set` has no other keys than `at`",
                "write all in `set`",
            );
        } else if set.is_empty() {
            self.complaints.value(path.join("set"), "nothing is changed", "write keys with their new values");
        }
    }

    /// Returns the changes of all links between the nodes that two names or patterns match; empty if they are refused.
    fn link_changes(
        &mut self,
        path: &Path,
        change: &Change,
        ends: &Ends,
        nodes: &Nodes<'a>,
        links: &[LinkOf<'a>],
    ) -> Vec<ChangeKind> {
        let mut found: Vec<Vec<NodeId>> = Vec::new();
        for (side, text) in ends.0.iter().enumerate() {
            match nodes.find(text, |_| true, "host or switch") {
                Ok(ids) => found.push(ids),
                Err((message, help)) => self.complaints.value(path.join("link").join(side), message, help),
            }
        }
        if !self.has_only(path, change, "link", &["state", "rate", "delay"]) {
            return Vec::new();
        }
        let [first, second] = &found[..] else { return Vec::new() };
        let joins = |link: &&LinkOf<'_>| {
            let [a, b] = link.ends;
            first.contains(&a) && second.contains(&b) || first.contains(&b) && second.contains(&a)
        };
        if !links.iter().any(|link| joins(&link)) {
            let [a, b] = &ends.0;
            let neighbours = links.iter().filter(|link| first.iter().any(|id| link.ends.contains(id)));
            let neighbours = neighbours.map(|link| nodes.name(link.other(first[0])));
            self.complaints.value(
                path.join("link"),
                format!("no link joins `{a}` and `{b}`"),
                format!("the neighbours of `{a}` are {}", listed(neighbours)),
            );
        }
        let mut kinds = Vec::new();
        for (index, _) in links.iter().enumerate().filter(|(_, link)| joins(link)) {
            let index = index as u32;
            match change.state {
                Some(State::Down) => kinds.push(ChangeKind::LinkDown(index)),
                Some(State::Up) => kinds.push(ChangeKind::LinkUp(index)),
                Some(State::Start | State::Stop | State::Storm | State::Calm) => {
                    self.complaints.value(
                        path.join("state"),
                        "this is not a state of a link",
                        "write \"up\" or \"down\"",
                    );
                }
                None => {}
            }
            kinds.extend(change.rate.map(|rate| ChangeKind::LinkRate(index, rate)));
            kinds.extend(change.delay.map(|delay| ChangeKind::LinkDelay(index, delay)));
        }
        kinds
    }

    /// Returns the changes of all flows that a name or pattern matches; `sound` as for [`Builder::timeline`].
    fn flow_changes(
        &mut self,
        path: &Path,
        change: &Change,
        name: &str,
        flows: &[FlowPlan],
        sound: bool,
    ) -> Vec<ChangeKind> {
        if !self.has_only(path, change, "flow", &["state", "send"]) {
            return Vec::new();
        }
        let exact = |flow: &FlowPlan| flow.group == name || flow.name().to_string() == name;
        // `data[2]` names a flow but is also a pattern: names take precedence.
        let pattern = if flows.iter().any(exact) || !is_pattern(name) { None } else { Glob::new(name).ok() };
        let fits = |flow: &FlowPlan| {
            pattern
                .as_ref()
                .map_or_else(|| exact(flow), |glob| glob.matches(&flow.group) || glob.matches(&flow.name().to_string()))
        };
        let found: Vec<u32> = flows.iter().enumerate().filter(|(_, flow)| fits(flow)).map(|(i, _)| i as u32).collect();
        if found.is_empty() && sound {
            let groups = || self.document.flows.iter().map(|group| group.name.as_str());
            let help = match suggest(name, groups()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the groups of flows are {}", listed(groups())),
            };
            self.complaints.value(path.join("flow"), format!("there is no flow named `{name}`"), help);
        }
        let driven = |flow: &u32| {
            let group = &flows[*flow as usize].group;
            self.document.flows.iter().any(|g| g.name == *group && g.application.is_some())
        };
        if found.iter().any(driven) {
            self.complaints.value(
                path.join("flow"),
                format!("`{name}` has an application, which the timeline cannot start or stop"),
                "set `start` and `stop` in the group's [[flows]] table",
            );
        }
        if let Some(send) = change.send {
            return self.injection(path, change, send, &found);
        }
        let state = match change.state {
            Some(State::Start) => ChangeKind::FlowStart,
            Some(State::Stop) => ChangeKind::FlowStop,
            Some(State::Up | State::Down | State::Storm | State::Calm) | None => {
                self.complaints.value(
                    path.join("state"),
                    "this is not a state of a flow",
                    "write \"start\" or \"stop\"",
                );
                return Vec::new();
            }
        };
        found.into_iter().map(state).collect()
    }

    /// Returns the injection of `send` bytes by the flow in `found`; reports several flows, since the total would be
    /// unclear.
    fn injection(&mut self, path: &Path, change: &Change, send: Size, found: &[u32]) -> Vec<ChangeKind> {
        if change.state.is_some() {
            self.complaints.value(
                path.clone(),
                "`state` and `send` are two changes",
                "write each in a table of its own",
            );
        }
        if !(1..=MAX_BURST).contains(&send.0) {
            let message = format!("{send} is out of range");
            self.complaints.value(path.join("send"), message, format!("write 1B to {}", Size(MAX_BURST)));
        }
        match found {
            [flow] => vec![ChangeKind::Inject { flow: *flow, bytes: send.0 }],
            [] => Vec::new(),
            _ => {
                let message = format!("{} flows have this name", found.len());
                self.complaints.value(path.join("flow"), message, "name a single flow, such as `data[1]`");
                Vec::new()
            }
        }
    }

    /// Returns the changes of all hosts that a name or pattern matches. A pause storm requires that the neighbours of
    /// the host obey PAUSE frames.
    fn host_changes(
        &mut self,
        path: &Path,
        change: &Change,
        name: &str,
        nodes: &Nodes<'a>,
        links: &[LinkOf<'a>],
    ) -> Vec<ChangeKind> {
        if !self.has_only(path, change, "host", &["state"]) {
            return Vec::new();
        }
        let on = match change.state {
            Some(State::Storm) => true,
            Some(State::Calm) => false,
            _ => {
                let message = "this is not a state of a host";
                self.complaints.value(path.join("state"), message, "write \"storm\" or \"calm\"");
                return Vec::new();
            }
        };
        let found = match nodes.find(name, Node::is_host, "host") {
            Ok(found) => found,
            Err((message, help)) => {
                self.complaints.value(path.join("host"), message, help);
                return Vec::new();
            }
        };
        for id in &found {
            let neighbours = links.iter().filter(|link| link.ends.contains(id)).map(|link| nodes.get(link.other(*id)));
            let obeys_pause = |node: &Node<'_>| {
                let law = node.switch().and_then(|switch| self.document.backpressure_of(switch));
                law.is_some_and(|law| matches!(law.signal, Signal::Mac(_)))
            };
            if !nodes.get(*id).is_host() || !neighbours.into_iter().all(obeys_pause) {
                self.complaints.value(
                    path.join("host"),
                    format!("`{}` is not a host whose switches send and obey PAUSE frames", nodes.name(*id)),
                    "name a host, and give its switch back-pressure with `signal = { kind = \"mac\" }`",
                );
                break;
            }
        }
        found.into_iter().map(|node| ChangeKind::PauseStorm { node, on }).collect()
    }

    /// Returns the changes of the watermarks of all switches that a name or pattern matches; empty if they are refused.
    fn switch_changes(&mut self, path: &Path, change: &Change, name: &str, nodes: &Nodes<'a>) -> Vec<ChangeKind> {
        if !self.has_only(path, change, "switch", &["high", "low"]) {
            return Vec::new();
        }
        let (Some(high), Some(low)) = (change.high, change.low) else {
            self.complaints.value(
                path.clone(),
                "`high` and `low` change together",
                "write both, such as `high = 0.9` and `low = 0.8`",
            );
            return Vec::new();
        };
        if low >= high {
            self.complaints.value(
                path.join("low"),
                format!("`low` = {low} is not below `high` = {high}"),
                "lower `low` or raise `high`",
            );
        }
        let found = match nodes.find(name, |node: &Node<'_>| !node.is_host(), "switch") {
            Ok(found) => found,
            Err((message, help)) => {
                self.complaints.value(path.join("switch"), message, help);
                return Vec::new();
            }
        };
        for id in &found {
            let node = nodes.get(*id);
            let help = "add [backpressure] for all switches, or `backpressure = { scope = \"plain\" }` to this one";
            match node.switch() {
                None => self.complaints.value(
                    path.join("switch"),
                    format!("`{}` is a host and has no thresholds", node.name),
                    "name a switch",
                ),
                Some(switch) if self.document.backpressure_of(switch).is_none() => {
                    self.complaints.value(
                        path.join("switch"),
                        format!("`{}` has no back-pressure and thus no thresholds", node.name),
                        help,
                    );
                }
                Some(_) => {}
            }
        }
        found.into_iter().map(|node| ChangeKind::Thresholds { node, high: high.0, low: low.0 }).collect()
    }
}
