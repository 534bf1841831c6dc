//! Reader of the section `class-of-service`: forwarding classes, classifiers, drop profiles, schedulers, scheduler
//! maps, traffic control profiles.

use super::defaults;
use super::tree::{Id, OPAQUE, ROOT, Tree};
use super::values::{Aliases, Field, percent, rate};
use crate::{Place, Report, Scope};
use std::collections::BTreeMap;

/// Names of loss priorities; the index of a name is the number used here.
pub(super) const LOSS: [&str; 4] = ["low", "medium-low", "medium-high", "high"];

/// A forwarding class.
#[derive(Clone, Debug)]
pub(super) struct ForwardingClass {
    pub name: String,
    /// Number of its queue, 0 to 15; several classes may share one.
    pub queue: u8,
}

/// A classifier: forwarding class and loss priority by code point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Index of the class, and loss priority, by value of the field.
    pub of: Vec<(usize, u8)>,
    pub at: Place,
}

/// Transmit rate of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Transmit {
    /// No transmit rate.
    #[default]
    Unset,
    /// Rate in bit/s.
    Rate(u64),
    /// Percentage of the port's rate.
    Percent(u32),
    /// Equal part of the rate that the other queues leave.
    Remainder,
}

/// Buffer size of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Buffer {
    /// The same fraction of the buffer as of the link's rate.
    #[default]
    SameAsRate,
    /// Percentage of the port's buffer.
    Percent(u32),
    /// Equal part of the buffer that the other queues leave.
    Remainder,
    /// Time at the queue's transmit rate (`temporal`).
    Microseconds(u64),
}

/// A scheduler.
#[derive(Clone, Debug, Default)]
pub(super) struct Scheduler {
    pub transmit: Transmit,
    /// `true` if packets above the transmit rate wait (`exact`).
    pub exact: bool,
    /// `true` if packets above the transmit rate are dropped (`rate-limit`).
    pub limited: bool,
    /// Maximum rate; `None`: unlimited.
    pub shaping: Option<Transmit>,
    pub buffer: Buffer,
    /// Priority; 0 is served first. See [`PRIORITIES`].
    pub priority: usize,
    /// Drop profiles: loss priority, `true` for TCP or `false` for other protocols, and name of the profile.
    pub drops: Vec<(usize, bool, String)>,
    /// `true` if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    pub at: Place,
}

/// Priorities in the order of service; `strict-high` and `high` are served alternately, and a queue of `strict-high`
/// may exceed its rate ("Priority Scheduling Overview", Junos OS Class of Service User Guide).
pub(super) const PRIORITIES: [(&str, usize); 8] = [
    ("low-latency", 0),
    ("strict-high", 1),
    ("high", 1),
    ("medium-high", 2),
    ("medium-low", 3),
    ("low-high", 4),
    ("low-medium", 5),
    ("low", 6),
];

/// A drop profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DropProfile {
    /// `true` for linear interpolation between the points, `false` for steps.
    pub interpolate: bool,
    /// Fill level and drop probability, in percent.
    pub points: Vec<(u32, u32)>,
    pub at: Place,
}

/// A traffic control profile; `None`: not stated.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    /// Name of the scheduler map, and its place.
    pub map: Option<(String, Place)>,
    /// Maximum rate.
    pub shaping: Option<Transmit>,
    /// Burst of the maximum rate in bytes.
    pub burst: Option<u64>,
}

/// A scheduler map: index of the class, and name of its scheduler.
pub(super) type SchedulerMap = Vec<(usize, String, Place)>;

/// The section `class-of-service`; maps are by the name of the object.
#[derive(Debug, Default)]
pub(super) struct Cos {
    /// Forwarding classes, in the order of their queues.
    pub classes: Vec<ForwardingClass>,
    /// Classifiers by field and name.
    pub tables: BTreeMap<(Field, String), Table>,
    /// Schedulers; `true`: strict priority (`strict-high` or `low-latency`).
    pub schedulers: BTreeMap<String, (Scheduler, bool)>,
    /// Scheduler maps.
    pub maps: BTreeMap<String, (SchedulerMap, Place)>,
    /// Drop profiles.
    pub drops: BTreeMap<String, DropProfile>,
    /// Traffic control profiles.
    pub profiles: BTreeMap<String, Profile>,
}

/// Returns the scope of remarks about an object.
pub(super) fn part(kind: &str, name: &str) -> Scope {
    Scope::Part(format!("{kind} {name}"))
}

