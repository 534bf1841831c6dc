//! Class maps: in all matches, the names of class maps are replaced by their conditions, and the names of groups of
//! flows by flow numbers.

use super::builder::Builder;
use super::conditioners::flows_of_groups;
use crate::disciplines::disciplines;
use crate::document::Document;
use crate::glob::{Glob, is_pattern};
use std::collections::BTreeMap;
use tailback_document::{Invalid, Path, listed, suggest};
use tailback_qdisc::Spec;
use tailback_qdisc::classify::{Match, Resolve};
use tailback_sim::plan::{FlowPlan, NodeKind, NodePlan, QueuePlan};

/// Names that a match may refer to.
pub(super) struct Names<'a> {
    document: &'a Document,
    flows: &'a [FlowPlan],
}

impl Resolve for Names<'_> {
    fn class_map(&self, name: &str) -> Result<Match, Invalid> {
        let maps = &self.document.class_maps;
        maps.get(name).cloned().ok_or_else(|| {
            let names = || maps.keys().map(String::as_str);
            let advice = match suggest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if maps.is_empty() => {
                    format!("there are none; add [class-maps] with `{name} = {{ dscp = \"ef\" }}`")
                }
                None => format!("the class maps are {}", listed(names())),
            };
            Invalid::new("", format!("no class map is named `{name}`; {advice}"))
        })
    }
    fn flows(&self, group: &str) -> Result<Vec<u32>, Invalid> {
        let found = if is_pattern(group) {
            let glob = Glob::new(group).map_err(|e| {
                Invalid::new("flows", format!("{e}; patterns may contain `*`, `?` and sets such as `[12]`"))
            })?;
            flows_of_groups(self.flows, |name| glob.matches(name))
        } else {
            flows_of_groups(self.flows, |name| name == group)
        };
        if found.is_empty() {
            let groups = listed(self.document.flows.iter().map(|group| group.name.as_str()));
            return Err(Invalid::new(
                "flows",
                format!("no group of flows is named `{group}`; the groups are {groups}"),
            ));
        }
        Ok(found)
    }
}

impl Builder<'_> {
    /// Resolves the matches of all queues, including those of rate limiters; reports each invalid one once.
    pub(super) fn class_maps(&mut self, flows: &[FlowPlan], queues: &mut [[QueuePlan; 2]], nodes: &mut [NodePlan]) {
        let document = self.document;
        let names = Names { document, flows };
        let root = Path::root().join("class-maps");
        for (name, map) in &document.class_maps {
            let path = root.join(name.as_str());
            let before = self.complaints.count();
            self.complaints.invalid(&path, map.check());
            if self.complaints.count() == before {
                // Resolved by name, so that a cycle of references is detected.
                self.complaints.invalid(&path, Match::Named(name.clone()).resolved(&names).map(|_| ()));
            }
        }
        if !self.complaints.is_empty() {
            return;
        }
        for (path, spec) in disciplines(document) {
            let mut spec = spec.clone();
            spec.each_match(&path, &mut |path, found| {
                self.complaints.invalid(path, found.resolved(&names).map(|_| ()));
            });
        }
        if !self.complaints.is_empty() {
            return;
        }
        let resolve = |spec: &mut Spec| {
            spec.each_match(&Path::root(), &mut |_, found| {
                if let Ok(resolved) = found.resolved(&names) {
                    *found = resolved;
                }
            });
        };
        // Ports with the same discipline share its resolved form.
        let mut known: BTreeMap<usize, Spec> = BTreeMap::new();
        let written: Vec<&Spec> = disciplines(document).map(|(_, spec)| spec).collect();
        for queue in queues.iter_mut().flatten() {
            let Some(place) = written.iter().position(|spec| **spec == queue.discipline) else { continue };
            let resolved = known.entry(place).or_insert_with(|| {
                let mut spec = queue.discipline.clone();
                resolve(&mut spec);
                spec
            });
            queue.discipline = resolved.clone();
        }
        for node in nodes {
            let limiters = match &mut node.kind {
                NodeKind::Host(host) => &mut host.limiters,
                NodeKind::Switch(switch) => &mut switch.limiters,
            };
            if let Some(limiters) = limiters {
                resolve(&mut limiters.discipline);
            }
        }
    }

    /// Returns the match `written` at `path` in resolved form; `None`: it is invalid, which is reported.
    pub(super) fn resolved(&mut self, path: &Path, written: &Match, flows: &[FlowPlan]) -> Option<Match> {
        let names = Names { document: self.document, flows };
        match written.check().and_then(|()| written.resolved(&names)) {
            Ok(resolved) => Some(resolved),
            Err(invalid) => {
                self.complaints.invalid(path, Err(invalid));
                None
            }
        }
    }
}
