//! Rules of `iptables` and `nft` that set marks, DSCPs or priorities, for later filters of `tc`.

use super::action::Edit;
use super::args::{Args, Trouble};
use super::filters::one_of;
use super::handle::Handle;
use super::marking::{Earlier, Step};
use super::shell::Word;
use super::u32::{ds_field, network, network6};
use super::units;
use crate::ir::{Match, PortRange, port_named, protocol_named};
use crate::{Place, Report};
use std::rc::Rc;
use tailback_diffserv::Dscp;

/// Rules of all chains; those of one chain are in the order of their evaluation.
#[derive(Debug, Default)]
pub(super) struct Rules {
    rules: Vec<Rule>,
}

/// A table: its family, as `nft` names it, and its name. The tables of `iptables` are in the family `ip` and those of
/// `ip6tables` in `ip6`, as with the backend nf_tables (xtables-nft(8)).
type Table = (String, String);

#[derive(Clone, Debug)]
struct Rule {
    table: Table,
    chain: String,
    conditions: Vec<Match>,
    /// Output device, as a name, or a prefix followed by `+` or `*`; `true`: all other devices. `None`: any device.
    out: Option<(String, bool)>,
    target: Target,
    at: Place,
}

#[derive(Clone, Debug)]
enum Target {
    Edit(Edit),
    /// Ends the evaluation at this hook.
    Accept,
    /// Ends the evaluation of the chain.
    Return,
    /// Evaluates the chain of that name, then the rest of this one.
    Jump(String),
    /// Evaluates the chain of that name, without the rest of this one.
    Goto(String),
}

/// Hooks of a forwarded packet, in order.
const HOOKS: [&str; 4] = ["prerouting", "forward", "output", "postrouting"];
/// Maximum nesting of chains; more deeply nested ones are not evaluated.
const MAX_DEPTH: usize = 8;
/// Maximum number of rules.
const MAX_RULES: usize = 500;
/// Maximum number of rules evaluated for one device: a chain is evaluated once per jump to it.
const MAX_VISITS: usize = 5000;

impl Rules {
    /// Returns the modifications of packets that leave by that device, in order. It is an error, with the place of the
    /// first rule, if [`MAX_VISITS`] rules or more would be evaluated.
    pub fn steps(&self, device: &str) -> Result<Vec<Step>, Place> {
        let (mut steps, mut left) = (Vec::new(), MAX_VISITS);
        for hook in HOOKS {
            let mut names: Vec<&str> = self.rules.iter().map(|rule| rule.chain.as_str()).collect();
            names.dedup();
            // Base chains of nft may have any name, but are usually named after their hook. A chain that is the target
            // of a jump is not a base chain.
            let called = |name: &str| {
                self.rules.iter().any(|rule| matches!(&rule.target, Target::Jump(to) | Target::Goto(to) if to == name))
            };
            names.retain(|name| name.to_ascii_lowercase().contains(hook) && !called(name));
            names.sort_unstable();
            names.dedup();
            for name in names {
                let _ = self.chain(name, device, &[], &mut steps, &mut left, 0);
            }
        }
        if left == 0 { Err(self.rules.first().map_or_else(Place::default, |rule| rule.at)) } else { Ok(steps) }
    }

