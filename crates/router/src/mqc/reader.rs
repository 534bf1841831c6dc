//! Reader of a configuration: modes, and the commands that open them.

use super::platform::evident;
use super::words::{Cursor, Pick, Trouble, pick, split};
use crate::ir::{Config, Match, Medium, Port, Queue, Rule};
use crate::{Level, Place, Report, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// Mode of the command line; numbers are indices into the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
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
    /// An unsupported block, such as a routing process; its lines are reported together.
    Foreign(Block),
}

impl Mode {
    /// Returns the enclosing mode; `None`: the mode is global.
    pub(super) fn outer(&self) -> Option<Mode> {
        match *self {
            Mode::Global => None,
            Mode::Police(policy, class) => Some(Mode::Class(policy, class)),
            Mode::Class(policy, _) => Some(Mode::Policy(policy)),
            _ => Some(Mode::Global),
        }
    }
}

/// Result of looking up a command in a mode.
pub(super) enum Known {
    /// The mode has handled the command.
    Yes,
    /// The mode has no such command.
    No,
    /// The first word is a prefix of several commands of the mode, which are listed.
    Ambiguous(Vec<&'static str>),
}

/// State of the reader.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) mode: Mode,
    pub(super) config: Config,
    pub(super) lists: Lists,
    pub(super) report: Report,
    /// Names of class maps and policies in the intermediate representation. The key is the kind of the object, `true`
    /// if its type is `queuing`, and its name in the text.
    pub(super) names: BTreeMap<(Named, bool, String), String>,
    /// Names of the input and the output policy of interfaces without one of their own (NX-OS `system qos`).
    pub(super) system: (Option<String>, Option<String>),
    /// Indices of interfaces whose reference rate of percentages is stated by `bandwidth qos-reference`.
    pub(super) referenced: BTreeSet<usize>,
    /// Conditions of class maps with their places, by name of the class map.
    pub(super) match_lines: BTreeMap<String, Vec<(Match, Place)>>,
    /// First permanent virtual circuit of a port, as written, by index of the port.
    pub(super) circuits: BTreeMap<usize, String>,
    /// Delimiter that ends the current banner; `None`: no banner is open.
    pub(super) banner: Option<String>,
}

/// Kinds of objects with a name space per type (NX-OS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Named {
    ClassMap,
    Policy,
}

impl Reader {
    /// Returns the name of a class map or policy in the intermediate representation: on NX-OS `class-map type qos X`
    /// and `class-map type queuing X` are two objects (Cisco Nexus 9000 Series NX-OS Quality of Service Configuration
    /// Guide, "Using Modular QoS CLI"). The one that occurs later is called `X.queuing` or `X.qos`.
    pub(super) fn own_name(&mut self, what: Named, queuing: bool, name: &str) -> String {
        let other = self.names.contains_key(&(what, !queuing, name.to_owned()));
        let own = self.names.entry((what, queuing, name.to_owned())).or_insert_with(|| match (other, queuing) {
            (false, _) => name.to_owned(),
            (true, true) => format!("{name}.queuing"),
            (true, false) => format!("{name}.qos"),
        });
        own.clone()
    }

    /// Reads a line; `number` is that of the line, from 1.
    pub(super) fn line(&mut self, line: &str, number: u32) {
        let skipped = prompt(line).unwrap_or(0);
        let mut words = split(line.get(skipped..).unwrap_or_default(), number);
        for word in &mut words {
            // A prompt consists of ASCII characters.
            word.at.column = word.at.column.saturating_add(u32::try_from(skipped).unwrap_or(0));
        }
        let mut cursor = Cursor::new(&words);
        let Some(first) = cursor.peek() else { return };
        if let Some(delimiter) = &self.banner {
            // The text of a banner is skipped up to its delimiter.
            if line.contains(delimiter.as_str()) {
                self.banner = None;
            }
            return;
        }
        if let Mode::Foreign(block) = &self.mode {
            // A text may have lost its indentation, so `service-policy` belongs to `system qos` until another command
            // opens a mode.
            let own = block.effect == Effect::System && first.text.eq_ignore_ascii_case("service-policy");
            if first.at.column <= block.column && !own {
                self.mode = (*block.back).clone();
            } else if skipped == 0 && block.effect != Effect::System {
                let block = block.clone();
                self.report.enter(Scope::Everything);
                return self.foreign_line(&block, &cursor);
            }
        }
        let negative = first.text.eq_ignore_ascii_case("no") || first.text.eq_ignore_ascii_case("default");
        if negative {
            let _ = cursor.take();
        }
        if self.config.platform.is_none() {
            let word = |index: usize| words.get(index).map_or("", |word| word.text);
            self.config.platform = evident(word(0), word(1), word(2));
        }
        if cursor.is_done() {
            self.report.unsupported(first.at, format!("`{}` without a command", first.text), None);
            return;
        }
        self.enter();
        // A command that the mode does not accept is tried in the enclosing modes; the mode changes only if one of them
        // accepts it.
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
        if let Mode::Foreign(block) = &self.mode {
            let block = block.clone();
            self.foreign_line(&block, &cursor);
        } else {
            let message = format!("the command `{}` is not known", cursor.peek().map_or("", |word| word.text));
            self.report.unsupported(cursor.at(), message, None);
        }
    }

