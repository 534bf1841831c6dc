//! Commands and blocks of other features: those without effect on queues, and unsupported ones.

use super::reader::{Block, Effect, Mode, Named, Reader};
use super::words::{Cursor, Trouble};
use crate::Place;

/// Global commands without effect on queues, unabbreviated as in a running configuration. Routing, access to the
/// router, inspection, telephony and management determine the path of packets and their admission, but not their
/// departure times. Sources: Cisco IOS Master Command List, the command references of NX-OS and IOS XR.
const NO_EFFECT: &[&str] = &[
    "aaa",
    "absolute-timeout",
    "alias",
    "antivirus",
    "archive",
    "arp",
    "as-path-set",
    "authentication",
    "autonomic",
    "bfd",
    "bgp",
    "boot-end-marker",
    "boot-start-marker",
    "bootflash",
    "bridge",
    "buffers",
    "call",
    "call-home",
    "card",
    "cdp",
    "cef",
    "chat-script",
    "clns",
    "cns",
    "commit",
    "community-set",
    "control-plane",
    "controller",
    "crypto",
    "cts",
    "device-tracking",
    "diagnostic",
    "dial-peer",
    "dialer-list",
    "domain",
    "dot11",
    "dot1x",
    "eigrp",
    "environment",
    "errdisable",
    "ethernet",
    "event",
    "evpn",
    "exception",
    "fabricpath",
    "facility-alarm",
    "feature",
    "file",
    "flow",
    "ftp",
    "gatekeeper",
    "gateway",
    "hardware",
    "http",
    "hw-module",
    "identity",
    "ip-sla",
    "ipc",
    "isdn",
    "isis",
    "key",
    "kron",
    "l2vpn",
    "lacp",
    "ldap",
    "ldp",
    "license",
    "line",
    "lldp",
    "login",
    "lpts",
    "mac",
    "mac-address-table",
    "macro",
    "management",
    "memory",
    "memory-size",
    "modemcap",
    "module",
    "monitor",
    "mta",
    "multicast",
    "multicast-routing",
    "multilink",
    "nat",
    "netconf",
    "netconf-yang",
    "network-clock",
    "nv",
    "nve",
    "nxapi",
    "object-group",
    "object-group-search",
    "ospf",
    "parameter-map",
    "parser",
    "password",
    "pim",
    "pki",
    "port-channel",
    "port-security",
    "power",
    "prefix-set",
    "privilege",
    "process",
    "radius",
    "radius-server",
    "redundancy",
    "resource",
    "restconf",
    "rmon",
    "role",
    "root",
    "router",
    "rsvp",
    "scheduler",
    "scripting",
    "security",
    "segment-routing",
    "service-instance",
    "sip-ua",
    "sla",
    "snmp",
    "sntp",
    "stack-mac",
    "subscriber",
    "switch",
    "tacacs",
    "tacacs-server",
    "tag-set",
    "tcp",
    "telemetry",
    "telephony-service",
    "telnet",
    "terminal",
    "tftp-server",
    "time-range",
    "track",
    "transceiver",
    "transport",
    "tunnel",
    "udld",
    "udp",
    "upgrade",
    "username",
    "vdc",
    "virtual-profile",
    "vlan",
    "voice",
    "voice-card",
    "voice-port",
    "vpc",
    "vpdn",
    "vpdn-group",
    "vrf",
    "vstack",
    "vtp",
    "webvpn",
    "wireless",
    "wsma",
    "xconnect",
    "xml",
    "zone",
    "zone-pair",
    "ztp",
];
/// Commands whose blocks may mark packets.
const MARKING: &[&str] = &["route-map", "route-policy"];
/// Unsupported commands that shape, queue, mark or drop packets.
const QUEUEING: &[&str] = &[
    "map-class",
    "queue-list",
    "qos",
    "platform",
    "template",
    "virtual-template",
    "hqos",
    "wrr-queue",
    "priority-queue",
    "policer",
    "rate-limit",
    "queue-monitor",
    "mls",
];

