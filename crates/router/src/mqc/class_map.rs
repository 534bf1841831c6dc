//! `class-map`: named conditions.

use super::words::{Cursor, Trouble};
use super::{Known, Mode, Reader};
use crate::ir::{ClassMap, Match};

impl Reader {
    /// `class-map [match-all|match-any] NAME`
    pub(super) fn class_map(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<(), Trouble> {
        let at = cursor.at();
        let mut all = true;
        // "type" is of other features than queueing, such as inspection.
        let mode = cursor.peek().map_or("", |word| word.text).to_ascii_lowercase();
        if mode == "type" {
            self.mode = Mode::Foreign("class-map type");
            return Err(Trouble::unsupported(at, "class maps with a type are not about queues"));
        }
        if mode.starts_with("match-a") && mode.len() > 7 {
            all = cursor.expect(&["match-all", "match-any"])? == "match-all";
        }
        let name = cursor.name("name of the class map")?;
        cursor.finish()?;
        let found = self.config.class_maps.iter().position(|map| map.name == name.text);
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
            let map = ClassMap { name: name.text.to_owned(), all, conditions: Vec::new(), at };
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
                    map.conditions.push(condition);
                }
            }
            "description" => self.report.ignored(at, "a description"),
            _ => return Err(Trouble::unsupported(at, format!("`{keyword}` is not supported here"))),
        }
        Ok(Known::Yes)
    }
}

/// What follows `match`.
fn condition(cursor: &mut Cursor<'_>) -> Result<Match, Trouble> {
    const AFTER_IP: [&str; 3] = ["dscp", "precedence", "rtp"];
    if cursor.peek().is_some_and(|word| word.text.eq_ignore_ascii_case("not")) {
        let _ = cursor.take();
        return Ok(Match::Not(Box::new(plain(cursor)?)));
    }
    if cursor.one_of(&["ip"]).is_some() {
        return match cursor.expect(&AFTER_IP)? {
            "dscp" => dscps(cursor),
            "precedence" => precedences(cursor),
            _ => {
                // `match ip rtp LOWEST RANGE`: even UDP ports.
                let low = cursor.small("lowest port", 2000, 65535)?;
                let range = cursor.small("number of ports", 0, 16383)?;
                let ports = crate::ir::PortRange {
                    low: u16::try_from(low).unwrap_or(u16::MAX),
                    high: u16::try_from(low.saturating_add(range)).unwrap_or(u16::MAX),
                };
                Ok(Match::All(vec![Match::IpProtocol(17), Match::DestinationPort(ports)]))
            }
        };
    }
    plain(cursor)
}

fn plain(cursor: &mut Cursor<'_>) -> Result<Match, Trouble> {
    const KNOWN: [&str; 12] = [
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
        "dscp" => dscps(cursor),
        "precedence" => precedences(cursor),
        "mpls" => {
            let _ = cursor.expect(&["experimental"])?;
            let _ = cursor.one_of(&["topmost"]);
            cursor.numbers("MPLS traffic class", 7).map(Match::Experimental)
        }
        "access-group" => {
            // A list may be called "name" or "n": only the keyword before a further word is one.
            let mut ahead = cursor.clone();
            if ahead.one_of(&["name"]).is_some() && !ahead.is_done() {
                *cursor = ahead;
            }
            Ok(Match::AccessList(cursor.name("name or number of the access list")?.text.to_owned()))
        }
        "protocol" => Ok(Match::Protocol(cursor.name("name of the protocol")?.text.to_ascii_lowercase())),
        "cos" => cursor.numbers("class of service", 7).map(Match::Cos),
        "class-map" => Ok(Match::ClassMap(cursor.name("name of the class map")?.text.to_owned())),
        "any" => Ok(Match::Any),
        "input-interface" => Ok(Match::InputInterface(cursor.rest())),
        "qos-group" => cursor.small("QoS group", 0, 1023).map(Match::QosGroup),
        "ip" => {
            let keyword = cursor.expect(&["dscp", "precedence"])?;
            if keyword == "dscp" { dscps(cursor) } else { precedences(cursor) }
        }
        _ => Err(Trouble::wrong(cursor.at(), "`not` stands twice", "write it once")),
    }
}

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

fn precedences(cursor: &mut Cursor<'_>) -> Result<Match, Trouble> {
    let mut found = vec![cursor.precedence()?];
    while !cursor.is_done() {
        found.push(cursor.precedence()?);
    }
    Ok(Match::Precedence(found))
}
