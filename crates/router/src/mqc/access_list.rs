//! Access lists, numbered and named, standard and extended.

use super::reader::{Known, Mode, Reader};
use super::words::{Cursor, Trouble};
use crate::ir::{AccessEntry, AccessList, Match, Net, Net6, PortRange, port_named, protocol_named};
use core::net::{Ipv4Addr, Ipv6Addr};

impl Reader {
    /// Parses `access-list NUMBER …`, or with `negative` its `no` form.
    pub(super) fn numbered_access_list(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<(), Trouble> {
        let name = cursor.name("number of the access list")?;
        let number: u32 = name.text.parse().map_err(|_| {
            Trouble::wrong(
                name.at,
                format!("`{}` is not a number", name.text),
                "write 1 to 199 or 1300 to 2699, or use `ip access-list` with a name",
            )
        })?;
        let standard = match number {
            1..=99 | 1300..=1999 => true,
            100..=199 | 2000..=2699 => false,
            _ => return Err(Trouble::unsupported(name.at, format!("no IPv4 access list has the number {number}"))),
        };
        self.mode = Mode::Global;
        if negative && cursor.is_done() {
            return self.remove_list(name.text, name.at);
        }
        let list = self.find_or_create_list(name.text, standard, name.at);
        self.entry(list, cursor, negative)
    }

    /// Parses `ip access-list standard|extended NAME`, or with `negative` its `no` form, which removes the list.
    pub(super) fn named_access_list(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<(), Trouble> {
        let at = cursor.at();
        let keyword = cursor.expect(&["standard", "extended", "resequence", "logging"])?;
        if !matches!(keyword, "standard" | "extended") {
            return Err(Trouble::unsupported(at, format!("`ip access-list {keyword}`")));
        }
        let name = cursor.name("name of the access list")?;
        cursor.finish()?;
        if negative {
            self.mode = Mode::Global;
            return self.remove_list(name.text, name.at);
        }
        let index = self.find_or_create_list(name.text, keyword == "standard", name.at);
        self.mode = Mode::AccessList(index);
        Ok(())
    }

    /// Parses `ipv6 access-list NAME`, or with `negative` its `no` form, which removes the list.
    pub(super) fn ipv6_access_list(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<(), Trouble> {
        let name = cursor.name("name of the access list")?;
        cursor.finish()?;
        if negative {
            self.mode = Mode::Global;
            return self.remove_list(name.text, name.at);
        }
        let index = self.find_or_create_list(name.text, false, name.at);
        if let Some(list) = self.config.access_lists.get_mut(index) {
            list.ipv6 = true;
        }
        self.mode = Mode::AccessList(index);
        Ok(())
    }

    /// Handles a line in the mode of the access list with the index `list`. Keywords may be abbreviated.
    /// [`Known::No`]: the line belongs to another mode.
    pub(super) fn access_list_line(
        &mut self,
        list: usize,
        cursor: &mut Cursor<'_>,
        negative: bool,
    ) -> Result<Known, Trouble> {
        let Some(word) = cursor.peek() else { return Ok(Known::No) };
        let begins = |keyword: &str| {
            word.text.len() <= keyword.len()
                && keyword.get(..word.text.len()).is_some_and(|k| k.eq_ignore_ascii_case(word.text))
        };
        if !(cursor.is_number() || ["permit", "deny", "remark", "sequence"].into_iter().any(begins)) {
            return Ok(Known::No);
        }
        self.entry(list, cursor, negative)?;
        Ok(Known::Yes)
    }

    /// Returns the index of the list of that name; creates an empty list if there is none. `standard` is the kind of a
    /// new list only.
    fn find_or_create_list(&mut self, name: &str, standard: bool, at: crate::Place) -> usize {
        let found = self.config.access_lists.iter().position(|list| list.name == name);
        found.unwrap_or_else(|| {
            let list = AccessList { name: name.to_owned(), standard, ipv6: false, entries: Vec::new(), at };
            self.config.access_lists.push(list);
            self.config.access_lists.len() - 1
        })
    }

    /// Removes a list; the error says that there is none of that name.
    fn remove_list(&mut self, name: &str, at: crate::Place) -> Result<(), Trouble> {
        match self.config.access_lists.iter().position(|list| list.name == name) {
            Some(index) => {
                let _ = self.config.access_lists.remove(index);
                Ok(())
            }
            None => Err(Trouble::wrong(at, format!("there is no access list `{name}`"), "remove the line")),
        }
    }

    /// Parses an entry of the list with the index `list`: `[SEQUENCE] permit|deny …`, in an IPv6 list also
    /// `sequence SEQUENCE permit|deny …`; `remark` is ignored. With `negative` the entry is removed.
    fn entry(&mut self, list: usize, cursor: &mut Cursor<'_>, negative: bool) -> Result<(), Trouble> {
        let at = cursor.at();
        let sequence = if cursor.is_number() { Some(cursor.small("sequence number", 1, 2_147_483_647)?) } else { None };
        let Some((standard, ipv6)) = self.config.access_lists.get(list).map(|list| (list.standard, list.ipv6)) else {
            return Ok(());
        };
        // `sequence N permit …` of IPv6 lists.
        let sequence = match sequence {
            None if ipv6 && cursor.one_of(&["sequence"]).is_some() => {
                Some(cursor.small("sequence number", 1, 2_147_483_647)?)
            }
            other => other,
        };
        if negative
            && cursor.is_done()
            && let Some(sequence) = sequence
        {
            let entries = self.config.access_lists.get_mut(list).map(|list| &mut list.entries);
            let Some(entries) = entries else { return Ok(()) };
            let before = entries.len();
            entries.retain(|entry| entry.sequence != sequence);
            if entries.len() == before {
                return Err(Trouble::wrong(at, format!("there is no entry {sequence}"), "remove the line"));
            }
            return Ok(());
        }
        let permit = match cursor.expect(&["permit", "deny", "remark", "dynamic", "evaluate"])? {
            "permit" => true,
            "deny" => false,
            "remark" => {
                self.report.ignored(at, "remarks have no effect on queues");
                return Ok(());
            }
            other => return Err(Trouble::unsupported(at, format!("`{other}` in an access list"))),
        };
        let conditions = if standard { standard_conditions(cursor)? } else { extended_conditions(cursor, ipv6)? };
        while cursor.one_of(&["log", "log-input"]).is_some() {}
        cursor.finish()?;
        let Some(list) = self.config.access_lists.get_mut(list) else { return Ok(()) };
        if negative {
            let found = list.entries.iter().position(|entry| entry.permit == permit && entry.conditions == conditions);
            let Some(index) = found else {
                return Err(Trouble::wrong(at, "there is no such entry", "remove the line"));
            };
            let _ = list.entries.remove(index);
            return Ok(());
        }
        let last = list.entries.last().map_or(0, |entry| entry.sequence);
        let sequence = sequence.unwrap_or_else(|| last.saturating_add(10));
        let entry = AccessEntry { sequence, permit, conditions, at };
        match list.entries.binary_search_by_key(&sequence, |entry| entry.sequence) {
            Ok(index) => {
                // A repeated line changes nothing.
                let is_same = |old: &AccessEntry| (old.permit, &old.conditions) == (permit, &entry.conditions);
                if !list.entries.get(index).is_some_and(is_same) {
                    return Err(Trouble::wrong(
                        at,
                        format!("entry {sequence} already exists and differs"),
                        "write another sequence number",
                    ));
                }
            }
            Err(index) => list.entries.insert(index, entry),
        }
        Ok(())
    }
}

/// Parses the conditions of an entry of a standard list: the source address.
fn standard_conditions(cursor: &mut Cursor<'_>) -> Result<Vec<Match>, Trouble> {
    Ok(omit_if_any(Match::Source(net(cursor, true)?)).into_iter().collect())
}

/// Parses the conditions of an entry of an extended or IPv6 list.
fn extended_conditions(cursor: &mut Cursor<'_>, ipv6: bool) -> Result<Vec<Match>, Trouble> {
    let word = cursor.name("protocol")?;
    let mut conditions = Vec::new();
    let number = match word.text.to_ascii_lowercase().as_str() {
        "ip" if !ipv6 => None,
        "ipv6" if ipv6 => None,
        "icmp" if ipv6 => Some(58),
        name => Some(protocol_named(name).ok_or_else(|| {
            Trouble::wrong(
                word.at,
                format!("`{}` is not a known IP protocol", word.text),
                format!("write {}, tcp, udp, icmp, or a number from 0 to 255", if ipv6 { "ipv6" } else { "ip" }),
            )
        })?),
    };
    conditions.extend(number.map(Match::IpProtocol));
    let has_ports = matches!(number, Some(6 | 17));
    conditions.extend(if ipv6 {
        net6(cursor)?.map(Match::Source6)
    } else {
        omit_if_any(Match::Source(net(cursor, false)?))
    });
    if has_ports {
        conditions.extend(ports(cursor, Match::SourcePort)?);
    }
    conditions.extend(if ipv6 {
        net6(cursor)?.map(Match::Destination6)
    } else {
        omit_if_any(Match::Destination(net(cursor, false)?))
    });
    if has_ports {
        conditions.extend(ports(cursor, Match::DestinationPort)?);
    }
    while let Some(word) = cursor.peek() {
        match word.text.to_ascii_lowercase().as_str() {
            "dscp" => {
                let _ = cursor.take();
                conditions.push(Match::Dscp(vec![cursor.dscp()?]));
            }
            "precedence" => {
                let _ = cursor.take();
                conditions.push(Match::Precedence(vec![cursor.precedence()?]));
            }
            "log" | "log-input" => break,
            other => return Err(Trouble::unsupported(word.at, format!("`{other}` in an access list"))),
        }
    }
    Ok(conditions)
}

/// Returns a condition on addresses; `None`: every address matches it.
fn omit_if_any(condition: Match) -> Option<Match> {
    match condition {
        Match::Source(Net::ANY) | Match::Destination(Net::ANY) => None,
        other => Some(other),
    }
}

/// Parses `any`, `host ADDRESS` or `PREFIX/LENGTH` of IPv6; `None`: the word `any`.
fn net6(cursor: &mut Cursor<'_>) -> Result<Option<Net6>, Trouble> {
    let word = cursor.name("IPv6 address")?;
    let wrong = |word: super::words::Word<'_>| {
        let advice = "write any, host 2001:db8::1 or 2001:db8::/32";
        Trouble::wrong(word.at, format!("`{}` is not an IPv6 address or prefix", word.text), advice)
    };
    if word.text.eq_ignore_ascii_case("any") {
        return Ok(None);
    }
    if word.text.eq_ignore_ascii_case("host") {
        let word = cursor.name("IPv6 address")?;
        let address: Ipv6Addr = word.text.parse().map_err(|_| wrong(word))?;
        return Ok(Net6::prefix(address.into(), 128));
    }
    let (address, length) = word.text.split_once('/').ok_or_else(|| wrong(word))?;
    let address: Ipv6Addr = address.parse().map_err(|_| wrong(word))?;
    let length = length.parse().ok().and_then(|length| Net6::prefix(address.into(), length));
    length.map(Some).ok_or_else(|| wrong(word))
}

/// Parses `any`, `host ADDRESS` or `ADDRESS WILDCARD`; in a standard list also `ADDRESS`. Bits that the wildcard ignores
/// are cleared in the address. A wildcard that looks like a network mask is an error.
fn net(cursor: &mut Cursor<'_>, standard: bool) -> Result<Net, Trouble> {
    let word = cursor.name("address")?;
    match word.text.to_ascii_lowercase().as_str() {
        "any" => return Ok(Net::ANY),
        "host" => return Ok(Net { address: address(cursor)?, wildcard: 0 }),
        "object-group" => return Err(Trouble::unsupported(word.at, "object groups")),
        _ => {}
    }
    let address: Ipv4Addr = word.text.parse().map_err(|_| {
        Trouble::wrong(
            word.at,
            format!("`{}` is not an IPv4 address", word.text),
            "write any, host 10.0.0.1 or 10.0.0.0 0.0.0.255",
        )
    })?;
    let has_wildcard = cursor.is_number();
    if standard && !has_wildcard {
        return Ok(Net { address: address.into(), wildcard: 0 });
    }
    let at = cursor.at();
    let wildcard: u32 = self::address(cursor)?;
    let mask = Net { address: 0, wildcard: !wildcard };
    // A network mask of 8 to 31 bits: as a wildcard, it would ignore the network and compare the hosts.
    if wildcard.leading_ones() > 7 && mask.length().is_some() && wildcard != u32::MAX {
        return Err(Trouble::wrong(
            at,
            format!("{} looks like a network mask", Ipv4Addr::from(wildcard)),
            format!("access lists take wildcards: write {}", Ipv4Addr::from(!wildcard)),
        ));
    }
    Ok(Net { address: u32::from(address) & !wildcard, wildcard })
}

/// Takes an IPv4 address.
fn address(cursor: &mut Cursor<'_>) -> Result<u32, Trouble> {
    let word = cursor.name("address")?;
    let parsed: Result<Ipv4Addr, _> = word.text.parse();
    parsed.map(u32::from).map_err(|_| {
        Trouble::wrong(
            word.at,
            format!("`{}` is not an IPv4 address", word.text),
            "write four numbers, such as 10.0.0.1",
        )
    })
}

/// Parses `eq`, `neq`, `gt`, `lt` or `range` with its ports. Returns at most one condition; none if another word
/// follows.
fn ports(cursor: &mut Cursor<'_>, condition: fn(PortRange) -> Match) -> Result<Vec<Match>, Trouble> {
    let Some(word) = cursor.peek() else { return Ok(Vec::new()) };
    let operator = word.text.to_ascii_lowercase();
    let range = |low: u16, high: u16| condition(PortRange { low, high });
    let found = match operator.as_str() {
        "eq" | "neq" => {
            let _ = cursor.take();
            let first = port(cursor)?;
            let mut all = vec![range(first, first)];
            while cursor.peek().is_some_and(|word| port_named(word.text).is_some()) {
                let next = port(cursor)?;
                all.push(range(next, next));
            }
            let is_single = all.len() == 1;
            let any = if is_single { all.pop().unwrap_or(Match::Any) } else { Match::AnyOf(all) };
            if operator == "eq" { any } else { Match::Not(Box::new(any)) }
        }
        "gt" => {
            let _ = cursor.take();
            let at = cursor.at();
            let low = port(cursor)?.checked_add(1);
            range(
                low.ok_or_else(|| Trouble::wrong(at, "no port is above 65535", "write a port below 65535"))?,
                u16::MAX,
            )
        }
        "lt" => {
            let _ = cursor.take();
            let at = cursor.at();
            let high = port(cursor)?.checked_sub(1);
            range(0, high.ok_or_else(|| Trouble::wrong(at, "no port is below 0", "write a port above 0"))?)
        }
        "range" => {
            let _ = cursor.take();
            let at = cursor.at();
            let (low, high) = (port(cursor)?, port(cursor)?);
            if low > high {
                return Err(Trouble::wrong(
                    at,
                    format!("the first port, {low}, is above the second, {high}"),
                    "write the lower port first",
                ));
            }
            range(low, high)
        }
        _ => return Ok(Vec::new()),
    };
    Ok(vec![found])
}

/// Takes a port, by number or name.
fn port(cursor: &mut Cursor<'_>) -> Result<u16, Trouble> {
    let word = cursor.name("port")?;
    port_named(word.text).ok_or_else(|| {
        Trouble::wrong(
            word.at,
            format!("`{}` is not a valid port", word.text),
            "write 0 to 65535, or a name such as www",
        )
    })
}