    /// `true` if a rule sets a mark, for any device.
    pub fn marks(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.target, Target::Edit(Edit::Mark { .. })))
    }

    /// Returns the place of the first rule for packets that this host generates (chain OUTPUT); `None`: there is none.
    pub fn output(&self) -> Option<Place> {
        self.rules.iter().find(|rule| rule.chain.eq_ignore_ascii_case("output")).map(|rule| rule.at)
    }

    /// Adds the steps of a chain to `steps`, for packets that met the conditions `outer`. Returns the conditions of
    /// packets in the chain under which the evaluation at the hook ends (ACCEPT).
    fn chain(
        &self,
        name: &str,
        device: &str,
        outer: &[Rc<Earlier>],
        steps: &mut Vec<Step>,
        left: &mut usize,
        depth: usize,
    ) -> Vec<Rc<Earlier>> {
        let mut accepted = Vec::new();
        // Conditions under which a packet reaches the current rule: it was sent to the chain and has not left it.
        let mut here = outer.to_vec();
        let outer_count = here.len();
        if depth >= MAX_DEPTH {
            return accepted;
        }
        for rule in self.rules.iter().filter(|rule| rule.chain == name) {
            if let Some((out, is_negated)) = &rule.out {
                let is_out = match out.strip_suffix('+').or_else(|| out.strip_suffix('*')) {
                    Some(start) => device.starts_with(start),
                    None => device == out,
                };
                if is_out == *is_negated {
                    continue;
                }
            }
            *left = left.saturating_sub(1);
            if steps.len() >= MAX_RULES || *left == 0 {
                break;
            }
            let when = one_of(rule.conditions.clone());
            let met = Rc::new(Earlier::At(when.clone(), steps.len()));
            // Without the conditions `outer`, which the calling chain adds.
            let within_chain = |last: Rc<Earlier>, here: &[Rc<Earlier>]| {
                let mut all = here.get(outer_count..).unwrap_or_default().to_vec();
                all.push(last);
                Rc::new(Earlier::All(all))
            };
            match &rule.target {
                Target::Edit(edit) => steps.push(Step { when, edit: *edit, earlier: here.clone() }),
                Target::Accept => {
                    accepted.push(within_chain(Rc::clone(&met), &here));
                    here.push(Rc::new(Earlier::Not(met)));
                }
                Target::Return => here.push(Rc::new(Earlier::Not(met))),
                Target::Jump(to) | Target::Goto(to) => {
                    let mut path = here.clone();
                    path.push(Rc::clone(&met));
                    for ended in self.chain(to, device, &path, steps, left, depth + 1) {
                        let both = Rc::new(Earlier::All(vec![Rc::clone(&met), ended]));
                        accepted.push(within_chain(Rc::clone(&both), &here));
                        here.push(Rc::new(Earlier::Not(both)));
                    }
                    if matches!(rule.target, Target::Goto(_)) {
                        here.push(Rc::new(Earlier::Not(met)));
                    }
                }
            }
        }
        accepted
    }

    /// Adds a rule at the end of its chain, or at the beginning if `first`.
    fn add(&mut self, rule: Rule, first: bool, report: &mut Report) {
        if self.rules.len() >= MAX_RULES {
            report.unsupported(rule.at, format!("more than {MAX_RULES} firewall rules"), None);
            return;
        }
        let index = self.rules.iter().position(|own| own.chain == rule.chain).filter(|_| first);
        self.rules.insert(index.unwrap_or(self.rules.len()), rule);
    }

    /// Reads `iptables …` for IPv4, or `ip6tables …` for IPv6.
    pub fn iptables(&mut self, version: u8, words: &[Word], at: Place, report: &mut Report) {
        let mut args = Args::new(words, at);
        if let Err(trouble) = self.iptables_rule(version, &mut args, report) {
            report.unsupported(
                trouble.at,
                format!("a firewall rule with {}", trouble.message),
                trouble.advice.as_deref(),
            );
        }
    }

    /// Reads the arguments of `iptables` or `ip6tables`.
    fn iptables_rule(&mut self, version: u8, args: &mut Args<'_>, report: &mut Report) -> Result<(), Trouble> {
        let start = args.start();
        let (mut table, mut chain, mut first) = ("filter".to_owned(), None, false);
        let (mut conditions, mut out, mut target) = (vec![Match::Version(version)], None, None);
        // Chain to flush; `None` within: all chains of the table. `-t` may follow.
        let mut flush: Option<Option<String>> = None;
        // An unsupported condition is reported only if the rule modifies packets.
        let mut unknown: Option<Trouble> = None;
        let (mut not, mut is_goto) = (false, false);
        while let Some(word) = args.take() {
            let negated = core::mem::take(&mut not);
            let mut push = |when: Match| conditions.push(if negated { Match::Not(Box::new(when)) } else { when });
            match word.text.as_str() {
                "!" => not = true,
                "-t" | "--table" => table.clone_from(&args.word("table")?.text),
                "-A" | "--append" => chain = Some(args.word("chain")?.text.clone()),
                "-I" | "--insert" => {
                    chain = Some(args.word("chain")?.text.clone());
                    first = true;
                    if args.peek().is_some_and(|word| word.text.parse::<u32>().is_ok_and(|place| place > 1)) {
                        unknown = Some(Trouble::unsupported(word.at, "a position in the chain other than the first"));
                    }
                    if args.peek().is_some_and(|word| word.text.parse::<u32>().is_ok()) {
                        let _ = args.take();
                    }
                }
                "-F" | "--flush" => {
                    let name = args.peek().filter(|word| !word.text.starts_with('-')).map(|word| word.text.clone());
                    if name.is_some() {
                        let _ = args.take();
                    }
                    flush = Some(name);
                }
                "-D" | "--delete" | "-R" | "--replace" if !self.rules.is_empty() => {
                    return Err(Trouble::unsupported(word.at, "a command that replaces or deletes a rule"));
                }
                "-D" | "--delete" | "-R" | "--replace" | "-N" | "--new-chain" | "-X" | "--delete-chain" | "-P"
                | "--policy" | "-Z" | "--zero" | "-L" | "--list" | "-S" | "--list-rules" | "-C" | "--check" => {
                    report.ignored(start, "a command that does not modify packets");
                    return Ok(());
                }
                "-p" | "--protocol" => {
                    let name = args.word("protocol")?;
                    match protocol_named(&name.text) {
                        _ if name.text == "all" => {}
                        Some(number) => push(Match::IpProtocol(number)),
                        None => unknown = Some(Trouble::unsupported(name.at, format!("the protocol `{}`", name.text))),
                    }
                }
                "-s" | "--source" | "--src" | "-d" | "--destination" | "--dst" => {
                    let source = word.text.starts_with("-s") || word.text.starts_with("--s");
                    let name = args.word("network")?;
                    let nets: Option<Vec<Match>> =
                        name.text.split(',').map(|text| address(version, source, text)).collect();
                    match nets {
                        Some(nets) => push(any_of(nets)),
                        None => unknown = Some(Trouble::unsupported(name.at, format!("the address `{}`", name.text))),
                    }
                }
                "--sport" | "--source-port" | "--sports" | "--source-ports" => {
                    push(ports(args, ':', Match::SourcePort)?);
                }
                "--dport" | "--destination-port" | "--dports" | "--destination-ports" => {
                    push(ports(args, ':', Match::DestinationPort)?);
                }
                "--ports" => {
                    let at = args.at();
                    let word = args.word("ports")?;
                    let both = [Match::SourcePort as fn(PortRange) -> Match, Match::DestinationPort];
                    let found: Option<Vec<Match>> = both.iter().map(|made| port_list(&word.text, ':', *made)).collect();
                    push(any_of(found.ok_or_else(|| Trouble::unsupported(at, "these ports"))?));
                }
                "-i" | "--in-interface" => push(Match::InputInterface(args.word("device")?.text.clone())),
                "-o" | "--out-interface" => out = Some((args.word("device")?.text.clone(), negated)),
                "--dscp" => {
                    let word = args.word("code point")?;
                    push(Match::Dscp(vec![code(&word.text).ok_or_else(|| no_code(word))?]));
                }
                "--dscp-class" => {
                    let word = args.word("code point")?;
                    push(Match::Dscp(vec![code(&word.text).ok_or_else(|| no_code(word))?]));
                }
                "--tos" => {
                    let word = args.word("type of service")?;
                    let (value, mask) = pair(&word.text, 0xff).ok_or_else(|| no_code(word))?;
                    push(ds_field(u64::from(value), u64::from(mask)).unwrap_or(Match::Any));
                }
                "--mark" => {
                    let word = args.word("mark")?;
                    let (value, mask) = pair(&word.text, u32::MAX).ok_or_else(|| no_mark(word))?;
                    push(super::u32::mark(value, mask));
                }
                "-m" | "--match" => {
                    let module = args.word("module")?;
                    let known = ["tcp", "udp", "multiport", "dscp", "tos", "mark", "comment"];
                    if !known.contains(&module.text.as_str()) {
                        unknown = Some(Trouble::unsupported(module.at, format!("the condition `{}`", module.text)));
                    }
                }
                "--comment" => drop(args.word("comment")?),
                "-j" | "--jump" | "-g" | "--goto" => {
                    is_goto = word.text.ends_with('g') || word.text.ends_with("goto");
                    let word = args.word("target")?;
                    target = Some((word.at, word.text.clone()));
                    match word.text.as_str() {
                        "MARK" | "CLASSIFY" | "DSCP" | "TOS" => break,
                        _ => {}
                    }
                }
                "-v" | "-n" | "-w" | "-4" | "--wait" | "--verbose" => {}
                other => {
                    let _ = unknown.get_or_insert_with(|| Trouble::unsupported(word.at, format!("`{other}`")));
                }
            }
        }
        let table = (if version == 6 { "ip6" } else { "ip" }.to_owned(), table);
        if let Some(name) = flush {
            if let Some(trouble) = unknown {
                return Err(trouble);
            }
            self.rules.retain(|rule| rule.table != table || name.as_ref().is_some_and(|name| *name != rule.chain));
            return Ok(());
        }
        let Some(chain) = chain else {
            report.ignored(start, "a command that does not modify packets");
            return Ok(());
        };
        let Some((target_at, target)) = target else {
            // The unsupported option may be the target.
            if let Some(trouble) = unknown {
                return Err(trouble);
            }
            report.ignored(start, "a rule that only counts packets");
            return Ok(());
        };
        if table.1 != "mangle" {
            report.ignored(start, format!("the table {} sets no field that tc matches", table.1));
            return Ok(());
        }
        let edits = match target.as_str() {
            _ if is_goto => vec![Target::Goto(target)],
            "MARK" | "CLASSIFY" | "DSCP" | "TOS" => vec![Target::Edit(edit(target_at, args)?)],
            "ACCEPT" => vec![Target::Accept],
            "RETURN" => vec![Target::Return],
            "CONNMARK" => {
                report.ignored(
                    start,
                    "all packets of a flow are marked alike, so connection marks have no further effect",
                );
                return Ok(());
            }
            "DROP" | "REJECT" | "LOG" | "TCPMSS" | "TTL" | "CHECKSUM" | "NFLOG" | "NOTRACK" => {
                report.ignored(start, format!("the target {target} sets no field that tc matches"));
                return Ok(());
            }
            "IMQ" | "SET" | "TPROXY" | "TEE" | "NFQUEUE" | "HMARK" => {
                return Err(Trouble::unsupported(target_at, format!("the target `{target}`")));
            }
            _ => vec![Target::Jump(target)],
        };
        if let Some(trouble) = unknown {
            return Err(trouble);
        }
        for target in edits {
            self.add(
                Rule {
                    table: table.clone(),
                    chain: chain.clone(),
                    conditions: conditions.clone(),
                    out: out.clone(),
                    target,
                    at: start,
                },
                first,
                report,
            );
        }
        Ok(())
    }

    /// Reads `nft add rule [FAMILY] TABLE CHAIN …`.
    pub fn nft(&mut self, words: &[Word], at: Place, report: &mut Report) {
        let mut args = Args::new(words, at);
        if let Err(trouble) = self.nft_rule(&mut args, report) {
            report.unsupported(
                trouble.at,
                format!("a firewall rule with {}", trouble.message),
                trouble.advice.as_deref(),
            );
        }
    }

    /// Reads the arguments of `nft`.
    fn nft_rule(&mut self, args: &mut Args<'_>, report: &mut Report) -> Result<(), Trouble> {
        let start = args.start();
        let first = match args.word("command")?.text.as_str() {
            "add" => false,
            "insert" => true,
            "list" => {
                report.ignored(start, "a command that does not modify packets");
                return Ok(());
            }
            "flush" => return self.nft_flush(args, report),
            "delete" => return self.nft_delete(args, report),
            other => return Err(Trouble::unsupported(start, format!("`nft {other}`"))),
        };
        if !args.take_if("rule") {
            report.ignored(start, "a command that does not modify packets");
            return Ok(());
        }
        let table = table(args)?;
        let version = match table.0.as_str() {
            "ip6" => Some(6),
            "ip" => Some(4),
            "inet" => None,
            other => return Err(Trouble::unsupported(start, format!("the family `{other}`"))),
        };
        let chain = args.word("chain")?.text.clone();
        let mut conditions: Vec<Match> = version.map(Match::Version).into_iter().collect();
        let (mut out, mut targets) = (None, Vec::new());
        while let Some(word) = args.take() {
            let unknown = || Trouble::unsupported(word.at, format!("`{}`", word.text));
            match word.text.as_str() {
                "counter" => {}
                "comment" => drop(args.word("comment")?),
                "accept" => targets.push(Target::Accept),
                "return" => targets.push(Target::Return),
                "jump" => targets.push(Target::Jump(args.word("chain")?.text.clone())),
                "goto" => targets.push(Target::Goto(args.word("chain")?.text.clone())),
                "oif" | "oifname" => {
                    let not = args.take_if("!=");
                    out = Some((args.word("device")?.text.clone(), not));
                }
                "iif" | "iifname" => {
                    let not = args.take_if("!=");
                    let when = Match::InputInterface(args.word("device")?.text.clone());
                    conditions.push(if not { Match::Not(Box::new(when)) } else { when });
                }
                "meta" | "ip" | "ip6" | "tcp" | "udp" | "th" => {
                    // A field of one version matches only packets of that version (nft(8)).
                    let own = [("ip", 4), ("ip6", 6)].iter().find(|(name, _)| *name == word.text);
                    let own = own.map(|(_, own)| Match::Version(*own)).filter(|own| !conditions.contains(own));
                    conditions.extend(own);
                    let field = args.word("field")?;
                    let key = (word.text.as_str(), field.text.as_str());
                    if args.take_if("set") {
                        let value = args.word("value")?;
                        targets.push(Target::Edit(nft_edit(key, value).ok_or_else(unknown)?));
                        continue;
                    }
                    let not = args.take_if("!=");
                    let when = any_of(
                        values(args)?
                            .iter()
                            .map(|value| nft_match(key, value))
                            .collect::<Option<_>>()
                            .ok_or_else(unknown)?,
                    );
                    // A condition on ports implies the protocol.
                    if matches!(word.text.as_str(), "tcp" | "udp") {
                        conditions.push(Match::IpProtocol(if word.text == "tcp" { 6 } else { 17 }));
                    }
                    conditions.push(if not { Match::Not(Box::new(when)) } else { when });
                }
                _ => return Err(unknown()),
            }
        }
        for target in targets {
            self.add(
                Rule {
                    table: table.clone(),
                    chain: chain.clone(),
                    conditions: conditions.clone(),
                    out: out.clone(),
                    target,
                    at: start,
                },
                first,
                report,
            );
        }
        Ok(())
    }

    /// Reads the arguments of `nft flush`: all rules of a chain, of a table or of a family are removed (nft(8)).
    fn nft_flush(&mut self, args: &mut Args<'_>, report: &mut Report) -> Result<(), Trouble> {
        let start = args.start();
        match args.word("object")?.text.as_str() {
            "ruleset" => match args.take() {
                Some(family) if !FAMILIES.contains(&family.text.as_str()) => {
                    return Err(Trouble::unsupported(family.at, format!("`nft flush ruleset {}`", family.text)));
                }
                family => self.rules.retain(|rule| family.is_some_and(|family| rule.table.0 != family.text)),
            },
            "table" => {
                let table = table(args)?;
                self.rules.retain(|rule| rule.table != table);
            }
            "chain" => {
                let table = table(args)?;
                let chain = &args.word("chain")?.text;
                self.rules.retain(|rule| rule.table != table || rule.chain != *chain);
            }
            "set" | "map" | "meter" => report.ignored(start, "a command that does not modify packets"),
            other => return Err(Trouble::unsupported(start, format!("`nft flush {other}`"))),
        }
        Ok(())
    }

    /// Reads the arguments of `nft delete`. The rules of a deleted table are removed; a chain with rules cannot be deleted
    /// (nft(8)).
    fn nft_delete(&mut self, args: &mut Args<'_>, report: &mut Report) -> Result<(), Trouble> {
        let start = args.start();
        match args.word("object")?.text.as_str() {
            "table" => {
                let table = table(args)?;
                self.rules.retain(|rule| rule.table != table);
                return Ok(());
            }
            "rule" if !self.rules.is_empty() => {
                return Err(Trouble::unsupported(start, "a command that replaces or deletes a rule"));
            }
            "chain" => {
                let table = table(args)?;
                let chain = &args.word("chain")?.text;
                if self.rules.iter().any(|rule| rule.table == table && rule.chain == *chain) {
                    return Err(Trouble::unsupported(start, "a command that deletes a chain with rules"));
                }
            }
            _ => {}
        }
        report.ignored(start, "a command that does not modify packets");
        Ok(())
    }
}

