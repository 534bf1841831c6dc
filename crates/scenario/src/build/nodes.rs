//! Hosts and switches: counts become names, names become indices.

use super::Builder;
use crate::document::{Host, Switch};
use crate::glob::{Glob, is_pattern, natural_order};
use std::collections::BTreeMap;
use tailback_document::{Path, listed, suggest};
use tailback_sim::plan::{HostPlan, NodeId, NodeKind, NodePlan, SwitchPlan};

/// The engine numbers nodes in 16 bits.
const MOST_NODES: usize = 60_000;

/// All nodes, hosts first, each kind in natural order of names.
pub(super) struct Nodes<'a> {
    pub list: Vec<Node<'a>>,
    index: BTreeMap<String, NodeId>,
    /// Names in the document that stand for several nodes, with the number of those.
    groups: BTreeMap<&'a str, u32>,
}

/// One node, and the entry of the document that it comes from.
pub(super) struct Node<'a> {
    pub name: String,
    /// Key of the entry in `[hosts]` or `[switches]`.
    pub entry: &'a str,
    pub what: What<'a>,
}

/// A node's options.
#[derive(Clone, Copy)]
pub(super) enum What<'a> {
    Host(&'a Host),
    Switch(&'a Switch),
}

impl<'a> Node<'a> {
    pub fn is_host(&self) -> bool {
        matches!(self.what, What::Host(_))
    }
    /// Where the document describes it.
    pub fn path(&self) -> Path {
        Path::root().join(if self.is_host() { "hosts" } else { "switches" }).join(self.entry)
    }
    pub fn switch(&self) -> Option<&'a Switch> {
        match self.what {
            What::Host(_) => None,
            What::Switch(switch) => Some(switch),
        }
    }
}

impl<'a> Builder<'a> {
    pub(super) fn nodes(&mut self) -> Nodes<'a> {
        let mut nodes = Nodes { list: Vec::new(), index: BTreeMap::new(), groups: BTreeMap::new() };
        let hosts = self.document.hosts.iter().map(|(name, host)| (name, host.count, What::Host(host)));
        let switches = self.document.switches.iter().map(|(name, switch)| (name, switch.count, What::Switch(switch)));
        for (entry, count, what) in hosts.chain(switches) {
            self.expand(entry, count, what, &mut nodes);
        }
        nodes.list.sort_by(|a, b| b.is_host().cmp(&a.is_host()).then_with(|| natural_order(&a.name, &b.name)));
        for i in 0..nodes.list.len() {
            let id = NodeId::try_from(i).unwrap_or(NodeId::MAX);
            if let Some(other) = nodes.index.insert(nodes.list[i].name.clone(), id) {
                self.twice(&nodes.list[usize::from(other)], &nodes.list[i]);
            }
        }
        nodes
    }

    fn expand(&mut self, entry: &'a str, count: Option<u32>, what: What<'a>, nodes: &mut Nodes<'a>) {
        let node = |name: String| Node { name, entry, what };
        let path = node(String::new()).path();
        if entry.is_empty() || !entry.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) {
            self.complaints.key(
                path,
                format!("`{entry}` cannot be a node's name"),
                "a name has letters, digits, `_` and `-`",
            );
            return;
        }
        let made = count.unwrap_or(1) as usize;
        if made == 0 {
            self.complaints.value(
                path.join("count"),
                format!("`{entry}` is no node at all"),
                "write a `count` of 1 or more, or remove the entry",
            );
        } else if nodes.list.len() + made > MOST_NODES {
            let place = if count.is_some() { path.join("count") } else { path };
            self.complaints.value(
                place,
                format!("{made} more make {} nodes", nodes.list.len() + made),
                format!("hosts and switches are at most {MOST_NODES} together; lower `count`"),
            );
        } else if let Some(count) = count {
            nodes.groups.insert(entry, count);
            nodes.list.extend((1..=count).map(|i| node(format!("{entry}{i}"))));
        } else {
            nodes.list.push(node(entry.to_owned()));
        }
    }

    fn twice(&mut self, first: &Node<'_>, second: &Node<'_>) {
        let (made_first, made_second) = (first.path(), second.path());
        let message = if first.is_host() == second.is_host() {
            format!("`{}` is made twice, by {made_first} and by {made_second}", first.name)
        } else {
            format!("`{}` is the name of a host and of a switch", first.name)
        };
        let help = "names are unique among hosts and switches, those made by `count` included; rename one";
        self.complaints.key(made_second, message, help);
    }
}

