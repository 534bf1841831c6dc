//! Reader of `/queue type`: the disciplines of leaf queues, with their limits.
//!
//! The defaults are those that `/export verbose` prints in RouterOS 6 and 7, and those of MikroTik's page "Queues".

use super::script::Command;
use super::units;
use crate::ir::{FqCodel, Limit, Queue, Red, Sfq, Timed};
use crate::{Level, Place, Report};
use std::collections::BTreeMap;

/// A queue type.
#[derive(Clone, Debug, Default)]
pub(super) struct Kind {
    pub queue: Queue,
    pub limit: Option<Limit>,
    /// Remarks that are reported if a queue uses the type: level, place, message and advice.
    pub notes: Vec<(Level, Place, String, Option<&'static str>)>,
}

impl Kind {
    fn note(&mut self, level: Level, at: Place, message: impl Into<String>, advice: Option<&'static str>) {
        self.notes.push((level, at, message.into(), advice));
    }
    /// Adds the remarks to a report. Those on a predefined type, which has no line, get the place `named`, at which a
    /// queue names the type.
    pub fn report_to(&self, named: Place, report: &mut Report) {
        for (level, at, message, advice) in &self.notes {
            report.add(*level, if at.line == 0 { named } else { *at }, message.clone(), *advice);
        }
    }
}

/// Returns the predefined types by name.
pub(super) fn defaults() -> BTreeMap<String, Kind> {
    let lines = [
        "name=default kind=pfifo pfifo-limit=50",
        "name=ethernet-default kind=pfifo pfifo-limit=50",
        "name=wireless-default kind=sfq",
        "name=synchronous-default kind=red",
        "name=hotspot-default kind=sfq",
        "name=pcq-upload-default kind=pcq pcq-classifier=src-address",
        "name=pcq-download-default kind=pcq pcq-classifier=dst-address",
        "name=only-hardware-queue kind=none",
        "name=multi-queue-ethernet-default kind=mq-pfifo",
        "name=default-small kind=pfifo pfifo-limit=10",
    ];
    let mut quiet = Report::default();
    let mut made = BTreeMap::new();
    for line in lines {
        for command in super::script::commands(&format!("/queue type add {line}"), &mut quiet) {
            let without_place = Command {
                words: command
                    .words
                    .iter()
                    .cloned()
                    .map(|word| super::script::Word { at: Place::default(), ..word })
                    .collect(),
                at: Place::default(),
                ..command
            };
            if let Some((name, kind)) = read(&without_place, &mut quiet) {
                let _ = made.insert(name, kind);
            }
        }
    }
    made
}

/// Reads `add kind=… name=…`; returns name and type. `None`: it has no kind, which is reported.
pub(super) fn read(command: &Command, report: &mut Report) -> Option<(String, Kind)> {
    let Some((kind, at)) = command.get("kind") else {
        report.error(
            command.at,
            "a queue type without a kind",
            "write kind=pfifo, bfifo, red, sfq, pcq, fq-codel, codel or cake",
        );
        return None;
    };
    let name = command.get("name").map_or(kind, |(name, _)| name).to_owned();
    let mut made = Kind::default();
    let mut known: Vec<&str> = vec!["name", "kind", "comment"];
    let mut number = |key: &'static str, default: u64| {
        known.push(key);
        match command.get(key).map(|(text, at)| (units::size(text, 1), text, at)) {
            None => default,
            Some((Some(number), ..)) => number,
            Some((None, text, at)) => {
                report.error(at, format!("`{text}` is not a number"), "write a whole number, such as 50");
                default
            }
        }
    };
    match kind {
        "pfifo" => made.limit = Some(Limit::Packets(number("pfifo-limit", 50))),
        "mq-pfifo" => made.limit = Some(Limit::Packets(number("mq-pfifo-limit", 50))),
        "bfifo" => made.limit = Some(Limit::Bytes(number("bfifo-limit", 15_000))),
        "red" => {
            let packet = number("red-avg-packet", 1000).max(1);
            let (min, max) = (number("red-min-threshold", 10), number("red-max-threshold", 50));
            let (limit, burst) = (number("red-limit", 60), number("red-burst", 20));
            let bytes = |packets: u64| packets.saturating_mul(packet).min(u64::from(u32::MAX));
            if min > max {
                report.error(
                    at,
                    format!("red-min-threshold of `{name}` exceeds red-max-threshold"),
                    "raise red-max-threshold",
                );
            }
            made.limit = Some(Limit::Bytes(bytes(limit)));
            made.queue = Queue::Red(Red {
                min: Some(bytes(min).max(1)),
                max: Some(bytes(max).max(1)),
                avpkt: Some(packet),
                burst: Some(burst.max(1)),
                ..Red::default()
            });
            let message = format!(
                "`{name}`: the maximum drop probability of RED in RouterOS is not documented: 0.02, the default of tc, is assumed"
            );
            made.note(Level::Assumed, command.at, message, Some("use fq-codel, whose parameters are documented"));
        }
        "sfq" => {
            let (allot, perturb) =
                (number("sfq-allot", 1514), command.get("sfq-perturb").and_then(|own| units::time(own.0)));
            known.push("sfq-perturb");
            let perturb = perturb.map_or(5, |us| us / 1_000_000);
            // MikroTik, "Queues": 128 packets and 1024 sub-streams.
            made.limit = Some(Limit::Packets(128));
            made.queue = Queue::Sfq(Sfq {
                quantum: Some(allot.max(1)),
                perturb: Some(perturb),
                divisor: Some(1024),
                flows: Some(1024),
                ..Sfq::default()
            });
        }
        "fq-codel" | "codel" => fq_codel(kind, command, &mut made, &mut known, report),
        "pcq" => pcq(&name, command, &mut made, &mut known, report),
        "cake" => {
            let message = format!("`{name}`: cake is simulated as FQ-CoDel, without its tins, overheads and rate");
            made.note(
                Level::Unsupported,
                at,
                message,
                Some("write the cake as a line of tc and import it with `tailback import tc`"),
            );
            made.queue = Queue::FqCodel(FqCodel::default());
            known.extend(command.words.iter().map(|word| word.key.as_str()).filter(|key| key.starts_with("cake-")));
        }
        "none" => {
            made.limit = Some(Limit::Packets(50));
            made.note(
                Level::Unsupported,
                at,
                format!(
                    "`{name}`: packets wait only in the transmit ring of the adapter, which is taken as 50 packets"
                ),
                None,
            );
        }
        other => {
            let message = format!("the queue type `{other}` is not simulated: a FIFO of 50 packets is used");
            made.note(
                Level::Unsupported,
                at,
                message,
                Some("write pfifo, bfifo, mq-pfifo, red, sfq, pcq, codel or fq-codel"),
            );
            made.limit = Some(Limit::Packets(50));
            known.extend(command.words.iter().map(|word| word.key.as_str()));
        }
    }
    for word in command.words.iter().filter(|word| !known.contains(&word.key.as_str())) {
        // `/export verbose` prints the parameters of all kinds; only those of this one count.
        let of_kind = word.key.starts_with(&format!("{kind}-"));
        if of_kind {
            made.note(Level::Unsupported, word.at, format!("`{}` of `{name}` is not simulated", word.key), None);
        }
    }
    Some((name, made))
}

