//! Fabrics: expansion into hosts, switches and links, which follow the written ones.

use crate::complaint::Complaints;
use crate::document::{Delays, Directions, Document, Ends, Fabric, Host, Link, Switch};
use std::borrow::Cow;
use tailback_document::{Checked, Path};
use tailback_units::{Dur, Fraction, Rate};

/// Returns the document with its fabric expanded; the document itself if it has none.
pub(super) fn expand<'a>(document: &'a Document, complaints: &mut Complaints) -> Cow<'a, Document> {
    let Some(fabric) = &document.fabric else { return Cow::Borrowed(document) };
    let before = complaints.count();
    complaints.invalid(&Path::root().join("fabric"), fabric.check());
    if complaints.count() > before {
        return Cow::Borrowed(document);
    }
    let mut expansion = Expansion { document: document.clone(), complaints };
    match fabric {
        Fabric::LeafSpine(f) => {
            expansion.hosts("h", f.leaves * f.hosts_per_leaf);
            expansion.switches("leaf", f.leaves);
            expansion.switches("spine", f.spines);
            for leaf in 0..f.leaves {
                for host in 0..f.hosts_per_leaf {
                    expansion.link(("leaf", leaf), ("h", leaf * f.hosts_per_leaf + host), f.rate, f.delay);
                }
                for spine in 0..f.spines {
                    expansion.link(("leaf", leaf), ("spine", spine), f.uplink_rate.unwrap_or(f.rate), f.delay);
                }
            }
        }
        Fabric::FatTree(f) => {
            // k/2: the hosts of an edge switch, and the edge and aggregation switches of a pod.
            let half = f.k / 2;
            expansion.hosts("h", f.k * half * half);
            expansion.switches("edge", f.k * half);
            expansion.switches("agg", f.k * half);
            expansion.switches("core", half * half);
            for switch in 0..f.k * half {
                for port in 0..half {
                    let first_of_pod = switch / half * half;
                    expansion.link(("edge", switch), ("h", switch * half + port), f.rate, f.delay);
                    expansion.link(("edge", switch), ("agg", first_of_pod + port), f.rate, f.delay);
                    expansion.link(("agg", switch), ("core", switch % half * half + port), f.rate, f.delay);
                }
            }
        }
    }
    Cow::Owned(expansion.document)
}

/// A document to which the nodes and links of its fabric are added.
struct Expansion<'a> {
    document: Document,
    complaints: &'a mut Complaints,
}

impl Expansion<'_> {
    /// Adds `count` hosts under `name`, with the options that the document sets there.
    fn hosts(&mut self, name: &str, count: u32) {
        let default =
            || serde_json::from_value::<Host>(serde_json::json!({})).expect("every key of a host has a default");
        let host = self.document.hosts.entry(name.to_owned()).or_insert_with(default);
        if host.count.replace(count).is_some() {
            self.refuse_count("hosts", name);
        }
    }
    /// Adds `count` switches under `name`, with the options that the document sets there.
    fn switches(&mut self, name: &str, count: u32) {
        let default =
            || serde_json::from_value::<Switch>(serde_json::json!({})).expect("every key of a switch has a default");
        let switch = self.document.switches.entry(name.to_owned()).or_insert_with(default);
        if switch.count.replace(count).is_some() {
            self.refuse_count("switches", name);
        }
    }
    /// Reports a `count` that the document sets for nodes of the fabric.
    fn refuse_count(&mut self, section: &str, name: &str) {
        let path = Path::root().join(section).join(name).join("count");
        let message = format!("the number of `{name}` is set by the fabric");
        self.complaints.key(path, message, "remove `count`, or choose another name for additional nodes");
    }
    /// Adds a link between two nodes, each given by its name and its number from 0.
    fn link(&mut self, a: (&str, u32), b: (&str, u32), rate: Rate, delay: Dur) {
        self.document.links.push(Link {
            between: Ends([a, b].map(|(name, number)| format!("{name}{}", number + 1))),
            rate: Directions([rate; 2]),
            delay: Some(Delays([delay; 2])),
            length: None,
            loss: Fraction(0.0),
            jitter: Directions::default(),
            accounting: None,
        });
    }
}