impl<'a> Nodes<'a> {
    pub fn get(&self, id: NodeId) -> &Node<'a> {
        &self.list[usize::from(id)]
    }
    pub fn name(&self, id: NodeId) -> &str {
        &self.get(id).name
    }
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<'a> {
        (0..self.list.len()).map(|i| i as NodeId)
    }
    fn names(&self, wanted: impl Fn(&Node<'a>) -> bool) -> impl Iterator<Item = &str> {
        self.list.iter().filter(move |node| wanted(node)).map(|node| node.name.as_str())
    }

    /// How many nodes an entry with `count` makes, by its name; none where a single node has that name.
    fn group(&self, name: &str) -> Option<u32> {
        if self.index.contains_key(name) { None } else { self.groups.get(name).copied() }
    }
    /// Whether a text stands for all nodes that fit, and is not the name of one.
    pub fn is_several(&self, text: &str) -> bool {
        is_pattern(text) || self.group(text).is_some()
    }
    /// Whether a node is one of several that a text stands for.
    pub fn fits(&self, text: &str, node: &Node<'a>) -> bool {
        if is_pattern(text) {
            Glob::new(text).is_ok_and(|glob| glob.matches(&node.name))
        } else {
            self.group(text).is_some() && node.entry == text
        }
    }

    /// The nodes that a name, a group's name or a pattern stands for, in natural order; of the last two only those
    /// that are `wanted`. The error is a message and advice.
    pub fn find(
        &self,
        text: &str,
        wanted: impl Fn(&Node<'a>) -> bool,
        what: &str,
    ) -> Result<Vec<NodeId>, (String, String)> {
        if is_pattern(text) {
            let glob = Glob::new(text).map_err(|e| (e, "patterns have `*`, `?` and `[12]`".to_owned()))?;
            let found: Vec<NodeId> =
                self.ids().filter(|id| wanted(self.get(*id)) && glob.matches(self.name(*id))).collect();
            if found.is_empty() {
                return Err((
                    format!("`{text}` matches no {what}"),
                    format!("the names are {}", listed(self.names(wanted))),
                ));
            }
            return Ok(found);
        }
        if let Some(id) = self.index.get(text) {
            return Ok(vec![*id]);
        }
        if let Some(count) = self.group(text) {
            let members = || self.ids().filter(|id| self.fits(text, self.get(*id)));
            let found: Vec<NodeId> = members().filter(|id| wanted(self.get(*id))).collect();
            if found.is_empty() {
                let kind = if members().any(|id| self.get(id).is_host()) { "hosts" } else { "switches" };
                return Err((
                    format!("`{text}` stands for {count} {kind}, and none is a {what}"),
                    format!("the names are {}", listed(self.names(wanted))),
                ));
            }
            return Ok(found);
        }
        let message = format!("there is no {what} named `{text}`");
        let help = match suggest(text, self.names(&wanted)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.list.is_empty() => "add it under [hosts] or [switches]".to_owned(),
            None => format!("the names are {}", listed(self.names(&wanted))),
        };
        Err((message, help))
    }

    /// The nodes for the engine; `switches` has one plan for each switch, in order.
    pub fn plans(&self, switches: Vec<SwitchPlan>) -> Vec<NodePlan> {
        let mut switches = switches.into_iter();
        let plan = |node: &Node<'_>| {
            let kind = match node.what {
                What::Host(host) => NodeKind::Host(HostPlan {
                    obeys: host.obeys,
                    limiters: host.rate_limiters.as_ref().map(|limiters| Box::new(limiters.plan())),
                }),
                What::Switch(_) => NodeKind::Switch(switches.next().expect("one plan for each switch")),
            };
            NodePlan { name: node.name.clone(), kind }
        };
        self.list.iter().map(plan).collect()
    }
}