/// Address families of `nft`.
const FAMILIES: [&str; 6] = ["ip", "ip6", "inet", "arp", "bridge", "netdev"];

/// Takes `[FAMILY] TABLE` of `nft`. The default family is `ip` (nft(8), "ADDRESS FAMILIES").
fn table(args: &mut Args<'_>) -> Result<Table, Trouble> {
    let family = FAMILIES.into_iter().find(|family| args.take_if(family)).unwrap_or("ip");
    Ok((family.to_owned(), args.word("table")?.text.clone()))
}

/// Returns the disjunction of the conditions.
fn any_of(mut any: Vec<Match>) -> Match {
    if any.len() == 1 { any.remove(0) } else { Match::AnyOf(any) }
}

/// Parses an address of that IP version, and returns the condition on the source or the destination; `None`: other
/// text.
fn address(version: u8, source: bool, text: &str) -> Option<Match> {
    Some(match (version, source) {
        (6, true) => Match::Source6(network6(text)?),
        (6, false) => Match::Destination6(network6(text)?),
        (_, true) => Match::Source(network(text)?),
        (_, false) => Match::Destination(network(text)?),
    })
}

/// Returns the remark on an invalid DSCP.
fn no_code(word: &Word) -> Trouble {
    Trouble::unsupported(word.at, format!("the code point `{}`", word.text))
}