/// Reads FQ-CoDel or CoDel; `known` gets the keys that are read.
fn fq_codel(kind: &str, command: &Command, made: &mut Kind, known: &mut Vec<&str>, report: &mut Report) {
    let keys: [&'static str; 7] = if kind == "codel" {
        ["codel-limit", "codel-target", "codel-interval", "codel-ecn", "codel-ce-threshold", "", ""]
    } else {
        [
            "fq-codel-limit",
            "fq-codel-target",
            "fq-codel-interval",
            "fq-codel-ecn",
            "fq-codel-ce-threshold",
            "fq-codel-flows",
            "fq-codel-quantum",
        ]
    };
    let [limit, target, interval, ecn, threshold, flows, quantum] = keys;
    let mut value = |key: &'static str, read: fn(&str) -> Option<u64>| {
        known.push(key);
        let (text, at) = command.get(key)?;
        let found = read(text);
        if found.is_none() && text != "none" {
            report.error(
                at,
                format!("`{text}` is not a value of {key}"),
                "write a whole number, a time such as 5ms, or yes or no",
            );
        }
        found
    };
    let size = |text: &str| units::size(text, 1);
    let law = Timed {
        target: value(target, units::time),
        interval: value(interval, units::time),
        ce_threshold: value(threshold, units::time),
        ecn: value(ecn, |text| match text {
            "yes" => Some(1),
            "no" => Some(0),
            _ => None,
        })
        .map(|ecn| ecn == 1),
        ..Timed::default()
    };
    // MikroTik, "Queues": the limit is 10240 packets for fq-codel, 1000 for codel.
    let default = if kind == "codel" { 1000 } else { 10_240 };
    made.limit = Some(Limit::Packets(value(limit, size).unwrap_or(default)));
    made.queue = if kind == "codel" {
        Queue::Codel(law)
    } else {
        Queue::FqCodel(FqCodel { flows: value(flows, size), quantum: value(quantum, size), batch: None, law })
    };
}

