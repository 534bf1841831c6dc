//! Reader of the tables of CONFIG_DB about queues.
//!
//! Sources: the YANG models of SONiC (`src/sonic-yang-models/yang-models` of sonic-buildimage) for names, units, ranges
//! and defaults; `orchagent/qosorch.cpp` of sonic-swss for their processing; the headers of SAI (`inc/saischeduler.h`,
//! `saiwred.h`, `saibuffer.h`, `saiport.h`) for the behaviour of the switch.

use super::json::Entry;
use crate::ir::Red;
use crate::{Level, Place, Report};
use std::collections::BTreeMap;

/// A remark on a row, which is reported if a port uses the row.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub level: Level,
    pub at: Place,
    pub message: String,
    pub advice: Option<&'static str>,
}

/// Remarks on a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(pub Vec<Note>);

impl Notes {
    pub fn add(&mut self, level: Level, at: Place, message: impl Into<String>, advice: Option<&'static str>) {
        self.0.push(Note { level, at, message: message.into(), advice });
    }
    pub fn report_to(&self, report: &mut Report) {
        for note in &self.0 {
            report.add(note.level, note.at, note.message.clone(), note.advice);
        }
    }
}

/// Service discipline of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Strict priority.
    Strict,
    /// Deficit weighted round robin, by bytes (DWRR).
    Bytes,
    /// Weighted round robin, by packets (WRR).
    Packets,
}

/// A row of SCHEDULER.
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    pub order: Order,
    /// Weight, 1 to 100.
    pub weight: u64,
    /// Peak rate in B/s; `None`: unlimited.
    pub peak: Option<u64>,
    /// Burst of the peak rate in bytes; `None`: there is no peak rate.
    pub burst: Option<u64>,
    pub at: Place,
    pub notes: Notes,
}

/// A row of WRED_PROFILE.
#[derive(Clone, Debug, Default)]
pub(super) struct Wred {
    /// Parameters for green packets; `None`: no early drops.
    pub green: Option<Red>,
    pub at: Place,
    pub notes: Notes,
}

/// A row of BUFFER_PROFILE, as the limit of a queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    /// Limit in bytes; `None`: unknown.
    pub limit: Option<u64>,
    pub notes: Notes,
}

/// A map from code points or traffic classes to traffic classes or queues, with the place of each entry.
pub(super) type Map = BTreeMap<u8, (u8, Place)>;

/// Fields of a row. Those that no reader has taken can be reported as unknown.
pub(super) struct Fields<'a> {
    name: &'a str,
    entries: &'a [Entry],
    taken: Vec<&'a str>,
}

