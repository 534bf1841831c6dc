//! Junos: class of service, firewall filters and policers, interfaces; in braces or as `set` lines, also mixed.
//!
//! The text becomes a tree of words (`read`, `tree`), in which groups are expanded (`groups`). Readers of its parts mark what they
//! understand (`cos`, `firewall`, `ports`), and what nobody has marked is reported (`rest`). What arrives gets a forwarding class
//! (`arriving`), which decides the queue that it leaves by (`queues`).

mod arriving;
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
use cos::Cos;
use firewall::Firewall;
use queues::Departure;
use std::collections::{BTreeMap, BTreeSet};

/// Reads a configuration. It never fails: what was not understood is in the report, line by line.
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

/// Makes ports and policies of what was read.
struct Maker<'a> {
    cos: &'a Cos,
    firewall: &'a Firewall,
    config: Config,
    report: Report,
    /// Where the policies of each name, and its numbered ones, are in the configuration.
    names: BTreeMap<String, Vec<usize>>,
    /// The policies of filters, by whether they are of IPv6, and name.
    filter_policies: BTreeMap<(bool, String), String>,
    /// How many more conditions output filters may come to.
    conditions: usize,
    /// Forwarding classes that packets may have.
    reached: BTreeSet<usize>,
    /// The loss priorities that classifiers give, by code point; 255 where something else decides.
    losses: BTreeSet<Vec<u8>>,
}

impl Maker<'_> {
    /// What holds where nothing is stated, and scheduler maps that no interface names.
    fn unused(&mut self) {
        let named: BTreeSet<String> = self.config.policies.iter().map(|policy| policy.name.clone()).collect();
        let line = None;
        // Their names are those of the policies, but for numbers behind them.
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