/// Returns the remark on an invalid mark.
fn no_mark(word: &Word) -> Trouble {
    Trouble::unsupported(word.at, format!("the mark `{}`", word.text))
}

/// Parses a DSCP, by number from 0 to 63 or by name in any case; `None`: other text.
fn code(text: &str) -> Option<u8> {
    let number = units::based(text).and_then(|n| u8::try_from(n).ok()).filter(|n| *n < 64);
    number.or_else(|| match text.to_ascii_lowercase().as_str() {
        "be" | "cs0" => Some(0),
        other => other.parse::<Dscp>().ok().map(Dscp::codepoint),
    })
}

/// Parses `VALUE` or `VALUE/MASK`, each at most `all`, which is the default of the mask; `None`: other text.
fn pair(text: &str, all: u32) -> Option<(u32, u32)> {
    let number = |text: &str| units::based(text).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= all);
    match text.split_once('/') {
        Some((value, mask)) => Some((number(value)?, number(mask)?)),
        None => Some((number(text)?, all)),
    }
}

/// Parses a list of ports and ranges, separated by commas; `between` separates the ends of a range. Returns the
/// disjunction of the conditions that `made` builds of each range; `None`: other text.
pub(crate) fn port_list(text: &str, between: char, made: fn(PortRange) -> Match) -> Option<Match> {
    let range = |text: &str| {
        let (low, high) = text.split_once(between).unwrap_or((text, text));
        let low = if low.is_empty() { 0 } else { port_named(low)? };
        let high = if high.is_empty() { u16::MAX } else { port_named(high)? };
        (low <= high).then(|| made(PortRange { low, high }))
    };
    text.split(',').map(range).collect::<Option<Vec<Match>>>().map(any_of)
}

