//! Filters by u32 and by ematch (`basic`): values and masks at offsets of the packet.
//!
//! As in iproute2 (`f_u32.c`): a value is decimal, hexadecimal after `0x` or octal after `0`; a mask is hexadecimal
//! with or without a prefix. Conditions on ports compare the four bytes at offset 20, without a check of the protocol.

use super::args::{Args, Trouble};
use super::units;
use crate::Place;
use crate::ir::{Match, Net, Net6, PortRange};
use core::net::{Ipv4Addr, Ipv6Addr};

/// Header from whose beginning an offset counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    /// IPv4 header.
    Network,
    /// Transport header.
    Transport,
}

/// Conditions of a filter, all of which must hold.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    found: Vec<Match>,
    /// `true` if the filter's protocol is IPv6.
    v6: bool,
}

impl Conditions {
    /// Returns the conditions of a filter for that IP version; `None`: a filter for all protocols.
    pub fn of(version: Option<u8>) -> Conditions {
        Conditions { found: version.map(Match::Version).into_iter().collect(), v6: version == Some(6) }
    }
    /// Restricts the filter to IPv4, unless it is for IPv6. Without the restriction, a filter for all protocols would
    /// also be evaluated on packets without an IPv4 header, where its fields have no meaning.
    fn of_ipv4(&mut self) {
        if !self.v6 && !self.found.contains(&Match::Version(4)) {
            self.found.insert(0, Match::Version(4));
        }
    }
    /// Returns the conditions in the order of the filter.
    pub fn into_vec(self) -> Vec<Match> {
        self.found
    }

    /// Parses `match …`, any number of times.
    pub fn u32(&mut self, args: &mut Args<'_>) -> Result<(), Trouble> {
        loop {
            if !args.take_if("match") {
                let word = args.peek().map_or("", |word| word.text.as_str());
                if matches!(word, "ht" | "link" | "hashkey" | "divisor" | "offset" | "order" | "sample") {
                    return Err(Trouble::unsupported(args.at(), "hash tables of u32"));
                }
                return Ok(());
            }
            let at = args.at();
            let selector = args.word("selector")?;
            match selector.text.as_str() {
                "ip" if !self.v6 => {
                    self.of_ipv4();
                    self.ip(args)?;
                }
                "ip" | "ip6" if (selector.text == "ip6") == self.v6 => self.ip6(args)?,
                "ip" | "ip6" => {
                    return Err(Trouble::unsupported(at, "fields of another IP version than the filter's `protocol`"));
                }
                "tcp" | "udp" => {
                    let side = args.word("src or dst")?;
                    match side.text.as_str() {
                        "src" => self.port(args, Match::SourcePort)?,
                        "dst" => self.port(args, Match::DestinationPort)?,
                        other => return Err(Trouble::unsupported(side.at, format!("`{other}` of u32"))),
                    }
                }
                "mark" => {
                    let (value, mask) = (args.key(u64::from(u32::MAX))?, args.mask(u64::from(u32::MAX))?);
                    self.found.push(mark(value as u32, mask as u32));
                }
                "u32" | "u16" | "u8" => self.raw(at, &selector.text, args)?,
                other => return Err(Trouble::unsupported(at, format!("the selector `{other}` of u32"))),
            }
        }
    }

    /// Parses `FIELD VALUE MASK` after `match ip`.
    fn ip(&mut self, args: &mut Args<'_>) -> Result<(), Trouble> {
        let field = args.word("field")?;
        match field.text.as_str() {
            "dsfield" | "tos" | "dscp" | "precedence" => {
                let (value, mask) = (args.key(0xff)?, args.mask(0xff)?);
                self.found.extend(ds_field(value, mask));
            }
            "protocol" => self.protocol(args)?,
            "sport" => self.port(args, Match::SourcePort)?,
            "dport" => self.port(args, Match::DestinationPort)?,
            "src" => self.found.push(Match::Source(net(args)?)),
            "dst" => self.found.push(Match::Destination(net(args)?)),
            other => return Err(Trouble::unsupported(field.at, format!("the field `{other}`"))),
        }
        Ok(())
    }