impl Cos {
    pub fn read(tree: &mut Tree, report: &mut Report) -> Cos {
        let mut cos = Cos::default();
        let section = tree.child(ROOT, "class-of-service").unwrap_or(usize::MAX);
        let aliases = tree.child(section, "code-point-aliases");
        let aliases = Aliases::read(tree, aliases, report);
        cos.forwarding_classes(tree, section, report);
        cos.classifiers(tree, section, &aliases, report);
        cos.drop_profiles(tree, section, report);
        cos.read_schedulers(tree, section, report);
        cos.scheduler_maps(tree, section, report);
        cos.control_profiles(tree, section, report);
        report.enter(Scope::Everything);
        cos
    }

    /// Returns the index of the forwarding class of that name.
    pub fn class(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class.name == name)
    }
    /// Returns the index of a default class of Junos: by its name, or else by its queue. `index` refers to
    /// [`defaults::CLASSES`].
    pub fn default_class(&self, index: usize) -> usize {
        let named = defaults::CLASSES.get(index).and_then(|name| self.class(name));
        let queued = || self.classes.iter().position(|class| usize::from(class.queue) == index);
        named.or_else(queued).unwrap_or(0)
    }

    fn forwarding_classes(&mut self, tree: &mut Tree, section: Id, report: &mut Report) {
        let usual = defaults::CLASSES.iter().zip(0u8..);
        self.classes = usual.map(|(name, queue)| ForwardingClass { name: (*name).to_owned(), queue }).collect();
        let Some(section) = tree.child(section, "forwarding-classes") else { return };
        report.enter(Scope::Everything);
        for (kind, by_queue) in [("queue", true), ("class", false)] {
            let Some(list) = tree.child(section, kind) else { continue };
            for key in tree.children(list) {
                let clauses = tree
                    .clauses(key, &[("queue-num", 1), ("priority", 1), ("policing-priority", 1), ("spu-priority", 1)]);
                let in_clauses: Vec<Id> = clauses.iter().map(|clause| clause.key).collect();
                let number = clauses.iter().find(|clause| tree.word(clause.key) == "queue-num");
                let (name, queue) = if by_queue {
                    let Some(name) = tree.children(key).into_iter().find(|id| !in_clauses.contains(id)) else {
                        continue;
                    };
                    tree.mark(name);
                    // `queue 5 ef priority high;`
                    let more = tree.clauses(name, &[("priority", 1), ("policing-priority", 1), ("spu-priority", 1)]);
                    drop(more);
                    (name, tree.word(key).parse::<u8>().ok())
                } else {
                    let last = number.and_then(|clause| clause.words.last()).map(|id| tree.word(*id));
                    (key, last.and_then(|word| word.parse::<u8>().ok()))
                };
                tree.mark(key);
                let word = tree.word(name).to_owned();
                let Some(queue) = queue.filter(|queue| *queue < 16) else {
                    let message = format!("forwarding class `{word}` has no queue number from 0 to 15");
                    report.error(tree.at(name), message, "write `class NAME queue-num NUMBER`");
                    continue;
                };
                if by_queue {
                    // A name assigned to a queue replaces the default one.
                    self.classes
                        .retain(|class| class.queue != queue || !defaults::CLASSES.contains(&class.name.as_str()));
                }
                self.classes.retain(|class| class.name != word);
                self.classes.push(ForwardingClass { name: word, queue });
            }
        }
        self.classes.sort_by_key(|class| class.queue);
    }

    /// Returns the index of the forwarding class that a node names; reports an error if it is not defined.
    fn named_class(&self, tree: &Tree, id: Id, report: &mut Report) -> Option<usize> {
        let found = self.class(tree.word(id));
        if found.is_none() {
            let names: Vec<&str> = self.classes.iter().map(|class| class.name.as_str()).collect();
            let message = format!("there is no forwarding class `{}`", tree.word(id));
            report.error(tree.at(id), message, &format!("there are: {}", names.join(", ")));
        }
        found
    }

    fn classifiers(&mut self, tree: &mut Tree, section: Id, aliases: &Aliases, report: &mut Report) {
        for (_, field) in Field::ALL {
            let of = (0..field.values()).map(|code| defaults::classified(field, code));
            let of = of.map(|(class, loss)| (self.default_class(class), loss)).collect();
            let _ = self.tables.insert((field, "default".to_owned()), Table { of, at: Place::default() });
        }
        let Some(section) = tree.child(section, "classifiers") else { return };
        let mut imports: Vec<(Field, Id, Id)> = Vec::new();
        for kind in tree.children(section) {
            let Some(field) = Field::named(tree.word(kind)) else { continue };
            for own in tree.children(kind) {
                // A classifier with `import` is read after the one that it imports.
                if let Some(import) = tree.child(own, "import") {
                    tree.mark(import);
                    if let Some(from) = tree.value(import) {
                        imports.push((field, own, from));
                        continue;
                    }
                }
                self.classifier(tree, field, own, None, aliases, report);
            }
        }
        while !imports.is_empty() {
            let known = |(field, _, from): &(Field, Id, Id)| {
                let key = (*field, tree.word(*from).to_owned());
                self.tables.contains_key(&key)
            };
            let (now, later): (Vec<_>, Vec<_>) = imports.into_iter().partition(known);
            if now.is_empty() {
                for (field, own, from) in later {
                    report.enter(part("classifier", tree.word(own)));
                    let message = format!("there is no classifier `{}` to import", tree.word(from));
                    report.error(tree.at(from), message, "define it, or import `default`");
                    self.classifier(tree, field, own, None, aliases, report);
                }
                break;
            }
            for (field, own, from) in now {
                let base = self.tables.get(&(field, tree.word(from).to_owned())).cloned();
                self.classifier(tree, field, own, base, aliases, report);
            }
            imports = later;
        }
    }

    fn classifier(
        &mut self,
        tree: &mut Tree,
        field: Field,
        own: Id,
        base: Option<Table>,
        aliases: &Aliases,
        report: &mut Report,
    ) {
        let name = tree.word(own).to_owned();
        report.enter(part("classifier", &name));
        // Code points that a classifier does not name are in the class of queue 0 ("Juniper Networks Default Forwarding
        // Classes").
        let rest = (self.default_class(0), 0);
        let mut of = base.map_or_else(|| vec![rest; usize::from(field.values())], |table| table.of);
        for class in tree.child(own, "forwarding-class").map(|id| tree.children(id)).unwrap_or_default() {
            let Some(index) = self.named_class(tree, class, report) else { continue };
            let levels = tree.child(class, "loss-priority").map(|id| tree.children(id)).unwrap_or_default();
            for level in levels {
                let Some(loss) = LOSS.iter().position(|name| *name == tree.word(level)) else { continue };
                let codes = ["code-points", "code-point"].iter().find_map(|word| tree.child(level, word));
                for code in codes.map(|id| tree.children(id)).unwrap_or_default() {
                    tree.mark(code);
                    if let Some(value) = aliases.code(field, tree.word(code)) {
                        if let Some(entry) = of.get_mut(usize::from(value)) {
                            *entry = (index, u8::try_from(loss).unwrap_or(0));
                        }
                    } else {
                        let message = format!("`{}` is not a code point of {}", tree.word(code), field.name());
                        report.error(
                            tree.at(code),
                            message,
                            "write its bits (six for a DSCP, such as 101110; else three, such as 101) or an alias",
                        );
                    }
                }
            }
        }
        let _ = self.tables.insert((field, name), Table { of, at: tree.at(own) });
    }

    fn drop_profiles(&mut self, tree: &mut Tree, section: Id, report: &mut Report) {
        let Some(section) = tree.child(section, "drop-profiles") else { return };
        for own in tree.children(section) {
            let name = tree.word(own).to_owned();
            report.enter(part("drop profile", &name));
            let mut profile = DropProfile { at: tree.at(own), ..DropProfile::default() };
            if let Some(lists) = tree.child(own, "interpolate") {
                profile.interpolate = true;
                let mut list = |word: &str| -> Vec<u32> {
                    let Some(key) = tree.child(lists, word) else { return Vec::new() };
                    let all = tree.children(key);
                    for id in &all {
                        tree.mark(*id);
                    }
                    all.into_iter().filter_map(|id| percent(tree.word(id))).collect()
                };
                let (levels, drops) = (list("fill-level"), list("drop-probability"));
                if levels.len() != drops.len() || levels.is_empty() {
                    let message = format!(
                        "drop profile `{name}` has {} fill levels and {} drop probabilities",
                        levels.len(),
                        drops.len()
                    );
                    report.error(tree.at(lists), message, "write one drop probability for each fill level, 0 to 100");
                }
                profile.points = levels.into_iter().zip(drops).collect();
            }
            for level in tree.child(own, "fill-level").map(|id| tree.children(id)).unwrap_or_default() {
                let drop = tree.child(level, "drop-probability").and_then(|id| tree.value(id));
                if let (Some(fill), Some(drop)) =
                    (percent(tree.word(level)), drop.and_then(|id| percent(tree.word(id))))
                {
                    profile.points.push((fill, drop));
                }
            }
            profile.points.sort_unstable();
            let _ = self.drops.insert(name, profile);
        }
    }

    fn read_schedulers(&mut self, tree: &mut Tree, section: Id, report: &mut Report) {
        const KNOWN: [(&str, usize); 9] = [
            ("transmit-rate", 1),
            ("shaping-rate", 1),
            ("buffer-size", 1),
            ("priority", 1),
            ("drop-profile-map", OPAQUE),
            ("excess-rate", 1),
            ("excess-priority", 1),
            ("explicit-congestion-notification", 0),
            ("overhead-accounting", 1),
        ];
        let Some(section) = tree.child(section, "schedulers") else { return };
        for own in tree.children(section) {
            let name = tree.word(own).to_owned();
            report.enter(part("scheduler", &name));
            let mut made = Scheduler { priority: 6, at: tree.at(own), ..Scheduler::default() };
            let mut strict = false;
            for clause in tree.clauses(own, &KNOWN) {
                let words: Vec<String> = clause.words.iter().map(|id| tree.word(*id).to_owned()).collect();
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let at = tree.at(clause.key);
                let mut understood = true;
                match tree.word(clause.key) {
                    "transmit-rate" => {
                        let (rate, rest) = amount(&words);
                        made.transmit = rate.unwrap_or_default();
                        understood = rate.is_some();
                        for word in rest {
                            match word {
                                "exact" => made.exact = true,
                                "rate-limit" => made.limited = true,
                                _ => understood = false,
                            }
                        }
                        if made.transmit == Transmit::Remainder && made.exact {
                            let message = format!("scheduler `{name}`: `remainder` and `exact` exclude each other");
                            report.error(at, message, "write a rate or a percentage with `exact`");
                        }
                    }
                    "shaping-rate" => {
                        let (rate, rest) = amount(&words);
                        made.shaping = rate;
                        // A burst after the rate is not simulated, which is reported.
                        understood = rate.is_some() && rest.is_empty();
                    }
                    "buffer-size" => match buffer(&words) {
                        Some(size) => made.buffer = size,
                        None => understood = false,
                    },
                    "priority" => match PRIORITIES.iter().find(|(known, _)| Some(known) == words.last()) {
                        Some((known, level)) => {
                            made.priority = *level;
                            strict = matches!(*known, "strict-high" | "low-latency");
                        }
                        None => understood = false,
                    },
                    "drop-profile-map" => drop_map(tree, clause.key, &mut made),
                    "explicit-congestion-notification" => made.ecn = true,
                    _ => understood = false,
                }
                if !understood {
                    let message =
                        format!("scheduler `{name}`: `{} {}` is not simulated", tree.word(clause.key), words.join(" "));
                    report.unsupported(at, message, None);
                }
            }
            let _ = self.schedulers.insert(name, (made, strict));
        }
    }

    fn scheduler_maps(&mut self, tree: &mut Tree, section: Id, report: &mut Report) {
        let Some(section) = tree.child(section, "scheduler-maps") else { return };
        for own in tree.children(section) {
            let name = tree.word(own).to_owned();
            report.enter(part("scheduler map", &name));
            let mut map: SchedulerMap = Vec::new();
            for class in tree.child(own, "forwarding-class").map(|id| tree.children(id)).unwrap_or_default() {
                let Some(scheduler) = tree.child(class, "scheduler").and_then(|id| tree.value(id)) else { continue };
                let Some(index) = self.named_class(tree, class, report) else { continue };
                let word = tree.word(scheduler).to_owned();
                if !self.schedulers.contains_key(&word) {
                    let message = format!("there is no scheduler `{word}`");
                    report.error(tree.at(scheduler), message, "define it under `schedulers`");
                    continue;
                }
                map.push((index, word, tree.at(class)));
            }
            let _ = self.maps.insert(name, (map, tree.at(own)));
        }
    }

    fn control_profiles(&mut self, tree: &mut Tree, section: Id, report: &mut Report) {
        const KNOWN: [(&str, usize); 5] = [
            ("scheduler-map", 1),
            ("shaping-rate", 1),
            ("guaranteed-rate", 1),
            ("delay-buffer-rate", 1),
            ("overhead-accounting", 1),
        ];
        let Some(section) = tree.child(section, "traffic-control-profiles") else { return };
        for own in tree.children(section) {
            let name = tree.word(own).to_owned();
            report.enter(part("traffic control profile", &name));
            let mut made = Profile::default();
            for clause in tree.clauses(own, &KNOWN) {
                let words: Vec<String> = clause.words.iter().map(|id| tree.word(*id).to_owned()).collect();
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let at = tree.at(clause.key);
                match tree.word(clause.key) {
                    "scheduler-map" => {
                        made.map = clause.words.last().map(|id| (tree.word(*id).to_owned(), tree.at(*id)));
                    }
                    "shaping-rate" => (made.shaping, made.burst) = shaping(&words, at, report),
                    "guaranteed-rate" => {
                        let message =
                            "a guaranteed rate has an effect only on a port with other units, which are not simulated";
                        report.warning(
                            at,
                            message,
                            "simulate the units separately: no unit can take another's guarantee",
                        );
                    }
                    other => {
                        let message = format!("`{other} {}` is not simulated", words.join(" "));
                        report.unsupported(at, message, None);
                    }
                }
            }
            let _ = self.profiles.insert(name, made);
        }
    }
}