/// Takes a list of ports, as in [`port_list`].
fn ports(args: &mut Args<'_>, between: char, made: fn(PortRange) -> Match) -> Result<Match, Trouble> {
    let word = args.word("ports")?;
    port_list(&word.text, between, made)
        .ok_or_else(|| Trouble::unsupported(word.at, format!("the ports `{}`", word.text)))
}

/// Parses the option of a target of iptables, such as `--set-mark 1`.
fn edit(at: Place, args: &mut Args<'_>) -> Result<Edit, Trouble> {
    let option = args.word("option of the target")?;
    let word = args.word("value")?;
    let text = word.text.as_str();
    let mark = || pair(text, u32::MAX);
    let found = match option.text.as_str() {
        "--set-mark" => mark().map(|(value, mask)| Edit::Mark { value, mask: mask | value }),
        // The kernel clears the bits under the mask, then inverts those of the value. A bit of the value outside the
        // mask would depend on the old mark, which is unsupported.
        "--set-xmark" => {
            mark().filter(|(value, mask)| value & !mask == 0).map(|(value, mask)| Edit::Mark { value, mask })
        }
        "--or-mark" => mark().map(|(value, _)| Edit::Mark { value, mask: value }),
        "--and-mark" => mark().map(|(value, _)| Edit::Mark { value: 0, mask: !value }),
        "--set-class" => handle(text).map(Edit::Priority),
        "--set-dscp" | "--set-dscp-class" => code(text).map(Edit::Dscp),
        "--set-tos" => {
            pair(text, 0xff).filter(|(_, mask)| mask & 0xfc == 0xfc).map(|(value, _)| Edit::Dscp((value >> 2) as u8))
        }
        _ => None,
    };
    found.ok_or_else(|| Trouble::unsupported(at, format!("`{} {text}`", option.text)))
}