    /// Sets the scope of remarks to the object of the current mode.
    pub(super) fn enter(&mut self) {
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

    /// Reports a trouble.
    pub(super) fn trouble(&mut self, trouble: Trouble) {
        let Trouble { at, message, advice, level } = trouble;
        if level == Level::Error {
            self.report.error(at, message, advice.as_deref().unwrap_or("see the command's documentation"));
        } else {
            self.report.add(level, at, message, advice.as_deref());
        }
    }

    /// Executes a command in a mode.
    pub(super) fn command(&mut self, mode: &Mode, cursor: &mut Cursor<'_>, negative: bool) -> Result<Known, Trouble> {
        match *mode {
            Mode::Global => self.global(cursor, negative),
            Mode::ClassMap(map) => self.class_map_line(map, cursor, negative),
            Mode::Policy(policy) => self.policy_line(policy, cursor, negative),
            Mode::Class(policy, class) => self.class_line(policy, class, cursor, negative),
            Mode::Police(policy, class) => self.police_line(policy, class, cursor, negative),
            Mode::AccessList(list) => self.access_list_line(list, cursor, negative),
            Mode::Interface(port) => self.interface_line(port, cursor, negative),
            Mode::Foreign(ref block) if block.effect == Effect::System => {
                Ok(if self.system_line(cursor, negative)? { Known::Yes } else { Known::No })
            }
            Mode::Foreign(_) => Ok(Known::No),
        }
    }

    /// Attaches the policies of `system qos` to interfaces without one of their own.
    pub(super) fn attach_system(&mut self) {
        let (input, output) = (self.system.0.take(), self.system.1.take());
        if self.config.ports.is_empty() && output.is_some() {
            // Represents any port of the switch; its rate must be given as an option.
            self.config.ports.push(Port { name: "system".to_owned(), medium: Medium::Ethernet, ..Port::default() });
        }
        for port in &mut self.config.ports {
            if port.input.is_none() {
                port.input.clone_from(&input);
            }
            if let (Queue::Fifo, Some(output)) = (&port.root.queue, &output) {
                port.root.queue = Queue::Policy(output.clone());
            }
        }
    }

    /// Handles an unabbreviated command of another feature; `false`: it is another command.
    pub(super) fn whole_word(&mut self, cursor: &mut Cursor<'_>) -> bool {
        let known = cursor.peek().is_some_and(|word| GLOBAL.iter().any(|own| own.eq_ignore_ascii_case(word.text)));
        !known && self.foreign(cursor)
    }

    /// Takes the keyword with which the line begins.
    pub(super) fn keyword(cursor: &mut Cursor<'_>, keywords: &[&'static str]) -> Result<&'static str, Known> {
        match cursor.peek().map_or(Pick::None, |word| pick(word.text, keywords)) {
            Pick::One(keyword) => {
                let _ = cursor.take();
                Ok(keyword)
            }
            Pick::Several(all) => Err(Known::Ambiguous(all)),
            Pick::None => Err(Known::No),
        }
    }

    /// Takes the keyword with which the line begins; those of `rare` must be unabbreviated, so that they make no
    /// abbreviation of the others ambiguous.
    pub(super) fn keyword_or(
        cursor: &mut Cursor<'_>,
        keywords: &[&'static str],
        rare: &[&'static str],
    ) -> Result<&'static str, Known> {
        let whole = cursor.peek().and_then(|word| rare.iter().find(|own| own.eq_ignore_ascii_case(word.text)));
        // `service output NAME` abbreviates `service-policy`; `service instance` is another command.
        if let Some(keyword) = whole.filter(|own| **own != "service" || cursor.second_is("instance")) {
            let _ = cursor.take();
            return Ok(keyword);
        }
        Reader::keyword(cursor, keywords)
    }

    /// Executes a global command.
    pub(super) fn global(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<Known, Trouble> {
        let at = cursor.at();
        // These words are commands of other modes, although some are prefixes of global commands.
        let other = |word: &str| ["class", "priority", "set", "match"].iter().any(|own| own.eq_ignore_ascii_case(word));
        if cursor.peek().is_some_and(|word| other(word.text)) {
            return Ok(Known::No);
        }
        if self.whole_word(cursor) {
            return Ok(Known::Yes);
        }
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
            "ipv6" if cursor.clone().one_of(&["access-list"]).is_some() => {
                let _ = cursor.take();
                self.ipv6_access_list(cursor, negative)?;
            }
            "banner" => {
                let _ = cursor.one_of(&["motd", "login", "exec", "incoming", "prompt-timeout", "slip-ppp"]);
                let text = cursor.rest();
                let delimiter = if text.starts_with("^C") { "^C" } else { text.get(..1).unwrap_or_default() };
                let more = text.get(delimiter.len()..).unwrap_or_default();
                if !delimiter.is_empty() && !more.contains(delimiter) && !negative {
                    self.banner = Some(delimiter.to_owned());
                }
                self.report.ignored(at, "banners have no effect on queues");
            }
            _ => {
                // `end`, `exit` and `configure` change the mode; the others have no effect on queues.
                match keyword {
                    "end" | "end-class-map" | "end-policy-map" => self.mode = Mode::Global,
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

/// Global commands, which may be abbreviated.
const GLOBAL: [&str; 32] = [
    "class-map",
    "policy-map",
    "access-list",
    "interface",
    "priority-list",
    "ip",
    "ipv6",
    "banner",
    "end",
    "end-class-map",
    "end-policy-map",
    "exit",
    "configure",
    "enable",
    "hostname",
    "version",
    "service",
    "logging",
    "clock",
    "boot",
    "building",
    "current",
    "show",
    "write",
    "copy",
    "snmp-server",
    "ntp",
    "mpls",
    "ssh",
    "spanning-tree",
    "last",
    "do",
];

/// Returns the length in bytes of the prompt at the beginning of a line copied from a session, such as
/// `R1(config-pmap-c)#`; `None`: the line has no prompt.
fn prompt(line: &str) -> Option<usize> {
    let end = line.find(['#', '>'])?;
    let name = line.get(..end)?;
    let (host, mode) = name.split_once('(').unwrap_or((name, ")"));
    let is_host = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    (is_host && mode.ends_with(')')).then_some(end + 1)
}

/// A block of lines of another feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Command that opened the block, for remarks.
    pub what: String,
    /// Possible effect of its lines.
    pub effect: Effect,
    /// Column, from 1, of the command that opened the block: lines that begin farther to the right belong to it.
    pub column: u32,
    /// Mode after the block; never a block.
    pub back: Box<Mode>,
}

/// Possible effect of a block's lines on departing packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// No effect.
    None,
    /// `set` lines may mark packets (policy-based routing, route policies).
    Marks,
    /// Lines shape, queue or drop packets; each is reported.
    Queues,
    /// Policies attached to all interfaces (NX-OS `system qos`).
    System,
}

/// Priority lists by number.
pub(super) type Lists = BTreeMap<u32, List>;

/// A priority list.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) rules: Vec<Rule>,
    /// Level of packets that match no rule; `None`: normal.
    pub(super) default: Option<&'static str>,
    /// Queue limits in packets, from high to low, where 0 is unlimited; `None`: the defaults.
    pub(super) limits: Option<[u64; 4]>,
    pub(super) at: Place,
}