    /// Parses `FIELD VALUE MASK` after `match ip6`.
    fn ip6(&mut self, args: &mut Args<'_>) -> Result<(), Trouble> {
        let field = args.word("field")?;
        match field.text.as_str() {
            // `priority` is the traffic class, whose bits are those of the DS field (`parse_ip6_class` in `f_u32.c`).
            "priority" => {
                let (value, mask) = (args.key(0xff)?, args.mask(0xff)?);
                self.found.extend(ds_field(value, mask));
            }
            "protocol" => self.protocol(args)?,
            // The ports are expected after a header of 40 bytes; packets with extension headers are not distinguished.
            "sport" => self.port(args, Match::SourcePort)?,
            "dport" => self.port(args, Match::DestinationPort)?,
            "flowlabel" => {
                let (at, _, mask) = (args.at(), args.key(0xfffff)?, args.mask(0xfffff)?);
                if mask != 0 {
                    return Err(Trouble::unsupported(at, "flow labels, which the traffic table does not have"));
                }
            }
            "src" => self.found.push(Match::Source6(net6(args)?)),
            "dst" => self.found.push(Match::Destination6(net6(args)?)),
            other => return Err(Trouble::unsupported(field.at, format!("the field `{other}` of IPv6"))),
        }
        Ok(())
    }

    /// Parses `VALUE MASK` of the IP protocol; the mask is 0 or 0xff.
    fn protocol(&mut self, args: &mut Args<'_>) -> Result<(), Trouble> {
        let (at, value, mask) = (args.at(), args.key(0xff)?, args.mask(0xff)?);
        match mask {
            0 => {}
            0xff => self.found.push(Match::IpProtocol(value as u8)),
            _ => return Err(Trouble::unsupported(at, "a partial mask of the IP protocol")),
        }
        Ok(())
    }

    /// Parses `VALUE MASK` of a port; `condition` makes the condition on the ports.
    fn port(&mut self, args: &mut Args<'_>, condition: fn(PortRange) -> Match) -> Result<(), Trouble> {
        let (at, value, mask) = (args.at(), args.key(0xffff)?, args.mask(0xffff)?);
        self.found.extend(ports(value as u16, mask as u16, at)?.map(condition));
        Ok(())
    }

    /// Parses `u8|u16|u32 VALUE MASK [at [nexthdr+]OFFSET]`.
    fn raw(&mut self, at: Place, width: &str, args: &mut Args<'_>) -> Result<(), Trouble> {
        let (bytes, max) = match width {
            "u8" => (1, 0xff),
            "u16" => (2, 0xffff),
            _ => (4, u64::from(u32::MAX)),
        };
        let (value, mask) = (args.key(max)?, args.mask(max)?);
        let (mut from, mut offset) = (Layer::Network, 0);
        if args.take_if("at") {
            let word = args.word("offset")?;
            let digits = word.text.strip_prefix("nexthdr+").inspect(|_| from = Layer::Transport).unwrap_or(&word.text);
            let found = units::based(digits).filter(|offset| *offset < 1 << 16);
            let wrong = || Trouble::unsupported(word.at, format!("the offset `{}`", word.text));
            offset = found.ok_or_else(wrong)?;
        }
        if self.v6 && mask != 0 {
            return Err(Trouble::unsupported(
                at,
                "bytes of an IPv6 packet by offset: write `match ip6` with the name of the field",
            ));
        }
        if mask != 0 {
            self.of_ipv4();
        }
        self.bytes(from, offset, bytes, value, mask).ok_or_else(|| {
            Trouble::unsupported(at, "bytes of the packet other than DS field, protocol, addresses and ports")
        })
    }