/// Parses a handle `MAJOR:MINOR`, both hexadecimal; `None`: other text.
fn handle(text: &str) -> Option<Handle> {
    let (major, minor) = text.split_once(':')?;
    let part = |text: &str| u16::from_str_radix(text, 16).ok();
    Some(Handle { major: part(major)?, minor: part(minor)? })
}

/// Parses a value of nft, or a set `{ A, B }`; returns the values.
fn values(args: &mut Args<'_>) -> Result<Vec<String>, Trouble> {
    let first = args.word("value")?;
    if !first.text.starts_with('{') {
        return Ok(vec![first.text.clone()]);
    }
    let mut text = first.text.clone();
    while !text.contains('}') {
        text.push_str(&args.word("`}`")?.text);
    }
    let inner = text.trim_start_matches('{').split('}').next().unwrap_or_default();
    Ok(inner.split(',').map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()).collect())
}

/// Returns the condition that a field of nft has a value; `None`: the field or the value is unsupported.
fn nft_match(key: (&str, &str), value: &str) -> Option<Match> {
    Some(match key {
        ("meta", "l4proto") | ("ip", "protocol") => Match::IpProtocol(protocol_named(value)?),
        ("meta", "mark") => super::u32::mark(pair(value, u32::MAX)?.0, u32::MAX),
        ("ip", "saddr") => Match::Source(network(value)?),
        ("ip", "daddr") => Match::Destination(network(value)?),
        ("ip6", "saddr") => Match::Source6(network6(value)?),
        ("ip6", "daddr") => Match::Destination6(network6(value)?),
        ("ip6", "nexthdr") => Match::IpProtocol(protocol_named(value)?),
        ("ip" | "ip6", "dscp") => Match::Dscp(vec![code(value)?]),
        ("tcp" | "udp" | "th", "sport") => port_list(value, '-', Match::SourcePort)?,
        ("tcp" | "udp" | "th", "dport") => port_list(value, '-', Match::DestinationPort)?,
        _ => return None,
    })
}