/// Parses `RATE`, `percent N` or `remainder`; returns the words that are none of these, too.
fn amount<'a>(words: &[&'a str]) -> (Option<Transmit>, Vec<&'a str>) {
    let (mut found, mut rest) = (None, Vec::new());
    let mut in_percent = false;
    for word in words {
        match *word {
            "percent" => in_percent = true,
            "remainder" => found = Some(Transmit::Remainder),
            word if in_percent && percent(word).is_some() => found = percent(word).map(Transmit::Percent),
            word if rate(word).is_some() => found = rate(word).map(Transmit::Rate),
            other => {
                rest.push(other);
                in_percent = false;
            }
        }
    }
    (found, rest)
}

/// Parses a shaping rate, and its burst in bytes after `burst-size`.
pub(super) fn shaping(words: &[&str], at: Place, report: &mut Report) -> (Option<Transmit>, Option<u64>) {
    let (rates, bursts) = match words.iter().position(|word| *word == "burst-size") {
        Some(place) => words.split_at(place),
        None => (words, [].as_slice()),
    };
    let (found, rest) = amount(rates);
    let burst = bursts.last().and_then(|word| super::values::number(word));
    if found.is_none() || found == Some(Transmit::Remainder) || !rest.is_empty() {
        report.unsupported(at, format!("`shaping-rate {}` is not a rate or a percentage", words.join(" ")), None);
    }
    (found.filter(|found| *found != Transmit::Remainder), burst)
}

