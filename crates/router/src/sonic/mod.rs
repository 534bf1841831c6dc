//! Reader of SONiC's CONFIG_DB in JSON.
//!
//! `json` parses the text with the place of each key, `tables` reads the tables about queues, `build` compiles them
//! into ports and policies, `other` reports all other tables.

mod build;
mod json;
mod other;
mod tables;

use crate::{Imported, Level, Place, Report};
use build::{MAX_CLASS, MAX_QUEUE, Maps, Row, Tables};
use json::{Entry, Value};
use std::collections::BTreeMap;
use tables::{Fields, Notes, reference};

/// Reads a configuration. Errors and unsupported entries are in the report, with line and column.
pub fn import(text: &str) -> Imported {
    let mut report = Report::default();
    let config = match json::read(text) {
        Ok(node) if matches!(node.value, Value::Table(_)) => read(node.entries(), &mut report),
        Ok(node) => {
            report.error(
                node.at,
                "the text is not a JSON object of tables",
                "paste config_db.json, or some of its tables within braces",
            );
            crate::ir::Config::default()
        }
        Err(error) => {
            report.error(error.at, format!("the text is not JSON: {}", error.message), error.advice);
            crate::ir::Config::default()
        }
    };
    report.quote(text);
    Imported { config, report }
}

/// Returns the rows of a table; empty if there is no such table.
fn rows<'a>(root: &'a [Entry], name: &str) -> &'a [Entry] {
    root.iter().find(|table| table.key == name).map_or(&[], |table| table.node.entries())
}

/// Reads the tables into a configuration.
fn read(root: &[Entry], report: &mut Report) -> crate::ir::Config {
    for table in root.iter().filter(|table| other::READ.contains(&table.key.as_str())) {
        for row in table.node.entries().iter().filter(|row| !matches!(row.node.value, Value::Table(_))) {
            report.error(
                row.at,
                format!("row `{}` of {} is not a JSON object", row.key, table.key),
                "write its fields within braces",
            );
        }
        if !matches!(table.node.value, Value::Table(_)) {
            report.error(table.at, format!("{} is not a JSON object", table.key), "write its rows within braces");
        }
    }
    let mut db = Tables::default();
    ports(root, &mut db, report);
    for row in rows(root, "SCHEDULER") {
        let own = tables::scheduler(row, report);
        let _ = db.schedulers.insert(row.key.clone(), own);
    }
    for row in rows(root, "WRED_PROFILE") {
        let own = tables::wred(row, report);
        let _ = db.wreds.insert(row.key.clone(), own);
    }
    let pools: BTreeMap<String, Option<u64>> =
        rows(root, "BUFFER_POOL").iter().map(|row| (row.key.clone(), tables::pool(row, report))).collect();
    for row in rows(root, "BUFFER_PROFILE") {
        let own = tables::buffer(row, &pools, report);
        let _ = db.buffers.insert(row.key.clone(), own);
    }
    for (table, most, values) in [
        ("DSCP_TO_TC_MAP", 63, MAX_CLASS),
        ("DOT1P_TO_TC_MAP", 7, MAX_CLASS),
        ("TC_TO_QUEUE_MAP", MAX_CLASS, MAX_QUEUE),
    ] {
        for row in rows(root, table) {
            let own = tables::map(row, most, values, report);
            let maps = match table {
                "DSCP_TO_TC_MAP" => &mut db.codes,
                "DOT1P_TO_TC_MAP" => &mut db.priorities,
                _ => &mut db.queues,
            };
            let _ = maps.insert(row.key.clone(), own);
        }
    }
    for row in rows(root, "PORT_QOS_MAP") {
        let maps = maps(row, &db, report);
        if row.key == "global" {
            db.global = maps;
            continue;
        }
        for name in row.key.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            db.port(name, row.at).maps = maps.clone();
        }
    }
    let is_cpu = |row: &&Entry| row.key.starts_with("CPU|");
    for row in rows(root, "QUEUE").iter().chain(rows(root, "BUFFER_QUEUE")).filter(is_cpu) {
        report.ignored(row.at, "queues to the switch's own processor are not simulated");
    }
    for row in rows(root, "QUEUE").iter().filter(|row| !is_cpu(row)) {
        db.bind(row, report, queue);
    }
    for row in rows(root, "BUFFER_QUEUE").iter().filter(|row| !is_cpu(row)) {
        db.bind(row, report, |own, row, report| {
            let named = Fields::new(row).text("profile").map(|(text, at)| (reference(&text), at));
            set(&mut own.buffer, named, "profile", row, report);
        });
    }
    for row in rows(root, "BUFFER_PORT_EGRESS_PROFILE_LIST") {
        for name in row.key.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            db.port(name, row.at).whole = Some(row.at);
        }
    }
    let config = db.build(report);
    report.enter(crate::Scope::Everything);
    for table in root {
        other::report_table(table, &config, report);
    }
    config
}