/// Returns the modification by `set` of nft; `None`: the field or the value is unsupported.
fn nft_edit(key: (&str, &str), value: &Word) -> Option<Edit> {
    let text = value.text.trim_matches('"');
    Some(match key {
        ("meta", "mark") => Edit::Mark { value: pair(text, u32::MAX)?.0, mask: u32::MAX },
        ("meta", "priority") => Edit::Priority(handle(text)?),
        ("ip" | "ip6", "dscp") => Edit::Dscp(code(text)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Place, Report, Rules, Word};

    /// Returns the chains of the rules that are left after these commands, and the number of unsupported ones.
    fn left(commands: &[&str]) -> (String, usize) {
        let (mut rules, mut report) = (Rules::default(), Report::default());
        for command in commands {
            let words = command.split_whitespace().map(|text| Word { text: text.to_owned(), at: Place::default() });
            let words: Vec<Word> = words.collect();
            match words[0].text.as_str() {
                "nft" => rules.nft(&words[1..], Place::default(), &mut report),
                "ip6tables" => rules.iptables(6, &words[1..], Place::default(), &mut report),
                _ => rules.iptables(4, &words[1..], Place::default(), &mut report),
            }
        }
        let chains: Vec<&str> = rules.rules.iter().map(|rule| rule.chain.as_str()).collect();
        let unsupported = report.notices().iter().filter(|notice| notice.level == crate::Level::Unsupported).count();
        (chains.join(" "), unsupported)
    }

    #[test]
    fn a_flush_of_iptables_empties_the_named_table_only() {
        let start = [
            "iptables -t mangle -A FORWARD -j MARK --set-mark 1",
            "iptables -t mangle -A POSTROUTING -j MARK --set-mark 2",
            "ip6tables -t mangle -A OUTPUT -j MARK --set-mark 3",
        ];
        for (flush, chains) in [
            // The default table is `filter` (iptables(8)), and all chains are flushed without a chain.
            ("iptables -F", "FORWARD POSTROUTING OUTPUT"),
            ("iptables -t nat -F", "FORWARD POSTROUTING OUTPUT"),
            ("iptables -t mangle -F", "OUTPUT"),
            ("iptables -F -t mangle", "OUTPUT"),
            ("iptables --flush FORWARD --table mangle", "POSTROUTING OUTPUT"),
            ("ip6tables -t mangle -F", "FORWARD POSTROUTING"),
        ] {
            assert_eq!(left(&[&start[..], &[flush]].concat()), (chains.to_owned(), 0), "{flush}");
        }
        // A command that is only half understood is reported, not applied.
        let all = "FORWARD POSTROUTING OUTPUT".to_owned();
        assert_eq!(left(&[&start[..], &["iptables -t mangle -F --unknown"]].concat()), (all, 1));
    }

    #[test]
    fn commands_of_nft_remove_only_the_rules_that_they_name() {
        let start = [
            "nft add rule inet mangle forward meta mark set 1",
            "nft add rule inet mangle postrouting meta mark set 2",
            "nft add rule mangle prerouting meta mark set 3",
            "nft add rule ip other output meta mark set 4",
        ];
        for (command, chains, unsupported) in [
            ("nft list ruleset", "forward postrouting prerouting output", 0),
            ("nft flush ruleset", "", 0),
            ("nft flush ruleset inet", "prerouting output", 0),
            ("nft flush table inet mangle", "prerouting output", 0),
            // Without a family it is `ip`.
            ("nft flush table mangle", "forward postrouting output", 0),
            ("nft flush chain inet mangle forward", "postrouting prerouting output", 0),
            ("nft flush set inet mangle hosts", "forward postrouting prerouting output", 0),
            ("nft delete table ip other", "forward postrouting prerouting", 0),
            ("nft delete set inet mangle hosts", "forward postrouting prerouting output", 0),
            ("nft delete chain inet mangle empty", "forward postrouting prerouting output", 0),
            ("nft delete chain inet mangle forward", "forward postrouting prerouting output", 1),
            ("nft delete rule inet mangle forward handle 7", "forward postrouting prerouting output", 1),
            ("nft flush everything", "forward postrouting prerouting output", 1),
        ] {
            assert_eq!(left(&[&start[..], &[command]].concat()), (chains.to_owned(), unsupported), "{command}");
        }
    }
}
