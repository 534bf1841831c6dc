//! Report of the statements that no reader supports.

use super::cos::part;
use super::tree::{Id, ROOT, Tree};
use crate::{Level, Report, Scope};
use std::collections::BTreeSet;

/// Top-level blocks without effect on queues: one remark for each block.
const WITHOUT_EFFECT: [&str; 30] = [
    "access",
    "accounting-options",
    "applications",
    "apply-groups",
    "bridge-domains",
    "chassis",
    "ethernet-switching-options",
    "event-options",
    "forwarding-options",
    "groups",
    "multi-chassis",
    "multicast-snooping-options",
    "poe",
    "policy-options",
    "protocols",
    "routing-instances",
    "routing-options",
    "schedulers",
    "security",
    "services",
    "snmp",
    "switch-options",
    "system",
    "tenants",
    "version",
    "virtual-chassis",
    "vlans",
    "wlan",
    "vstp",
    "unified-edge",
];

/// A remark.
struct Found {
    level: Level,
    scope: Scope,
    message: String,
    advice: Option<&'static str>,
    /// Statements with the same key share one remark.
    key: String,
}

/// Reports all statements that no reader has marked as supported.
pub(super) fn report(tree: &Tree, report: &mut Report) {
    let mut off = vec![false; tree.len()];
    let mut reported: BTreeSet<(Scope, String)> = BTreeSet::new();
    for id in 1..tree.len() {
        let node = tree.node(id);
        let outer = off.get(node.parent).copied().unwrap_or(false);
        if let Some(own) = off.get_mut(id) {
            *own = outer || node.inactive;
        }
        if node.inactive && !outer && !node.used {
            report.enter(Scope::Everything);
            report.ignored(node.at, format!("inactive: `{}`", tree.text(id)));
        }
        if outer || node.inactive || !node.ends || node.used {
            continue;
        }
        let found = judge(tree, id);
        if reported.insert((found.scope.clone(), found.key)) {
            report.enter(found.scope);
            report.add(found.level, node.at, found.message, found.advice);
        }
    }
    report.enter(Scope::Everything);
}

/// Returns the remark on a statement that no reader supports.
fn judge(tree: &Tree, id: Id) -> Found {
    let words = tree.front(id, 64);
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    let text = tree.text(id);
    let unsupported = |scope: Scope, advice: Option<&'static str>| Found {
        level: Level::Unsupported,
        scope,
        message: format!("`{text}` is not simulated"),
        advice,
        key: text.clone(),
    };
    let ignored = |scope: Scope, key: String| Found {
        level: Level::Ignored,
        scope,
        message: format!("`{key}`"),
        advice: None,
        key,
    };
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    match word(0) {
        "class-of-service" => match word(1) {
            "classifiers" => unsupported(part("classifier", word(3)), None),
            "schedulers" => unsupported(part("scheduler", word(2)), None),
            "scheduler-maps" => unsupported(part("scheduler map", word(2)), None),
            "drop-profiles" => unsupported(part("drop profile", word(2)), None),
            "traffic-control-profiles" => unsupported(part("traffic control profile", word(2)), None),
            // Code points are rewritten after the queues.
            "rewrite-rules" => {
                ignored(Scope::Everything, format!("class-of-service rewrite-rules {} {}", word(2), word(3)))
            }
            "interfaces" if has(&["rewrite-rules"]) => {
                ignored(Scope::Everything, format!("class-of-service interfaces {} rewrite-rules", word(2)))
            }
            "interfaces" if word(2).contains('*') || matches!(word(2), "all" | "interface-set" | "") => {
                unsupported(Scope::Everything, None)
            }
            "interfaces" => unsupported(Scope::Port(word(2).to_owned()), None),
            // Host-outbound traffic: packets of the router itself are not in the traffic table.
            "host-outbound-traffic" | "tri-color" | "traceoptions" | "code-point-aliases" | "copy-plp-all" => {
                ignored(Scope::Everything, format!("class-of-service {}", word(1)))
            }
            _ => unsupported(Scope::Everything, None),
        },
        "firewall" => {
            let place = words.iter().position(|word| matches!(*word, "filter" | "simple-filter"));
            match (word(1), place) {
                ("policer" | "three-color-policer", _) => unsupported(part("policer", word(2)), None),
                (_, Some(place)) => unsupported(part("filter", word(place + 1)), None),
                _ => unsupported(Scope::Everything, None),
            }
        }
        "interfaces" => {
            const AFFECTS_QUEUES: [&str; 8] = [
                "filter",
                "policer",
                "simple-filter",
                "layer2-policer",
                "interleave-fragments",
                "fragment-threshold",
                "mrru",
                "interface-range",
            ];
            if has(&AFFECTS_QUEUES) {
                let whole = word(1) == "interface-range";
                unsupported(if whole { Scope::Everything } else { Scope::Port(word(1).to_owned()) }, None)
            } else {
                ignored(Scope::Everything, format!("interfaces {}", word(1)))
            }
        }
        "chassis" if has(&["traffic-manager", "q-pic-large-buffer", "egress-policer-overhead", "cos"]) => unsupported(
            Scope::Everything,
            Some("state by --overhead the bytes per packet that shapers count, and buffers by `buffer-size temporal`"),
        ),
        "dynamic-profiles" | "logical-systems" => {
            Found { key: word(0).to_owned(), ..unsupported(Scope::Everything, None) }
        }
        block if WITHOUT_EFFECT.contains(&block) => ignored(Scope::Everything, block.to_owned()),
        block => Found {
            level: Level::Unsupported,
            scope: Scope::Everything,
            message: format!("unknown top-level statement `{block}`"),
            advice: Some(
                "paste whole blocks, such as `class-of-service { … }`, or begin with a line such as `[edit class-of-service]`",
            ),
            key: block.to_owned(),
        },
    }
}

/// `true` if the text has at least one of the sections that are read.
pub(super) fn is_known(tree: &Tree) -> bool {
    let blocks = ["class-of-service", "firewall", "interfaces"];
    blocks.iter().any(|block| tree.child(ROOT, block).is_some())
}
