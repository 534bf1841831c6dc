//! `class-map`: named conditions.

use super::reader::{Known, Mode, Named, Reader};
use super::words::{Cursor, Trouble};
use crate::Place;
use crate::ir::{ClassMap, Match, PortRange};

/// Maximum number of lines of a class map with which a later line is compared.
const MAX_COMPARED: usize = 200;

impl Reader {
    /// `class-map [match-all|match-any] NAME`
    pub(super) fn class_map(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<(), Trouble> {
        let at = cursor.at();
        let mut all = true;
        let queuing = queuing(cursor);
        if let Some(kind) = typed(cursor)? {
            return Err(self.foreign_type("class-map", &kind, at));
        }
        // `match-a` alone does not distinguish `match-all` from `match-any`.
        let mode = cursor.peek().map_or("", |word| word.text).to_ascii_lowercase();
        if mode.starts_with("match-a") && mode.len() > 7 {
            all = cursor.expect(&["match-all", "match-any"])? == "match-all";
        }
        let name = cursor.name("name of the class map")?;
        cursor.finish()?;
        let own = self.own_name(Named::ClassMap, queuing, name.text);
        let found = self.config.class_maps.iter().position(|map| map.name == own);
        if negative {
            match found {
                Some(index) => drop(self.config.class_maps.remove(index)),
                None => {
                    return Err(Trouble::wrong(
                        name.at,
                        format!("there is no class map `{}`", name.text),
                        "remove the line",
                    ));
                }
            }
            self.mode = Mode::Global;
            return Ok(());
        }
        let index = found.unwrap_or_else(|| {
            let map = ClassMap { name: own, all, conditions: Vec::new(), at };
            self.config.class_maps.push(map);
            self.config.class_maps.len() - 1
        });
        if let Some(map) = self.config.class_maps.get_mut(index)
            && (mode.starts_with("match-a") && mode.len() > 7)
        {
            map.all = all;
        }
        self.mode = Mode::ClassMap(index);
        Ok(())
    }

    /// Handles a line in the mode of a class map.
    pub(super) fn class_map_line(
        &mut self,
        map: usize,
        cursor: &mut Cursor<'_>,
        negative: bool,
    ) -> Result<Known, Trouble> {
        let at = cursor.at();
        let keyword = match Reader::keyword(cursor, &["match", "description", "rename"]) {
            Ok(keyword) => keyword,
            Err(known) => return Ok(known),
        };
        match keyword {
            "match" => {
                let condition = condition(cursor)?;
                cursor.finish()?;
                let Some(map) = self.config.class_maps.get_mut(map) else { return Ok(Known::No) };
                if negative {
                    let Some(index) = map.conditions.iter().position(|own| *own == condition) else {
                        return Err(Trouble::wrong(at, "the class map has no such condition", "remove the line"));
                    };
                    let _ = map.conditions.remove(index);
                } else if !map.conditions.contains(&condition) {
                    let lines = self.match_lines.entry(map.name.clone()).or_default();
                    let covers = |own: &&(Match, Place)| map.conditions.contains(&own.0) && own.0.covers(&condition);
                    // With match-any, the narrower condition is redundant.
                    if let Some((_, first)) = lines.iter().find(covers).filter(|_| !map.all) {
                        let what = format!("line {} of `{}` matches all packets of this line", first.line, map.name);
                        self.report.ignored(at, what);
                    }
                    if lines.len() < MAX_COMPARED {
                        lines.push((condition.clone(), at));
                    }
                    map.conditions.push(condition);
                }
            }
            "description" => self.report.ignored(at, "descriptions have no effect on queues"),
            _ => return Err(Trouble::unsupported(at, format!("`{keyword}` is not supported here"))),
        }
        Ok(Known::Yes)
    }
}

/// Parses the arguments of `match`.
fn condition(cursor: &mut Cursor<'_>) -> Result<Match, Trouble> {
    const AFTER_IP: [&str; 3] = ["dscp", "precedence", "rtp"];
    if cursor.peek().is_some_and(|word| word.text.eq_ignore_ascii_case("not")) {
        let _ = cursor.take();
        return Ok(Match::Not(Box::new(plain(cursor)?)));
    }
    if cursor.one_of(&["ip"]).is_some() {
        return match cursor.expect(&AFTER_IP)? {
            "dscp" => Ok(of_version(4, dscps(cursor)?)),
            "precedence" => Ok(of_version(4, precedences(cursor)?)),
            _ => {
                // `match ip rtp LOWEST RANGE`: even UDP ports.
                let low = cursor.small("lowest port", 2000, 65535)?;
                let range = cursor.small("number of ports", 0, 16383)?;
                let ports = PortRange {
                    low: u16::try_from(low).unwrap_or(u16::MAX),
                    high: u16::try_from(low.saturating_add(range)).unwrap_or(u16::MAX),
                };
                Ok(Match::All(vec![Match::IpProtocol(17), Match::DestinationPort(ports)]))
            }
        };
    }
    plain(cursor)
}

/// Parses the arguments of `match` without `not`.
fn plain(cursor: &mut Cursor<'_>) -> Result<Match, Trouble> {
    const KNOWN: [&str; 16] = [
        "vlan",
        "traffic-class",
        "ipv4",
        "ipv6",
        "dscp",
        "precedence",
        "mpls",
        "access-group",
        "protocol",
        "cos",
        "class-map",
        "any",
        "input-interface",
        "qos-group",
        "ip",
        "not",
    ];
    match cursor.expect(&KNOWN)? {
        keyword @ ("dscp" | "precedence") => {
            // IOS XR states the version after the field.
            let version = cursor.one_of(&["ipv4", "ipv6"]);
            let codes = if keyword == "dscp" { dscps(cursor)? } else { precedences(cursor)? };
            Ok(match version {
                Some(version) => of_version(if version == "ipv6" { 6 } else { 4 }, codes),
                None => codes,
            })
        }
        "mpls" => {
            let _ = cursor.expect(&["experimental"])?;
            let _ = cursor.one_of(&["topmost"]);
            cursor.numbers("MPLS traffic class", 7).map(Match::Experimental)
        }
        "access-group" => {
            // An access list may be called "name" or "n", so this word is the keyword only if another one follows.
            let mut ahead = cursor.clone();
            if ahead.one_of(&["name"]).is_some() && !ahead.is_done() {
                *cursor = ahead;
            }
            Ok(Match::AccessList(cursor.name("name or number of the access list")?.text.to_owned()))
        }
        "protocol" => {
            // Words after the name, such as `audio` or `url "*.iso"`, are subclassifications.
            let mut name = cursor.name("name of the protocol")?.text.to_ascii_lowercase();
            while let Some(word) = cursor.take() {
                name.push(' ');
                name.push_str(&word.text.to_ascii_lowercase());
            }
            Ok(Match::Protocol(name))
        }
        "vlan" => vlans(cursor),
        "traffic-class" => cursor.small("traffic class", 0, 7).map(|class| Match::TrafficClass(class as u8)),
        "cos" => cursor.numbers("class of service", 7).map(Match::Cos),
        "class-map" => Ok(Match::ClassMap(cursor.name("name of the class map")?.text.to_owned())),
        "any" => Ok(Match::Any),
        "input-interface" => Ok(Match::InputInterface(cursor.rest())),
        "qos-group" => cursor.small("QoS group", 0, 1023).map(Match::QosGroup),
        version @ ("ip" | "ipv4" | "ipv6") => {
            let keyword = cursor.expect(&["dscp", "precedence"])?;
            let codes = if keyword == "dscp" { dscps(cursor)? } else { precedences(cursor)? };
            Ok(of_version(if version == "ipv6" { 6 } else { 4 }, codes))
        }
        _ => Err(Trouble::wrong(cursor.at(), "`not` is repeated", "write it once")),
    }
}

/// Returns a condition on the DS field, restricted to an IP version: with `ip`, a line matches IPv4 packets only,
/// without it both versions (Cisco IOS Quality of Service Solutions Command Reference, `match dscp`, `match
/// precedence`).
fn of_version(version: u8, codes: Match) -> Match {
    Match::All(vec![Match::Version(version), codes])
}

/// Parses the VLANs of `match vlan 100 200-210`, separated by commas or blanks.
fn vlans(cursor: &mut Cursor<'_>) -> Result<Match, Trouble> {
    let mut found = Vec::new();
    let at = cursor.at();
    if cursor.one_of(&["inner"]).is_some() {
        return Err(Trouble::unsupported(at, "the inner of two VLAN tags: the traffic table has the outer one"));
    }
    while let Some(word) = cursor.take() {
        for text in word.text.split(',').filter(|text| !text.is_empty()) {
            let (low, high) = text.split_once('-').unwrap_or((text, text));
            let number = |text: &str| text.parse::<u16>().ok().filter(|n| *n < 4095);
            let (Some(low), Some(high)) = (number(low), number(high)) else {
                return Err(Trouble::wrong(
                    word.at,
                    format!("`{text}` is not a VLAN"),
                    "write VLANs from 0 to 4094, or a range such as 200-210",
                ));
            };
            found.push(PortRange { low, high: high.max(low) });
        }
    }
    if found.is_empty() {
        return Err(Trouble::wrong(cursor.at(), "the number of the VLAN is missing", "write 0 to 4094"));
    }
    Ok(Match::Vlan(found))
}

/// `true` if `type queuing` follows, as on NX-OS.
pub(super) fn queuing(cursor: &Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    let is = |words: &[&str], word: Option<&str>| {
        word.is_some_and(|word| words.iter().any(|own| own.eq_ignore_ascii_case(word)))
    };
    is(&["type"], ahead.take().map(|word| word.text))
        && is(&["queuing", "queueing"], ahead.take().map(|word| word.text))
}

/// Parses `type TYPE`; returns the type. `None`: there is no `type`, or it is one of classification or queueing (NX-OS,
/// EOS), whose objects are read.
pub(super) fn typed(cursor: &mut Cursor<'_>) -> Result<Option<String>, Trouble> {
    let mut ahead = cursor.clone();
    if !ahead.take().is_some_and(|word| word.text.eq_ignore_ascii_case("type")) || ahead.is_done() {
        return Ok(None);
    }
    let kind = ahead.name("type")?.text.to_ascii_lowercase();
    *cursor = ahead;
    Ok((!["qos", "queuing", "queueing", "quality-of-service"].contains(&kind.as_str())).then_some(kind))
}

/// Takes one to eight DSCPs.
fn dscps(cursor: &mut Cursor<'_>) -> Result<Match, Trouble> {
    let mut found = vec![cursor.dscp()?];
    while !cursor.is_done() {
        if found.len() == 8 {
            return Err(Trouble::wrong(cursor.at(), "more than eight code points", "write a second `match` line"));
        }
        found.push(cursor.dscp()?);
    }
    Ok(Match::Dscp(found))
}

/// Takes the precedences up to the end of the line.
fn precedences(cursor: &mut Cursor<'_>) -> Result<Match, Trouble> {
    let mut found = vec![cursor.precedence()?];
    while !cursor.is_done() {
        found.push(cursor.precedence()?);
    }
    Ok(Match::Precedence(found))
}