/// Reads the table PORT (sonic-port.yang); `speed` is in Mbit/s.
fn ports(root: &[Entry], db: &mut Tables, report: &mut Report) {
    for row in rows(root, "PORT") {
        let mut fields = Fields::new(row);
        let speed = fields.number("speed", report);
        if let Some((_, at)) = speed.filter(|(speed, _)| *speed == 0) {
            report.error(at, format!("the speed of {} is 0", row.key), "write it in Mbit/s, such as 100000");
        }
        let down = fields.text("admin_status").filter(|(status, _)| status == "down").map(|(_, at)| at);
        let port = db.port(&row.key, row.at);
        (port.speed, port.down) = (speed.map(|(speed, _)| speed).filter(|speed| *speed > 0), down);
    }
}

/// Reads a row of QUEUE.
fn queue(own: &mut Row, row: &Entry, report: &mut Report) {
    let mut fields = Fields::new(row);
    for (key, slot) in [("scheduler", &mut own.scheduler), ("wred_profile", &mut own.wred)] {
        let named = fields.text(key).map(|(text, at)| (reference(&text), at));
        set(slot, named, key, row, report);
    }
    for entry in fields.left() {
        let message = format!("unknown field `{}` of a queue", entry.key);
        // The closure runs for each queue of the row; the remark is made once per row.
        if report
            .notices()
            .iter()
            .rev()
            .take(16)
            .all(|notice| (notice.line, notice.column) != (entry.at.line, entry.at.column))
        {
            report.unsupported(entry.at, message, None);
        }
    }
}

/// Binds a profile to a queue. Two different profiles are an error, since rows have no order.
fn set(
    slot: &mut Option<(String, Place)>,
    named: Option<(String, Place)>,
    what: &str,
    row: &Entry,
    report: &mut Report,
) {
    let Some((name, at)) = named else { return };
    match slot {
        Some((other, _)) if *other != name => {
            let message =
                format!("row `{}` binds {what} `{name}` to a queue to which another row binds `{other}`", row.key);
            report.error(at, message, "bind it in one row alone");
        }
        _ => *slot = Some((name, at)),
    }
}

/// Reads a row of PORT_QOS_MAP.
fn maps(row: &Entry, db: &Tables, report: &mut Report) -> Maps {
    let mut fields = Fields::new(row);
    let mut made = Maps::default();
    let mut named = |key| fields.text(key).map(|(text, at)| (reference(&text), at));
    (made.codes, made.priorities) = (named("dscp_to_tc_map"), named("dot1p_to_tc_map"));
    (made.queues, made.scheduler) = (named("tc_to_queue_map"), named("scheduler"));
    for (own, maps, table) in
        [(&made.codes, &db.codes, "DSCP_TO_TC_MAP"), (&made.priorities, &db.priorities, "DOT1P_TO_TC_MAP")]
    {
        if let Some((name, at)) = own
            && !maps.contains_key(name)
        {
            let advice = format!("paste the table {table} as well");
            report.error(*at, format!("there is no map `{name}` in {table}"), &advice);
        }
    }
    if let Some(entry) = fields.take("pfc_enable") {
        let numbers: Option<Vec<u8>> =
            entry.node.list().iter().map(|text| text.parse().ok().filter(|number| *number < 8)).collect();
        match numbers {
            Some(numbers) => made.pauses = Some((numbers, entry.at)),
            None => {
                report.error(
                    entry.at,
                    "`pfc_enable` is not a list of priorities",
                    "write numbers from 0 to 7, separated by commas, such as 3,4",
                );
            }
        }
    }
    // Fields about ingress buffers, pauses and forwarding classes, which have no effect on output queues.
    for key in
        ["tc_to_pg_map", "pfc_to_pg_map", "pfc_to_queue_map", "pfcwd_sw_enable", "dscp_to_fc_map", "exp_to_fc_map"]
    {
        let _ = fields.take(key);
    }
    for key in ["tc_to_dscp_map", "tc_to_dot1p_map"] {
        if let Some((_, at)) = fields.text(key) {
            let message =
                format!("{key} remarks packets after the queues, which is not simulated: packets keep their marks");
            made.notes.add(Level::Warning, at, message, None);
        }
    }
    let mut unknown = Notes::default();
    fields.unknown(&mut unknown);
    made.notes.0.extend(unknown.0);
    made
}
