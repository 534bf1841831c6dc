//! Cisco's modular QoS command line: class maps, policy maps, access lists, interfaces.
//!
//! A configuration is read line by line. Each command belongs to a mode, which the commands before it have opened; as on a
//! router, a command that a mode does not know is tried in the mode outside it, so indentation does not matter. Keywords may
//! be abbreviated to prefixes that are unique among those of the mode.

mod access_list;
mod adapt;
mod check;
mod class_map;
mod export;
mod interface;
mod legacy;
mod names;
mod paste;
mod police;
mod policy_map;
mod words;

pub(crate) use words::HIGHEST_RATE;

use crate::ir::Config;
use crate::{Imported, Report, Scope};
use words::{Cursor, Pick, Trouble, pick, split};

pub use export::export;
pub use names::name_interface;
pub use paste::paste;

/// Reads a configuration. It never fails: what was not understood is in the report, line by line.
pub fn import(text: &str) -> Imported {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        reader.line(line, number);
    }
    let Reader { mut config, mut report, lists, .. } = reader;
    report.enter(Scope::Everything);
    legacy::resolve(&lists, &mut config, &mut report);
    check::check(&config, &mut report);
    report.quote(text);
    Imported { config, report }
}

/// What the commands before have opened; indices are into the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Global,
    ClassMap(usize),
    Policy(usize),
    /// A class of a policy.
    Class(usize, usize),
    /// The policer of a class of a policy.
    Police(usize, usize),
    AccessList(usize),
    Interface(usize),
    /// Something that has no counterpart here, such as a routing process; its lines are reported as one with it.
    Foreign(&'static str),
}

impl Mode {
    fn outer(&self) -> Option<Mode> {
        match *self {
            Mode::Global => None,
            Mode::Police(policy, class) => Some(Mode::Class(policy, class)),
            Mode::Class(policy, _) => Some(Mode::Policy(policy)),
            _ => Some(Mode::Global),
        }
    }
}

/// Whether a mode knows a command.
enum Known {
    Yes,
    No,
    /// Its first word begins several commands of the mode.
    Ambiguous(Vec<&'static str>),
}

#[derive(Debug, Default)]
struct Reader {
    mode: Mode,
    config: Config,
    lists: legacy::Lists,
    report: Report,
}

impl Reader {
    fn line(&mut self, line: &str, number: u32) {
        let skipped = prompt(line).unwrap_or(0);
        let mut words = split(line.get(skipped..).unwrap_or_default(), number);
        for word in &mut words {
            // A prompt is of ASCII characters.
            word.at.column = word.at.column.saturating_add(u32::try_from(skipped).unwrap_or(0));
        }
        let mut cursor = Cursor::new(&words);
        let Some(first) = cursor.peek() else { return };
        let negative = first.text.eq_ignore_ascii_case("no") || first.text.eq_ignore_ascii_case("default");
        if negative {
            let _ = cursor.take();
        }
        if cursor.is_done() {
            self.report.unsupported(first.at, format!("`{}` without a command", first.text), None);
            return;
        }
        self.enter();
        // A mode that does not know the command leaves it to the one outside, and only a command that is known there
        // leaves the mode.
        let mut mode = Some(self.mode.clone());
        while let Some(tried) = mode {
            let mut own = cursor.clone();
            match self.command(&tried, &mut own, negative) {
                Ok(Known::Yes) => return,
                Ok(Known::No) => mode = tried.outer(),
                Ok(Known::Ambiguous(all)) => {
                    let message = format!("`{}` is ambiguous", cursor.peek().map_or("", |word| word.text));
                    self.report.error(cursor.at(), message, &format!("write one of: {}", all.join(", ")));
                    return;
                }
                Err(trouble) => return self.trouble(trouble),
            }
        }
        if let Mode::Foreign(what) = self.mode {
            self.report.unsupported(first.at, format!("a line of {what}"), None);
        } else {
            let message = format!("the command `{}` is not known", cursor.peek().map_or("", |word| word.text));
            self.report.unsupported(cursor.at(), message, None);
        }
    }

    /// Remarks on this line are about what the lines before have opened.
    fn enter(&mut self) {
        let scope = match self.mode {
            Mode::Global | Mode::Foreign(_) => None,
            Mode::ClassMap(map) => self.config.class_maps.get(map).map(|map| Scope::ClassMap(map.name.clone())),
            Mode::Policy(policy) | Mode::Class(policy, _) | Mode::Police(policy, _) => {
                self.config.policies.get(policy).map(|policy| Scope::Policy(policy.name.clone()))
            }
            Mode::AccessList(list) => {
                self.config.access_lists.get(list).map(|list| Scope::AccessList(list.name.clone()))
            }
            Mode::Interface(port) => self.config.ports.get(port).map(|port| Scope::Port(port.name.clone())),
        };
        self.report.enter(scope.unwrap_or_default());
    }