/// Reads per-connection queueing (PCQ): one sub-queue for each value of the classifier's fields, served in round robin;
/// `pcq-limit` limits each sub-queue, `pcq-total-limit` their sum.
fn pcq(name: &str, command: &Command, made: &mut Kind, known: &mut Vec<&str>, report: &mut Report) {
    let mut kib = |key: &'static str, default: u64| {
        known.push(key);
        let Some((text, at)) = command.get(key) else { return default << 10 };
        units::size(text, 1 << 10).unwrap_or_else(|| {
            report.error(
                at,
                format!("`{text}` is not a size"),
                "write a number of KiB, or a size with its unit such as 50KiB or 1MiB",
            );
            default << 10
        })
    };
    let (each, total) = (kib("pcq-limit", 50), kib("pcq-total-limit", 2000));
    for key in ["pcq-burst-rate", "pcq-burst-threshold", "pcq-burst-time", "pcq-rate", "pcq-classifier"] {
        known.push(key);
    }
    let rate = command.get("pcq-rate").map(|(text, at)| (units::rate(text), text, at));
    match rate {
        Some((None, text, at)) => {
            report.error(at, format!("`{text}` is not a rate"), "write a rate in bit/s such as 512k, 10M or 1G");
        }
        Some((Some(rate), _, at)) if rate > 0 => {
            let message = format!(
                "`{name}`: the limit on the rate of each sub-queue (pcq-rate) is not simulated: they share the whole rate"
            );
            made.note(Level::Unsupported, at, message, Some("write pcq-rate=0 for equal shares without a limit"));
        }
        _ => {}
    }
    let (classifier, at) = command.get("pcq-classifier").unwrap_or(("src-address", command.at));
    let fields: Vec<&str> = classifier.split(',').map(str::trim).collect();
    let by_flow = ["src-address", "dst-address", "src-port", "dst-port"].iter().all(|field| fields.contains(field));
    if !by_flow {
        let message = format!(
            "`{name}`: each flow of the traffic table is assumed to have a {classifier}, and so a sub-queue, of its own"
        );
        made.note(Level::Assumed, at, message, Some("write one row with one flow for each host"));
    }
    for word in command.words.iter().filter(|word| word.key.ends_with("-mask")) {
        let whole = matches!(word.value.as_deref(), Some("32" | "128" | "64"));
        if word.key.starts_with("pcq-") && !whole {
            made.note(
                Level::Unsupported,
                word.at,
                format!("`{name}`: sub-queues by network instead of by address ({}) are not simulated", word.key),
                None,
            );
        }
    }
    known.extend(["pcq-src-address-mask", "pcq-dst-address-mask", "pcq-src-address6-mask", "pcq-dst-address6-mask"]);
    let message = format!(
        "`{name}`: instead of {each} B per sub-queue, the sum of all is limited to {each} B times the number of flows; the longest \
         sub-queue then loses a packet"
    );
    made.note(
        Level::Assumed,
        at,
        message,
        Some("the two limits are equivalent if all flows always have packets waiting"),
    );
    made.limit = Some(Limit::Bytes(total));
    made.queue = Queue::Sfq(Sfq {
        quantum: Some(1514),
        divisor: Some(1 << 20),
        flows: Some(u64::MAX),
        each: Some(each),
        ..Sfq::default()
    });
}