    /// Adds the conditions on the `width` bytes at an offset; `None`: a byte of the mask is not in a supported field.
    fn bytes(&mut self, from: Layer, offset: u64, width: u64, value: u64, mask: u64) -> Option<()> {
        let value = value & mask;
        let part = |byte: u64| {
            let shift = 8 * (width - 1 - byte);
            (value >> shift & 0xff, mask >> shift & 0xff)
        };
        let (mut source, mut destination) = (Net::ANY, Net::ANY);
        let (mut from_port, mut to_port) = ((0u64, 0u64), (0u64, 0u64));
        for byte in 0..width {
            let (value, mask) = part(byte);
            if mask == 0 {
                continue;
            }
            // The IPv4 header has 20 bytes.
            let offset = offset + byte + if from == Layer::Transport { 20 } else { 0 };
            let address = |net: &mut Net, first: u64| {
                let shift = 24 - 8 * (offset - first) as u32;
                net.address |= (value as u32) << shift;
                net.wildcard &= !((mask as u32) << shift);
            };
            match offset {
                // Version 4 and a header length of 20 bytes, which all packets have here.
                0 if value == 0x45 & mask => {}
                1 => self.found.extend(ds_field(value, mask)),
                9 if mask == 0xff => self.found.push(Match::IpProtocol(value as u8)),
                12..=15 => address(&mut source, 12),
                16..=19 => address(&mut destination, 16),
                // Ports, after a header without options.
                20 | 22 => {
                    let port = if offset == 20 { &mut from_port } else { &mut to_port };
                    *port = (port.0 | value << 8, port.1 | mask << 8);
                }
                21 | 23 => {
                    let port = if offset == 21 { &mut from_port } else { &mut to_port };
                    *port = (port.0 | value, port.1 | mask);
                }
                _ => return None,
            }
        }
        if source != Net::ANY {
            self.found.push(Match::Source(source));
        }
        if destination != Net::ANY {
            self.found.push(Match::Destination(destination));
        }
        for ((value, mask), condition) in [
            (from_port, Match::SourcePort as fn(PortRange) -> Match),
            (to_port, Match::DestinationPort as fn(PortRange) -> Match),
        ] {
            self.found.extend(ports(value as u16, mask as u16, Place::default()).ok()?.map(condition));
        }
        Some(())
    }

    /// Parses `cmp(u8 at 1 layer network mask 0xfc eq 0xb8) [and …]` (tc-ematch(8)).
    pub fn ematch(&mut self, args: &mut Args<'_>) -> Result<(), Trouble> {
        let at = args.at();
        let mut text = String::new();
        while let Some(word) = args.peek() {
            if matches!(word.text.as_str(), "flowid" | "classid" | "action" | "police") {
                break;
            }
            text.push_str(&word.text);
            text.push(' ');
            let _ = args.take();
        }
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut words = spaced.split_whitespace();
        let unknown = || Trouble::unsupported(at, "this ematch: only `cmp(… eq …)`, joined by `and`, is supported");
        loop {
            if words.next() != Some("cmp") || words.next() != Some("(") {
                return Err(unknown());
            }
            let inner: Vec<&str> = words.by_ref().take_while(|word| *word != ")").collect();
            self.cmp(&inner).ok_or_else(unknown)?;
            match words.next() {
                None => return Ok(()),
                Some("and" | "AND" | "&&") => {}
                Some(_) => return Err(unknown()),
            }
        }
    }

    /// Adds the condition of the arguments of `cmp`; `None`: they are unsupported.
    fn cmp(&mut self, words: &[&str]) -> Option<()> {
        let (width, rest) = match words {
            ["u8", "at", rest @ ..] => (1, rest),
            ["u16", "at", rest @ ..] => (2, rest),
            ["u32", "at", rest @ ..] => (4, rest),
            _ => return None,
        };
        let (offset, mut rest) = rest.split_first()?;
        let offset = units::based(offset).filter(|offset| *offset < 1 << 16)?;
        let (mut from, mut mask) = (None, u64::MAX >> (64 - 8 * width));
        while let [word, value, after @ ..] = rest {
            match *word {
                "layer" => {
                    from = match *value {
                        "network" | "1" => Some(Layer::Network),
                        "transport" | "tcp" | "2" => Some(Layer::Transport),
                        _ => return None,
                    }
                }
                "mask" => mask &= units::based(value)?,
                "eq" if after.is_empty() => {
                    // Without a layer, the offset counts from the link header, whose length is not known here.
                    let value = units::based(value)?;
                    if self.v6 {
                        return None;
                    }
                    self.of_ipv4();
                    return (value <= mask).then(|| self.bytes(from?, offset, width, value, mask)).flatten();
                }
                _ => return None,
            }
            rest = after;
        }
        None
    }
}

/// Returns the condition that a firewall mark equals `value` in the bits of `mask`.
pub(super) fn mark(value: u32, mask: u32) -> Match {
    Match::FirewallMark { value: value & mask, mask }
}