fn buffer(words: &[&str]) -> Option<Buffer> {
    let mut found = None;
    let mut unit = "";
    for word in words {
        found = match (*word, unit) {
            (word @ ("percent" | "temporal"), _) => {
                unit = word;
                continue;
            }
            ("remainder", _) => Some(Buffer::Remainder),
            (word, "percent") => Some(Buffer::Percent(percent(word)?)),
            (word, "temporal") => Some(Buffer::Microseconds(super::values::number(word)?)),
            _ => return None,
        };
    }
    found
}

/// Parses `drop-profile-map loss-priority LEVEL protocol PROTOCOL drop-profile NAME`.
fn drop_map(tree: &mut Tree, map: Id, made: &mut Scheduler) {
    for level in tree.child(map, "loss-priority").map(|id| tree.children(id)).unwrap_or_default() {
        let losses: Vec<usize> = match tree.word(level) {
            "any" => (0..4).collect(),
            word => LOSS.iter().position(|name| *name == word).into_iter().collect(),
        };
        for protocol in tree.child(level, "protocol").map(|id| tree.children(id)).unwrap_or_default() {
            let kinds: &[bool] = match tree.word(protocol) {
                "any" => &[false, true],
                "tcp" => &[true],
                "non-tcp" => &[false],
                _ => continue,
            };
            let Some(profile) = tree.child(protocol, "drop-profile").and_then(|id| tree.value(id)) else { continue };
            if losses.is_empty() {
                continue;
            }
            for loss in &losses {
                for tcp in kinds {
                    made.drops.push((*loss, *tcp, tree.word(profile).to_owned()));
                }
            }
        }
    }
}
