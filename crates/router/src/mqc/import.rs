//! Import of Cisco text.

use super::reader::Reader;
use super::{check, legacy};
use crate::{Imported, Place, Scope};

/// Reads a configuration. Errors and unsupported lines are in the report.
pub fn import(text: &str) -> Imported {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        reader.line(line, number);
    }
    reader.attach_system();
    if reader.banner.is_some() {
        reader.report.enter(Scope::Everything);
        let message = "a banner has no end, so all lines after its beginning belong to it";
        reader.report.unsupported(Place::default(), message, Some("remove the banner, or end it with its delimiter"));
    }
    let Reader { mut config, mut report, lists, .. } = reader;
    report.enter(Scope::Everything);
    legacy::resolve(&lists, &mut config, &mut report);
    check::check(&config, &mut report);
    // A class map without conditions, or with only unsupported ones, matches no packet (`show class-map` of IOS:
    // "Match: none").
    config.class_maps.iter_mut().filter(|map| map.conditions.is_empty()).for_each(|map| map.all = false);
    report.quote(text);
    Imported { config, report }
}
