//! `interface`: rates, attached policies, and queueing commands that predate policy maps.

use super::policy_map::kilobits;
use super::queue_lines::{no_random_detect, random_detect};
use super::reader::{Effect, Known, Mode, Named, Reader};
use super::words::{Cursor, Trouble};
use crate::ir::{Class, Fair, Medium, Net, Port, Queue};
use core::net::Ipv4Addr;

/// Commands of an interface, which may be abbreviated.
const COMMANDS: [&str; 46] = [
    "service-policy",
    "bandwidth",
    "fair-queue",
    "hold-queue",
    "tx-ring-limit",
    "max-reserved-bandwidth",
    "random-detect",
    "priority-group",
    "encapsulation",
    "speed",
    "clock",
    "description",
    "ip",
    "ipv6",
    "shutdown",
    "duplex",
    "mtu",
    "mpls",
    "load-interval",
    "keepalive",
    "no",
    "frame-relay",
    "ppp",
    "pvc",
    "vbr-nrt",
    "ubr",
    "cdp",
    "negotiation",
    "switchport",
    "vrf",
    "media-type",
    "logging",
    "delay",
    "custom-queue-list",
    "traffic-shape",
    "rate-limit",
    "tx-queue-limit",
    "dialer",
    "channel-group",
    "standby",
    "carrier-delay",
    "arp",
    "dsl",
    "spanning-tree",
    "mls",
    "queue-limit",
];
/// Commands of an interface that are recognised unabbreviated only, so that they make no abbreviation ambiguous.
const RARE: [&str; 21] = [
    "shape",
    "tx-queue",
    "tunnel",
    "qos",
    "nhrp",
    "service",
    "srr-queue",
    "wrr-queue",
    "priority-queue",
    "queue-set",
    "trust",
    "auto",
    "compress",
    "priority-flow-control",
    "flowcontrol",
    "vlan-id",
    "ipv4",
    // Commands of permanent virtual circuits.
    "cbr",
    "protocol",
    "oam",
    "oam-pvc",
];

/// Commands of an interface, with their first arguments, that add queues, or fragment or compress packets.
const QUEUEING: [(&str, &[&str]); 9] = [
    ("ip", &["rtp", "priority"]),
    ("ip", &["rtp", "reserve"]),
    ("ip", &["rtp", "header-compression"]),
    ("ip", &["tcp", "header-compression"]),
    ("ip", &["rsvp"]),
    ("ppp", &["multilink", "interleave"]),
    ("ppp", &["multilink", "fragment"]),
    ("ppp", &["multilink", "multiclass"]),
    ("frame-relay", &[]),
];
/// Arguments of `frame-relay` without effect on queues.
const FRAME_RELAY: [&str; 4] = ["lmi-type", "intf-type", "map", "interface-dlci"];

