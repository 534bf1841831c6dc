//! Reader of Junos configurations: class of service, firewall filters, policers and interfaces, in braces, as `set`
//! lines, or both.
//!
//! The text is parsed into a tree of words (`read`, `tree`), in which groups are expanded (`groups`). The readers of
//! the sections (`cos`, `firewall`, `ports`) mark the nodes that they support; unmarked nodes are reported (`rest`).
//! Arriving packets get a forwarding class (`arriving`), which determines their output queue (`queues`).

mod arriving;
mod builder;
mod conditions;
mod cos;
mod defaults;
mod drops;
mod firewall;
mod groups;
mod ports;
mod queues;
mod read;
mod rest;
mod tree;
mod values;

use crate::ir::Config;
use crate::{Imported, Place, Report, Scope};
use builder::Builder;
use cos::Cos;
use firewall::Firewall;
use queues::Departure;
use std::collections::{BTreeMap, BTreeSet};

/// Reads a configuration. Errors and unsupported statements are in the report, with line and column.
pub fn import(text: &str) -> Imported {
    let mut report = Report::default();
    let mut tree = read::read(text, &mut report);
    groups::expand(&mut tree, &mut report);
    let cos = Cos::read(&mut tree, &mut report);
    let firewall = Firewall::read(&mut tree, &cos, &mut report);
    let mut builder = Builder {
        cos: &cos,
        firewall: &firewall,
        config: Config::default(),
        report,
        names: BTreeMap::new(),
        filter_policies: BTreeMap::new(),
        conditions: ports::MAX_CONDITIONS,
        reached: BTreeSet::new(),
        losses: BTreeSet::new(),
    };
    ports::read(&mut tree, &mut builder);
    builder.unused();
    let Builder { config, mut report, .. } = builder;
    if rest::is_known(&tree) {
        rest::report(&tree, &mut report);
    } else {
        report.error(
            Place { line: 1, column: 1 },
            "the text has no section `class-of-service`, `firewall` or `interfaces`",
            "paste the output of `show configuration`, or of `show configuration | display set`",
        );
    }
    report.enter(Scope::Everything);
    report.quote(text);
    report.unique();
    Imported { config, report }
}

impl Builder<'_> {
    /// Builds the policies of scheduler maps that no interface uses, for their remarks, and the default departure.
    fn unused(&mut self) {
        let named: BTreeSet<String> = self.config.policies.iter().map(|policy| policy.name.clone()).collect();
        let line = None;
        // The policies of a scheduler map have its name; the second and later ones have a number appended.
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