impl Reader {
    /// Opens a block of the command `what` at `at`; the current mode continues after it.
    pub(super) fn open(&mut self, what: String, effect: Effect, at: Place) {
        let back = match core::mem::take(&mut self.mode) {
            Mode::Foreign(block) => block.back,
            other => Box::new(other),
        };
        self.mode = Mode::Foreign(Block { what, effect, column: at.column, back });
    }

    /// Handles a global command of another feature, given by its first word; `false`: the word is unknown.
    pub(super) fn foreign(&mut self, cursor: &mut Cursor<'_>) -> bool {
        let Some(word) = cursor.peek() else { return false };
        let lower = word.text.to_ascii_lowercase();
        let is = |words: &[&str]| words.contains(&lower.as_str());
        if lower == "system" && cursor.clone().second_is("qos") {
            self.report.ignored(word.at, "the lines under it apply to all interfaces");
            self.open("system qos".to_owned(), Effect::System, word.at);
        } else if is(NO_EFFECT) || lower == "system" {
            self.report.ignored(word.at, format!("`{lower}` and the lines under it have no effect on queues"));
            self.open(lower, Effect::None, word.at);
        } else if is(MARKING) {
            self.report.ignored(word.at, format!("`{lower}` has no effect on queues unless it marks packets"));
            self.open(lower, Effect::Marks, word.at);
        } else if is(QUEUEING) {
            self.report.unsupported(word.at, format!("`{lower}` has no counterpart here"), None);
            self.open(lower, Effect::Queues, word.at);
        } else {
            return false;
        }
        let _ = cursor.rest();
        true
    }

    /// Handles a line of a block that no mode accepts.
    pub(super) fn foreign_line(&mut self, block: &Block, cursor: &Cursor<'_>) {
        let at = cursor.at();
        match block.effect {
            Effect::None => {}
            Effect::Marks => {
                let mut words = cursor.clone();
                let text = words.rest().to_ascii_lowercase();
                let marks =
                    ["dscp", "precedence", "tos", "qos-group", "traffic-class", "experimental", "discard-class"];
                if text.contains("set ") && marks.iter().any(|mark| text.contains(mark)) {
                    self.report.unsupported(at, format!("`{}` marks packets", block.what), None);
                }
            }
            Effect::Queues | Effect::System => self.report.unsupported(at, format!("a line of `{}`", block.what), None),
        }
    }

    /// Handles `class-map type …` or `policy-map type …` of another feature.
    pub(super) fn foreign_type(&mut self, what: &str, kind: &str, at: Place) -> Trouble {
        // `network-qos` sets buffers, pause frames and MTUs of NX-OS; the others inspect, route or protect the router.
        let queues = kind == "network-qos";
        let effect = if queues { Effect::Queues } else { Effect::None };
        self.open(format!("{what} type {kind}"), effect, Place::new(at.line, 1));
        if queues {
            return Trouble::unsupported(at, format!("`{what} type {kind}` sets buffers and pause frames"));
        }
        Trouble::ignored(at, format!("`{what} type {kind}` and the lines under it have no effect on queues"))
    }

    /// Handles `service-policy …` under `system qos`; `false`: another command.
    pub(super) fn system_line(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<bool, Trouble> {
        if cursor.one_of(&["service-policy"]).is_none() {
            return Ok(false);
        }
        let queuing = super::class_map::queuing(cursor);
        if let Some(kind) = super::class_map::typed(cursor)? {
            return Err(Trouble::unsupported(cursor.at(), format!("a policy of type `{kind}` for all interfaces")));
        }
        let input = cursor.expect(&["input", "output"])? == "input";
        let name = cursor.name("name of the policy")?;
        cursor.finish()?;
        let name = self.own_name(Named::Policy, queuing, name.text);
        let slot = if input { &mut self.system.0 } else { &mut self.system.1 };
        *slot = Some(name).filter(|_| !negative);
        Ok(true)
    }
}
