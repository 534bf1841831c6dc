//! Junos: class of service, firewall filters and policers, interfaces; in braces or as `set` lines, also mixed.
//!
//! The text is parsed into a tree of words (`read`, `tree`), in which groups are expanded (`groups`). Readers of its
//! sections mark the nodes that they support (`cos`, `firewall`, `ports`); unmarked nodes are reported (`rest`).
//! Arriving packets get a forwarding class (`arriving`), which determines their output queue (`queues`).

mod arriving;
mod conditions;
mod cos;
mod defaults;
mod drops;
mod firewall;
mod groups;
mod maker;
mod ports;
mod queues;
mod read;
mod rest;
mod tree;
mod values;

use crate::ir::Config;
use crate::{Imported, Place, Report, Scope};
use cos::Cos;
use firewall::Firewall;
use maker::Maker;
use queues::Departure;
use std::collections::{BTreeMap, BTreeSet};

/// Reads a configuration. It never fails: unsupported statements are in the report with their lines.
pub fn import(text: &str) -> Imported {
    let mut report = Report::default();
    let mut tree = read::read(text, &mut report);
    groups::expand(&mut tree, &mut report);
    let cos = Cos::read(&mut tree, &mut report);
    let firewall = Firewall::read(&mut tree, &cos, &mut report);
    let mut maker = Maker {
        cos: &cos,
        firewall: &firewall,
        config: Config::default(),
        report,
        names: BTreeMap::new(),
        filter_policies: BTreeMap::new(),
        conditions: ports::CONDITIONS,
        reached: BTreeSet::new(),
        losses: BTreeSet::new(),
    };
    ports::read(&mut tree, &mut maker);
    maker.unused();
    let Maker { config, mut report, .. } = maker;
    if rest::is_known(&tree) {
        rest::report(&tree, &mut report);
    } else {
        report.error(
            Place { line: 1, column: 1 },
            "there is neither `class-of-service`, `firewall` nor `interfaces`",
            "paste the output of `show configuration`, or of `show configuration | display set`",
        );
    }
    report.enter(Scope::Everything);
    report.quote(text);
    report.unique();
    Imported { config, report }
}

impl Maker<'_> {
    /// Reports defaults, and scheduler maps that no interface uses.
    fn unused(&mut self) {
        let named: BTreeSet<String> = self.config.policies.iter().map(|policy| policy.name.clone()).collect();
        let line = None;
        // Their policies have the same names, with numbers appended.
        for (map, (_, at)) in &self.cos.maps {
            if !named.contains(map) {
                let own = Departure { map: Some((map.clone(), *at)), line, at: *at, ..Departure::default() };
                let _ = self.departing(&own, "the port");
            }
        }
        let usual = self.departing(&Departure::default(), "the port");
        self.config.departure = Some(usual);
    }
}
