//! `interface`: rates, policies, and what there was before policies.

use super::policy_map::{kilobits, no_random_detect, random_detect};
use super::words::{Cursor, Trouble};
use super::{Known, Mode, Reader};
use crate::ir::{Class, Fair, Medium, Port, Queue};

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

    pub(super) fn interface_line(
        &mut self,
        port: usize,
        cursor: &mut Cursor<'_>,
        negative: bool,
    ) -> Result<Known, Trouble> {
        let at = cursor.at();
        let keyword = match Reader::keyword(cursor, &COMMANDS) {
            Ok(keyword) => keyword,
            // A router prefers the mode that it is in; a whole command of the outer mode is meant so.
            Err(known) => return Ok(known),
        };
        // "ip access-list" and "mpls ip" are global commands, though "ip" begins commands of interfaces as well.
        if keyword == "ip" && cursor.clone().one_of(&["access-list", "access-group", "address"]) == Some("access-list")
        {
            return Ok(Known::No);
        }
        let Some(own) = self.config.ports.get_mut(port) else { return Ok(Known::No) };
        match keyword {
            "service-policy" => {
                let input = cursor.expect(&["input", "output"])? == "input";
                let name = if negative && cursor.is_done() {
                    None
                } else {
                    Some(cursor.name("name of the policy")?.text.to_owned())
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
                let rate = kilobits(cursor)?;
                cursor.finish()?;
                own.bandwidth = Some(rate);
            }
            "speed" => {
                if let Some(word) = cursor.take()
                    && let Ok(megabits) = word.text.parse::<u64>()
                {
                    own.rate = megabits.checked_mul(1_000_000).filter(|rate| (1..=super::HIGHEST_RATE).contains(rate));
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
                        *number = Some(cursor.small("number of the fair queue", 0, 65536)?);
                    }
                }
                cursor.finish()?;
                let [threshold, queues, reservable] = numbers;
                own.root.queue = Queue::Fair(Fair { threshold, queues, reservable });
            }
            "hold-queue" => {
                let packets = if cursor.is_number() { Some(cursor.small("length", 0, 240_000)?) } else { None };
                if cursor.one_of(&["in", "out"]) == Some("in") {
                    self.report.ignored(at, "the input queue is that of the processor");
                } else {
                    own.hold = packets.filter(|_| !negative);
                }
            }
            "tx-ring-limit" => own.ring = if negative { None } else { Some(cursor.small("length", 1, 32767)?) },
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
            "traffic-shape" | "rate-limit" | "custom-queue-list" | "frame-relay" | "pvc" | "vbr-nrt" | "ubr"
            | "switchport" | "mls" | "dsl" | "queue-limit" | "tx-queue-limit" => {
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
        self.mode = Mode::Interface(port);
        Ok(Known::Yes)
    }
}

/// Kinds of interfaces by how their names begin, with the rate of the line where the name tells it. `Ethernet` is 10 Mbit/s on
/// old routers and anything on NX-OS and EOS: it tells no rate.
const KINDS: [(&str, Medium, Option<u64>); 27] = [
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

/// What the name of an interface tells.
pub(super) fn kind(name: &str) -> (Medium, Option<u64>) {
    let lower = name.to_ascii_lowercase();
    KINDS
        .iter()
        .find(|(prefix, ..)| lower.starts_with(prefix))
        .map_or((Medium::Unknown, None), |(_, medium, rate)| (*medium, *rate))
}

impl Port {
    /// Whether the port does anything that is worth a simulation.
    pub fn has_policy(&self) -> bool {
        self.root != Class::default() || self.input.is_some() || self.hold.is_some() || self.ring.is_some()
    }
}