    fn trouble(&mut self, trouble: Trouble) {
        let Trouble { at, message, advice, unsupported } = trouble;
        if unsupported {
            self.report.unsupported(at, message, advice.as_deref());
        } else {
            self.report.error(at, message, advice.as_deref().unwrap_or("see the command's documentation"));
        }
    }

    fn command(&mut self, mode: &Mode, cursor: &mut Cursor<'_>, negative: bool) -> Result<Known, Trouble> {
        match *mode {
            Mode::Global => self.global(cursor, negative),
            Mode::ClassMap(map) => self.class_map_line(map, cursor, negative),
            Mode::Policy(policy) => self.policy_line(policy, cursor, negative),
            Mode::Class(policy, class) => self.class_line(policy, class, cursor, negative),
            Mode::Police(policy, class) => self.police_line(policy, class, cursor, negative),
            Mode::AccessList(list) => self.access_list_line(list, cursor, negative),
            Mode::Interface(port) => self.interface_line(port, cursor, negative),
            Mode::Foreign(_) => Ok(Known::No),
        }
    }

    /// The keyword of a mode that the line begins with, taken.
    fn keyword(cursor: &mut Cursor<'_>, keywords: &[&'static str]) -> Result<&'static str, Known> {
        match cursor.peek().map_or(Pick::None, |word| pick(word.text, keywords)) {
            Pick::One(keyword) => {
                let _ = cursor.take();
                Ok(keyword)
            }
            Pick::Several(all) => Err(Known::Ambiguous(all)),
            Pick::None => Err(Known::No),
        }
    }

    fn global(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<Known, Trouble> {
        let at = cursor.at();
        let keyword = match Reader::keyword(cursor, &GLOBAL) {
            Ok(keyword) => keyword,
            Err(known) => return Ok(known),
        };
        match keyword {
            "class-map" => self.class_map(cursor, negative)?,
            "policy-map" => self.policy_map(cursor, negative)?,
            "access-list" => self.numbered_access_list(cursor, negative)?,
            "interface" => self.interface(cursor, negative)?,
            "priority-list" => self.priority_list(cursor, negative)?,
            "ip" if cursor.clone().one_of(&["access-list"]).is_some() => {
                let _ = cursor.take();
                self.named_access_list(cursor, negative)?;
            }
            "router" | "line" | "crypto" | "vrf" | "controller" | "route-map" | "voice" | "dial-peer" | "key"
            | "aaa" | "queue-list" | "ipv6" => {
                self.mode = Mode::Foreign(keyword);
                self.report.unsupported(at, format!("`{keyword}` has no counterpart here"), None);
            }
            "banner" => {
                self.mode = Mode::Foreign("banner");
                self.report.unsupported(at, "a banner's text is not told from commands", Some("remove it"));
            }
            _ => {
                // `end` and `exit` leave the mode; the others say nothing about queues.
                match keyword {
                    "end" => self.mode = Mode::Global,
                    "exit" => self.mode = self.mode.outer().unwrap_or_default(),
                    "configure" => self.mode = Mode::Global,
                    _ => {}
                }
                self.report.ignored(at, format!("`{keyword}` has no effect on queues"));
            }
        }
        Ok(Known::Yes)
    }
}

const GLOBAL: [&str; 43] = [
    "class-map",
    "policy-map",
    "access-list",
    "interface",
    "priority-list",
    "ip",
    "router",
    "line",
    "crypto",
    "vrf",
    "controller",
    "route-map",
    "voice",
    "dial-peer",
    "key",
    "aaa",
    "queue-list",
    "ipv6",
    "banner",
    "end",
    "exit",
    "configure",
    "enable",
    "hostname",
    "version",
    "service",
    "logging",
    "clock",
    "boot",
    "boot-start-marker",
    "boot-end-marker",
    "building",
    "current",
    "show",
    "write",
    "copy",
    "snmp-server",
    "ntp",
    "username",
    "mpls",
    "mls",
    "ssh",
    "spanning-tree",
];

/// The length in bytes of the prompt that a line copied from a session begins with, such as `R1(config-pmap-c)#`.
fn prompt(line: &str) -> Option<usize> {
    let end = line.find(['#', '>'])?;
    let name = line.get(..end)?;
    let (host, mode) = name.split_once('(').unwrap_or((name, ")"));
    let is_host = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    (is_host && mode.ends_with(')')).then_some(end + 1)
}