impl<'a> Fields<'a> {
    pub fn new(row: &'a Entry) -> Fields<'a> {
        Fields { name: &row.key, entries: row.node.entries(), taken: Vec::new() }
    }
    /// Takes a field; `None`: missing.
    pub fn take(&mut self, key: &'a str) -> Option<&'a Entry> {
        self.taken.push(key);
        self.entries.iter().find(|entry| entry.key == key)
    }
    /// Takes a field that is a string, number or boolean; `None`: missing, or another value.
    pub fn text(&mut self, key: &'a str) -> Option<(String, Place)> {
        let entry = self.take(key)?;
        Some((entry.node.scalar()?, entry.at))
    }
    /// Takes an unsigned integer; `None`: missing, or another value, which is reported.
    pub fn number(&mut self, key: &'a str, report: &mut Report) -> Option<(u64, Place)> {
        let (text, at) = self.text(key)?;
        if let Ok(number) = text.parse() {
            Some((number, at))
        } else {
            let message = format!("`{key}` of `{}` is `{text}`, which is not a whole number", self.name);
            report.error(at, message, "write a whole number, such as 100");
            None
        }
    }
    /// Returns the fields that have not been taken.
    pub fn left(&self) -> impl Iterator<Item = &'a Entry> + '_ {
        self.entries.iter().filter(|entry| !self.taken.contains(&entry.key.as_str()))
    }
    /// Reports the fields that have not been taken as unknown.
    pub fn unknown(&self, notes: &mut Notes) {
        for entry in self.left() {
            notes.add(Level::Unsupported, entry.at, format!("unknown field `{}` of `{}`", entry.key, self.name), None);
        }
    }
}

/// Reads a row of SCHEDULER (sonic-scheduler.yang): `pir` and `cir` are in bytes per second, or, with `meter_type`
/// packets, in packets per second.
pub(super) fn scheduler(row: &Entry, report: &mut Report) -> Scheduler {
    let mut fields = Fields::new(row);
    let mut notes = Notes::default();
    let name = &row.key;
    let order = match fields.text("type").as_ref().map(|(text, at)| (text.to_ascii_uppercase(), *at)) {
        None => Order::Packets,
        Some((kind, at)) => match kind.as_str() {
            "STRICT" => Order::Strict,
            "DWRR" => Order::Bytes,
            "WRR" => Order::Packets,
            _ => {
                report.error(at, format!("`{name}` has the unknown type `{kind}`"), "write STRICT, DWRR or WRR");
                Order::Bytes
            }
        },
    };
    let weight = fields.number("weight", report);
    if let Some((_, at)) = weight.filter(|(weight, _)| !(1..=100).contains(weight)) {
        report.error(at, format!("the weight of `{name}` is not from 1 to 100"), "write a whole number from 1 to 100");
    } else if let Some((_, at)) = weight.filter(|_| order == Order::Strict) {
        notes.add(Level::Ignored, at, "a weight of a strict queue has no effect", None);
    }
    let packets = fields.text("meter_type").filter(|(kind, _)| kind == "packets");
    let mut rate = |key| fields.number(key, report).filter(|(rate, _)| *rate > 0);
    let (peak, least) = (rate("pir"), rate("cir"));
    let (burst, least_burst) = (rate("pbs"), rate("cbs"));
    if let Some((_, at)) = fields.text("priority") {
        notes.add(Level::Ignored, at, "`priority` of a scheduler has no effect (orchagent/qosorch.cpp)", None);
    }
    if let (Some((peak, at)), Some((least, _))) = (peak, least)
        && peak < least
    {
        report.error(at, format!("`pir` of `{name}` is less than its `cir`"), "raise pir, or lower cir");
    }
    if let Some((_, at)) = least {
        let message =
            format!("`{name}`: a guaranteed rate (cir) is not simulated; only the scheduling type and the weight are");
        notes.add(Level::Unsupported, at, message, Some("leave it out to simulate the queues without it"));
    }
    if let Some((_, at)) = least_burst.filter(|_| least.is_none()) {
        notes.add(Level::Warning, at, format!("`cbs` of `{name}` has no effect without cir"), Some("write cir"));
    }
    if let Some((_, at)) = burst.filter(|_| peak.is_none()) {
        notes.add(Level::Warning, at, format!("`pbs` of `{name}` has no effect without pir"), Some("write pir"));
    }
    let peak = match (peak, packets) {
        (Some((_, at)), Some(_)) => {
            let message = format!("`{name}`: a peak rate in packets per second is not simulated");
            notes.add(Level::Unsupported, at, message, Some("write meter_type bytes and pir in bytes per second"));
            None
        }
        (peak, _) => peak,
    };
    if let (Some((_, at)), None) = (peak, burst) {
        let message = format!("`{name}`: the burst of its peak rate (pbs) is not stated: {BURST} B are assumed");
        notes.add(Level::Assumed, at, message, Some("write pbs"));
    }
    fields.unknown(&mut notes);
    let peak = peak.map(|(rate, _)| rate);
    let burst = peak.map(|_| burst.map_or(BURST, |(bytes, _)| bytes));
    Scheduler { order, weight: weight.map_or(1, |(weight, _)| weight.clamp(1, 100)), peak, burst, at: row.at, notes }
}

/// Burst in bytes that is assumed if `pbs` is missing: that of the examples in SONiC's Configuration Database Manual.
/// Switches do not document theirs.
const BURST: u64 = 8192;

/// Reads a row of WRED_PROFILE (sonic-wred-profile.yang). All packets are green, since no supported table colours them.
/// The instantaneous queue length is used, since orchagent sets the weight of the average to 0
/// (`WredMapHandler::addQosItem`).
pub(super) fn wred(row: &Entry, report: &mut Report) -> Wred {
    let mut fields = Fields::new(row);
    let mut notes = Notes::default();
    let name = &row.key;
    let is_true = |own: Option<(String, Place)>| own.is_some_and(|(text, _)| text.eq_ignore_ascii_case("true"));
    let drops = is_true(fields.text("wred_green_enable"));
    let mode = fields.text("ecn");
    let marks = match mode.as_ref().map(|(mode, at)| (mode.as_str(), *at)) {
        None | Some(("ecn_none" | "ecn_yellow" | "ecn_red" | "ecn_yellow_red", _)) => false,
        Some(("ecn_green" | "ecn_green_yellow" | "ecn_green_red" | "ecn_all", _)) => true,
        Some((other, at)) => {
            report.error(
                at,
                format!("`{name}` has the unknown ECN mode `{other}`"),
                "write ecn_none, ecn_all, ecn_green, ecn_yellow, ecn_red, or two colours such as ecn_green_yellow",
            );
            false
        }
    };
    let min = fields.number("green_min_threshold", report);
    let max = fields.number("green_max_threshold", report);
    let probability = fields.number("green_drop_probability", report);
    if let Some((_, at)) = probability.filter(|(percent, _)| *percent > 100) {
        report.error(
            at,
            format!("green_drop_probability of `{name}` is above 100 %"),
            "write a whole percentage from 0 to 100",
        );
    }
    if let (Some((min, _)), Some((max, at))) = (min, max)
        && min > max
    {
        report.error(
            at,
            format!("green_max_threshold of `{name}` is below green_min_threshold"),
            "raise green_max_threshold",
        );
    }
    let mut other: Option<Place> = None;
    for colour in ["yellow", "red"] {
        for entry in fields.entries.iter().filter(|entry| is_of(&entry.key, colour)) {
            fields.taken.push(&entry.key);
            let _ = other.get_or_insert(entry.at);
        }
    }
    if let Some(at) = other {
        let message =
            format!("`{name}`: settings for yellow and red packets have no effect, since all packets are green here");
        notes.add(Level::Ignored, at, message, None);
    }
    let own = fields.left().find(|entry| entry.key.starts_with("ecn_green_")).map(|entry| entry.at);
    if let Some(at) = own.filter(|_| marks) {
        let message = format!("`{name}`: thresholds for marking that differ from those for dropping are not simulated");
        notes.add(Level::Unsupported, at, message, None);
    }
    for entry in fields.entries.iter().filter(|entry| entry.key.starts_with("ecn_green_")) {
        fields.taken.push(&entry.key);
    }
    fields.unknown(&mut notes);
    let Some((max, _)) = max.filter(|(max, _)| *max > 0) else {
        if drops || marks {
            // `saiwred.h`: thresholds default to the size of the buffer.
            notes.add(
                Level::Warning,
                row.at,
                format!("`{name}` has no green_max_threshold: it neither drops nor marks below the queue limit"),
                None,
            );
        }
        return Wred { green: None, at: row.at, notes };
    };
    if marks && !drops {
        let message = format!(
            "`{name}` marks ECN-capable packets but drops none early, which is not simulated: below the queue limit, packets are \
             neither marked nor dropped"
        );
        let at = mode.map_or(row.at, |(_, at)| at);
        notes.add(
            Level::Unsupported,
            at,
            message,
            Some("set wred_green_enable to mark ECN-capable packets and drop the others"),
        );
        return Wred { green: None, at: row.at, notes };
    }
    if !drops {
        return Wred { green: None, at: row.at, notes };
    }
    if let Some((_, at)) = mode.filter(|_| marks) {
        let message = format!(
            "`{name}` marks ECN-capable packets; those of the traffic table are not ECN-capable, so they are dropped"
        );
        notes.add(Level::Assumed, at, message, Some("enable ECN for the flows in the scenario that `import` writes"));
    }
    // sonic-wred-profile.yang: the default is 100 %.
    let percent = probability.map_or(100, |(percent, _)| percent.min(100));
    let min = if percent == 0 { max } else { min.map_or(max, |(min, _)| min.clamp(1, max)) };
    let green = Red {
        min: Some(min),
        max: Some(max),
        probability: u32::try_from(percent.max(1) * 10_000).ok(),
        ecn: marks,
        instant: true,
        ..Red::default()
    };
    Wred { green: Some(green), at: row.at, notes }
}

/// `true` if the name of a field of WRED_PROFILE contains the colour.
fn is_of(key: &str, colour: &str) -> bool {
    key.split('_').any(|word| word == colour)
}

/// Returns the size in bytes of a row of BUFFER_POOL; `None`: not stated, since with the dynamic buffer model the
/// switch computes it.
pub(super) fn pool(row: &Entry, report: &mut Report) -> Option<u64> {
    Fields::new(row).number("size", report).map(|(size, _)| size)
}

/// Reads a row of BUFFER_PROFILE as the limit of a queue (`saibuffer.h`): `size` bytes are reserved for it; in addition
/// a queue may use `static_th` bytes of the pool, or 2^`dynamic_th` times the free bytes of the pool.
pub(super) fn buffer(row: &Entry, pools: &BTreeMap<String, Option<u64>>, report: &mut Report) -> Buffer {
    let mut fields = Fields::new(row);
    let mut notes = Notes::default();
    let name = &row.key;
    let own = fields.number("size", report).map_or(0, |(size, _)| size);
    let pool = match fields.text("pool").map(|(text, at)| (reference(&text), at)) {
        Some((pool, at)) if !pools.contains_key(&pool) => {
            report.error(at, format!("there is no buffer pool `{pool}`"), "paste the table BUFFER_POOL as well");
            None
        }
        Some((pool, _)) => pools.get(&pool).copied().flatten(),
        None => None,
    };
    let fixed = fields.number("static_th", report).map(|(bytes, _)| bytes);
    let dynamic = fields.text("dynamic_th");
    if let Some((action, at)) = fields.text("packet_discard_action").filter(|(action, _)| action != "drop") {
        notes.add(
            Level::Unsupported,
            at,
            format!(
                "`{name}`: the discard action {action}, which truncates packets, is not simulated: they are dropped"
            ),
            None,
        );
    }
    for key in ["xon", "xoff", "xon_offset", "headroom_type"] {
        let _ = fields.take(key);
    }
    fields.unknown(&mut notes);
    if let Some((text, at)) = dynamic {
        let exponent = text.parse::<i32>().ok().filter(|n| (-16..=16).contains(n));
        let Some(exponent) = exponent else {
            report.error(
                at,
                format!("`dynamic_th` of `{name}` is `{text}`, which is not a whole number from -16 to 16"),
                "write the exponent n of the factor 2^n, such as -3 or 3",
            );
            return Buffer { limit: None, notes };
        };
        // Dynamic threshold with a = 2^n: if only one queue fills a pool of B bytes, its length q ends at a·(B - q) =
        // q, that is, q = B·a/(1 + a).
        let part = 1u128 << exponent.unsigned_abs();
        let times = if exponent < 0 { 1 } else { part };
        let limit = pool.map(|pool| {
            let shared = u128::from(pool) * times / (1 + part);
            own.saturating_add(u64::try_from(shared).unwrap_or(u64::MAX))
        });
        let taken = limit.map_or_else(String::new, |limit| {
            format!(": the fixed limit {limit} B is used, which is reached if only this queue fills")
        });
        let message = format!("`{name}`: a dynamic threshold (dynamic_th) is not simulated{taken}");
        notes.add(Level::Unsupported, at, message, Some("write static_th for a fixed limit"));
        return Buffer { limit, notes };
    }
    let limit = match (fixed, pool) {
        // `saibuffer.h`: 0 means no limit on the use of the pool.
        (Some(0) | None, pool) => pool,
        (Some(bytes), pool) => Some(own.saturating_add(bytes).min(pool.unwrap_or(u64::MAX))),
    };
    if fixed.is_none() {
        notes.add(
            Level::Assumed,
            row.at,
            format!("`{name}` has neither static_th nor dynamic_th: a queue may use the whole pool"),
            None,
        );
    }
    Buffer { limit, notes }
}

/// Reads a row of a map such as DSCP_TO_TC_MAP, with keys from 0 to `max_key` and values from 0 to `max_value`.
pub(super) fn map(row: &Entry, max_key: u8, max_value: u8, report: &mut Report) -> Map {
    let mut made = Map::new();
    for entry in row.node.entries() {
        let key = entry.key.trim().parse::<u8>().ok().filter(|key| *key <= max_key);
        let value = entry.node.scalar().and_then(|text| text.parse::<u8>().ok()).filter(|value| *value <= max_value);
        if let (Some(key), Some(value)) = (key, value) {
            let _ = made.insert(key, (value, entry.at));
        } else {
            let message = format!("an entry of the map `{}` is out of range", row.key);
            let advice = format!("write a key from 0 to {max_key} and a value from 0 to {max_value}");
            report.error(entry.at, message, &advice);
        }
    }
    made
}

/// Returns the name in a reference: `scheduler.0`, or `[SCHEDULER|scheduler.0]` in older versions.
pub(super) fn reference(text: &str) -> String {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inner.map_or(text, |inner| inner.split_once('|').map_or(inner, |(_, name)| name)).trim().to_owned()
}

/// Parses a range `3-4`, or a number `3`, of at most `most`; returns both ends.
pub(super) fn range(text: &str, most: u8) -> Option<(u8, u8)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low <= high && high <= most).then_some((low, high))
}