/// Returns the ports that equal `value` in the bits of `mask`; `None`: all ports. It is an error if the mask is not a
/// prefix, since the ports are then not a range.
fn ports(value: u16, mask: u16, at: Place) -> Result<Option<PortRange>, Trouble> {
    if mask == 0 {
        return Ok(None);
    }
    if mask.leading_ones() + mask.trailing_zeros() != 16 {
        return Err(Trouble::unsupported(at, "a mask of ports that is not a prefix"));
    }
    Ok(Some(PortRange { low: value & mask, high: (value & mask) | !mask }))
}

/// Returns the condition that the DS field equals `value` in the bits of `mask`, as one on the DSCP or the precedence
/// if possible; `None`: all packets meet it.
pub(super) fn ds_field(value: u64, mask: u64) -> Option<Match> {
    let (value, mask) = ((value & 0xff) as u8, (mask & 0xff) as u8);
    Some(match mask {
        0 => return None,
        // The DSCP alone, or with the ECN bits 0, which the packets are assumed to have.
        0xfc | 0xff if mask == 0xfc || value & 3 == 0 => Match::Dscp(vec![value >> 2]),
        0xe0 => Match::Precedence(vec![value >> 5]),
        _ => Match::DsField { value: value & mask, mask },
    })
}

/// Takes an IPv4 network, such as `10.0.0.0/8`.
pub(super) fn net(args: &mut Args<'_>) -> Result<Net, Trouble> {
    let word = args.word("network")?;
    network(&word.text).ok_or_else(|| {
        Trouble::wrong(
            word.at,
            format!("`{}` is not an IPv4 network", word.text),
            "write an address with a prefix length from 0 to 32, such as 10.0.0.0/8",
        )
    })
}

/// Takes an IPv6 network, such as `2001:db8::/32`.
pub(super) fn net6(args: &mut Args<'_>) -> Result<Net6, Trouble> {
    let word = args.word("network")?;
    network6(&word.text).ok_or_else(|| {
        Trouble::wrong(
            word.at,
            format!("`{}` is not an IPv6 network", word.text),
            "write an address with a prefix length from 0 to 128, such as 2001:db8::/32",
        )
    })
}

/// Parses `any`, `all`, `ADDRESS` or `ADDRESS/LENGTH` of IPv6; `None`: other text.
pub(super) fn network6(text: &str) -> Option<Net6> {
    let (address, length) = text.split_once('/').unwrap_or((text, "128"));
    if matches!(address, "any" | "all") {
        return Net6::prefix(0, 0);
    }
    let address: Ipv6Addr = address.parse().ok()?;
    Net6::prefix(address.into(), length.parse().ok()?)
}

/// Parses `any`, `all`, `ADDRESS`, `ADDRESS/LENGTH` or `ADDRESS/MASK` of IPv4; `None`: other text.
pub(crate) fn network(text: &str) -> Option<Net> {
    let (address, length) = text.split_once('/').unwrap_or((text, "32"));
    if matches!(address, "any" | "all") {
        return Some(Net::ANY);
    }
    let parsed: Option<Ipv4Addr> = address.parse().ok();
    if let Ok(mask) = length.parse::<Ipv4Addr>() {
        let wildcard = !u32::from(mask);
        return parsed.map(|address| Net { address: u32::from(address) & !wildcard, wildcard });
    }
    parsed.zip(length.parse().ok()).and_then(|(address, length)| Net::prefix(address.into(), length))
}

impl Args<'_> {
    /// Takes a value of u32, 0 to `max`.
    fn key(&mut self, max: u64) -> Result<u64, Trouble> {
        let word = self.word("value")?;
        let found = units::based(&word.text).filter(|value| *value <= max);
        found.ok_or_else(|| {
            let message = format!("`{}` is not a value up to {max:#x}", word.text);
            Trouble::wrong(word.at, message, "write an integer: decimal, hexadecimal after 0x, or octal after 0")
        })
    }
    /// Takes a hexadecimal mask of u32, 0 to `max`.
    fn mask(&mut self, max: u64) -> Result<u64, Trouble> {
        let word = self.word("mask")?;
        let digits = word.text.trim_start_matches("0x");
        let found = u64::from_str_radix(digits, 16).ok().filter(|mask| *mask <= max);
        found.ok_or_else(|| {
            let message = format!("`{}` is not a mask up to {max:#x}", word.text);
            Trouble::wrong(word.at, message, "write a hexadecimal number, with or without 0x, such as 0xff")
        })
    }
}