impl Reader {
    /// `interface NAME`
    pub(super) fn interface(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<(), Trouble> {
        let at = cursor.at();
        let mut name = cursor.name("name of the interface")?.text.to_owned();
        // "interface Serial 0/0" is the same as "interface Serial0/0".
        if cursor.is_number() {
            name.push_str(cursor.name("number of the interface")?.text);
        }
        let _ = cursor.one_of(&["point-to-point", "multipoint"]);
        cursor.finish()?;
        let found = self.config.ports.iter().position(|port| port.name == name);
        if negative {
            self.mode = Mode::Global;
            return match found {
                Some(index) => {
                    let _ = self.config.ports.remove(index);
                    Ok(())
                }
                None => Err(Trouble::wrong(at, format!("there is no interface `{name}`"), "remove the line")),
            };
        }
        let index = found.unwrap_or_else(|| {
            let (medium, rate) = kind(&name);
            self.config.ports.push(Port { name, medium, rate, at, ..Port::default() });
            self.config.ports.len() - 1
        });
        self.mode = Mode::Interface(index);
        Ok(())
    }

    /// Handles a line in the mode of an interface.
    pub(super) fn interface_line(
        &mut self,
        port: usize,
        cursor: &mut Cursor<'_>,
        negative: bool,
    ) -> Result<Known, Trouble> {
        let at = cursor.at();
        let keyword = match Reader::keyword_or(cursor, &COMMANDS, &RARE) {
            Ok(keyword) => keyword,
            Err(known) => return Ok(known),
        };
        // `ip access-list` is a global command, although `ip` begins commands of interfaces, too.
        if keyword == "ip" && cursor.clone().one_of(&["access-list", "access-group", "address"]) == Some("access-list")
        {
            return Ok(Known::No);
        }
        let Some(own) = self.config.ports.get(port) else { return Ok(Known::No) };
        if let Some(message) = queueing(keyword, cursor).filter(|_| !negative) {
            if message.contains("nhrp") {
                // The policy is attached to the tunnels to a group's members, so it is not limited to this interface.
                self.report.enter(crate::Scope::Everything);
            }
            return Err(Trouble::unsupported(at, format!("`{message}` on an interface")));
        }
        // A line takes effect completely or not at all.
        let mut made = own.clone();
        let own = &mut made;
        match keyword {
            "service-policy" => {
                let queuing = super::class_map::queuing(cursor);
                if let Some(kind) = super::class_map::typed(cursor)? {
                    return Err(Trouble::unsupported(at, format!("a policy of type `{kind}`")));
                }
                let input = cursor.expect(&["input", "output"])? == "input";
                let name = if negative && cursor.is_done() {
                    None
                } else {
                    let name = cursor.name("name of the policy")?;
                    Some(self.own_name(Named::Policy, queuing, name.text))
                };
                cursor.finish()?;
                match (input, negative) {
                    (true, false) => own.input = name,
                    (true, true) => own.input = None,
                    (false, false) => own.root.queue = Queue::Policy(name.unwrap_or_default()),
                    (false, true) => own.root.queue = Queue::Fifo,
                }
            }
            "bandwidth" if negative => own.bandwidth = None,
            "bandwidth" => {
                let _ = cursor.one_of(&["inherit"]);
                // Percentages of policies refer to this rate, independently of the `bandwidth` of routing protocols
                // (IOS XE, "QoS: Tunnel reference bandwidth").
                let reference = cursor.one_of(&["qos-reference"]).is_some();
                let rate = kilobits(cursor)?;
                cursor.finish()?;
                if reference {
                    let _ = self.referenced.insert(port);
                }
                if reference || !self.referenced.contains(&port) {
                    own.bandwidth = Some(rate);
                }
            }
            "shape" => {
                let shape = super::policy_map::shape(cursor)?;
                own.root.shape = Some(shape).filter(|_| !negative);
            }
            "ip" | "ipv4" if cursor.clone().one_of(&["address"]).is_some() => {
                own.networks.extend(network(cursor).filter(|_| !negative));
                self.report.ignored(at, format!("`{keyword} address` has no effect on queues"));
                let _ = cursor.rest();
            }
            "tx-queue" => {
                self.open("tx-queue".to_owned(), Effect::Queues, at);
                return Err(Trouble::unsupported(at, "the queues of a port by number (EOS)"));
            }
            "speed" => {
                // `speed auto` keeps the rate of the interface type. EOS has `speed forced 1000full`.
                if cursor.is_number() {
                    own.rate = Some(cursor.rate("speed in Mbit/s", 1_000_000)?);
                } else {
                    let _ = cursor.rest();
                }
            }
            "clock" => {
                let _ = cursor.expect(&["rate"])?;
                let rate = cursor.bits_per_second()?;
                cursor.finish()?;
                own.rate = Some(rate);
            }
            "fair-queue" if negative => own.root.queue = Queue::Fifo,
            "fair-queue" => {
                let mut numbers = [None; 3];
                for number in &mut numbers {
                    if cursor.is_number() {
                        *number = Some(cursor.small("parameter of fair-queue", 0, 65536)?);
                    }
                }
                cursor.finish()?;
                let [threshold, queues, reservable] = numbers;
                own.root.queue = Queue::Fair(Fair { threshold, queues, reservable });
            }
            "hold-queue" => {
                let packets =
                    if cursor.is_number() { Some(cursor.small("queue length in packets", 0, 240_000)?) } else { None };
                if cursor.one_of(&["in", "out"]) == Some("in") {
                    self.report.ignored(at, "the input hold queue affects only packets that the processor handles");
                } else {
                    own.hold = packets.filter(|_| !negative);
                }
            }
            "tx-ring-limit" => {
                own.ring = if negative { None } else { Some(cursor.small("ring length in packets", 1, 32767)?) }
            }
            "max-reserved-bandwidth" => {
                own.reservable = if negative { None } else { Some(cursor.small("percentage", 1, 100)?) };
            }
            "random-detect" if negative => no_random_detect(&mut own.root.wred, cursor)?,
            "random-detect" => random_detect(&mut own.root.wred, cursor)?,
            "priority-group" => {
                let number = if cursor.is_done() { 0 } else { cursor.small("number of the priority list", 1, 16)? };
                own.root.queue = if negative { Queue::Fifo } else { Queue::Policy(super::legacy::policy_name(number)) };
            }
            "encapsulation" => {
                let text = cursor.rest().to_ascii_lowercase();
                if text.starts_with("dot1q") && own.medium == Medium::Ethernet {
                    own.medium = if negative { Medium::Ethernet } else { Medium::Dot1q };
                }
                own.encapsulation = Some(text).filter(|_| !negative);
            }
            "pvc" if !negative => {
                let circuit = cursor.rest();
                let known = self.circuits.entry(port).or_insert_with(|| circuit.clone());
                if *known != circuit {
                    // Its lines would be applied to the first circuit.
                    return Err(Trouble::unsupported(at, "a second virtual circuit of an interface"));
                }
            }
            "vbr-nrt" | "ubr" | "cbr" if own.medium == Medium::Atm => {
                // Peak and sustained cell rate in kbit/s, including headers (Cisco, "Understanding the VBR-nrt Service
                // Category and Traffic Shaping for ATM VCs").
                let mut rates = [None; 2];
                for rate in &mut rates {
                    if cursor.is_number() {
                        *rate = Some(cursor.rate("rate in kbit/s", 1_000)?);
                    }
                }
                let [peak, sustained] = rates;
                if sustained.is_some_and(|sustained| Some(sustained) != peak) {
                    return Err(Trouble::unsupported(
                        at,
                        "a virtual circuit whose peak rate exceeds its sustained rate",
                    ));
                }
                if cursor.is_number() {
                    let _ = cursor.small("cells in a burst", 1, 65_535)?;
                }
                own.rate = peak.filter(|_| !negative);
            }
            "traffic-shape"
            | "rate-limit"
            | "custom-queue-list"
            | "vbr-nrt"
            | "ubr"
            | "cbr"
            | "mls"
            | "dsl"
            | "queue-limit"
            | "tx-queue-limit"
            | "srr-queue"
            | "wrr-queue"
            | "priority-queue"
            | "queue-set"
            | "trust"
            | "auto"
            | "compress"
            | "priority-flow-control"
            | "flowcontrol"
            | "service"
            | "nhrp"
                if !negative =>
            {
                return Err(Trouble::unsupported(at, format!("`{keyword}` on an interface")));
            }
            _ => {
                if keyword != "description" && negative && cursor.is_done() && keyword == "shutdown" {
                    return Ok(Known::Yes);
                }
                self.report.ignored(at, format!("`{keyword}` has no effect on queues"));
                let _ = cursor.rest();
            }
        }
        cursor.finish()?;
        if let Some(own) = self.config.ports.get_mut(port) {
            *own = made;
        }
        self.mode = Mode::Interface(port);
        Ok(Known::Yes)
    }
}

/// Returns the command, cut to 60 characters, if it configures queues, fragmentation or compression. `None`: it has no
/// effect on queues, as most commands with this keyword.
fn queueing(keyword: &'static str, cursor: &Cursor<'_>) -> Option<String> {
    let text = cursor.clone().rest().to_ascii_lowercase();
    let words: Vec<&str> = text.split(' ').collect();
    let found = match keyword {
        "frame-relay" => !words.first().is_some_and(|word| FRAME_RELAY.contains(word)),
        "qos" => words.first() != Some(&"pre-classify"),
        "ip" | "nhrp" if words.contains(&"service-policy") => true,
        _ => QUEUEING.iter().any(|(first, more)| *first == keyword && !more.is_empty() && words.starts_with(more)),
    };
    found.then(|| format!("{keyword} {text}").chars().take(60).collect())
}

/// Parses `address A.B.C.D MASK` or `address A.B.C.D/LENGTH`; returns the network.
fn network(cursor: &mut Cursor<'_>) -> Option<Net> {
    let _ = cursor.take();
    let word = cursor.take()?;
    if let Some((address, length)) = word.text.split_once('/') {
        return Net::prefix(address.parse::<Ipv4Addr>().ok()?.into(), length.parse().ok()?);
    }
    let address: u32 = word.text.parse::<Ipv4Addr>().ok()?.into();
    let mask: u32 = cursor.take()?.text.parse::<Ipv4Addr>().ok()?.into();
    Some(Net { address: address & mask, wildcard: !mask })
}

/// Interface types by the prefix of their names, with the link rate in bit/s if the type determines it. `Ethernet` does
/// not: it is 10 Mbit/s on old routers, and any rate on NX-OS and EOS.
const KINDS: [(&str, Medium, Option<u64>); 28] = [
    ("twentyfivegig", Medium::Ethernet, Some(25_000_000_000)),
    ("twe", Medium::Ethernet, Some(25_000_000_000)),
    ("twogigabit", Medium::Ethernet, Some(2_500_000_000)),
    ("tw", Medium::Ethernet, Some(2_500_000_000)),
    ("fivegigabit", Medium::Ethernet, Some(5_000_000_000)),
    ("fi", Medium::Ethernet, Some(5_000_000_000)),
    ("tengig", Medium::Ethernet, Some(10_000_000_000)),
    ("te", Medium::Ethernet, Some(10_000_000_000)),
    ("fortygig", Medium::Ethernet, Some(40_000_000_000)),
    ("fourhundredgig", Medium::Ethernet, Some(400_000_000_000)),
    ("fou", Medium::Ethernet, Some(400_000_000_000)),
    ("fo", Medium::Ethernet, Some(40_000_000_000)),
    ("hundredgig", Medium::Ethernet, Some(100_000_000_000)),
    ("hu", Medium::Ethernet, Some(100_000_000_000)),
    ("gi", Medium::Ethernet, Some(1_000_000_000)),
    ("fa", Medium::Ethernet, Some(100_000_000)),
    ("et", Medium::Ethernet, None),
    ("port-channel", Medium::Ethernet, None),
    // Packet over SONET: PPP or HDLC (RFC 2615). Longer prefixes precede `po`, the abbreviation of Port-channel.
    ("pos", Medium::Serial, None),
    ("po", Medium::Ethernet, None),
    ("bundle-ether", Medium::Ethernet, None),
    ("vlan", Medium::Ethernet, None),
    ("se", Medium::Serial, None),
    ("mu", Medium::Serial, None),
    ("atm", Medium::Atm, None),
    ("tu", Medium::Tunnel, None),
    ("dialer", Medium::Pppoe, None),
    ("di", Medium::Pppoe, None),
];

/// Returns the type of link and the rate in bit/s of an interface by its name; `None`: the name does not determine the
/// rate.
pub(super) fn kind(name: &str) -> (Medium, Option<u64>) {
    let lower = name.to_ascii_lowercase();
    KINDS
        .iter()
        .find(|(prefix, ..)| lower.starts_with(prefix))
        .map_or((Medium::Unknown, None), |(_, medium, rate)| (*medium, *rate))
}

impl Port {
    /// `true` if the port has a policy, a shaper or a stated queue.
    pub fn has_policy(&self) -> bool {
        self.root != Class::default() || self.hold.is_some() || self.ring.is_some()
    }
}
