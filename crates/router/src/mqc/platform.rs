//! What routers do where a configuration is silent, by family. Each number has its public source; where there is none, the
//! value of the nearest family is taken and the import says so.

use crate::ir::{By, Unit};
use serde::Serialize;

/// A family of routers and switches with the same defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Platform {
    /// IOS before the hierarchical queueing framework, before 12.4(20)T.
    Classic,
    /// IOS 12.4(20)T to 15: the hierarchical queueing framework (HQF).
    #[default]
    Hqf,
    /// IOS XE, as on ASR 1000 and ISR 4000; Catalyst 9000 has its words and other buffers.
    Xe,
    /// IOS XR.
    Xr,
    /// NX-OS.
    Nxos,
    /// Arista EOS.
    Arista,
}

/// A limit by default, and where that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Packets.
    Packets(u64),
    /// Milliseconds at the class's rate, in packets of so many bytes, and packets at least.
    Time {
        /// Milliseconds.
        ms: u64,
        /// Bytes of a packet; 0 where the limit counts bytes.
        packet: u64,
        /// Packets at least.
        least: u64,
    },
}

const QOS_REFERENCE: &str = "Cisco IOS Quality of Service Solutions Command Reference";
const XE_DEPTH: &str = "Cisco IOS XE QoS Congestion Management Configuration Guide, chapter on queue limits";
const XR_DEPTH: &str = "Cisco IOS XR Modular QoS Command Reference, `queue-limit`";
const CAPTURE: &str = "public captures of `show policy-map interface` on IOS 15";
const UNKNOWN: &str = "unknown";

impl Platform {
    /// Of that name: classic, hqf, xe, xr, nxos or arista.
    pub fn named(name: &str) -> Option<Platform> {
        Some(match name.to_ascii_lowercase().as_str() {
            "classic" => Platform::Classic,
            "hqf" => Platform::Hqf,
            "xe" => Platform::Xe,
            "xr" => Platform::Xr,
            "nxos" => Platform::Nxos,
            "arista" => Platform::Arista,
            _ => return None,
        })
    }
    /// What users call it.
    pub fn title(self) -> &'static str {
        match self {
            Platform::Classic => "IOS before 12.4(20)T",
            Platform::Hqf => "IOS 12.4(20)T to 15",
            Platform::Xe => "IOS XE",
            Platform::Xr => "IOS XR",
            Platform::Nxos => "NX-OS",
            Platform::Arista => "EOS",
        }
    }
    /// Whether its ports usually have one policy for all: a switch in a data centre.
    pub(crate) fn has_switched_ports(self) -> bool {
        matches!(self, Platform::Nxos | Platform::Arista)
    }

    /// How much may wait in a class by default, and the source.
    /// IOS: 64 packets. IOS XE: 50 ms of packets of 1500 B, 64 packets at least; 512 packets in a priority queue. IOS XR: 100 ms
    /// of the class's rate, 10 ms in a priority queue.
    pub(crate) fn depth(self, priority: bool) -> (Depth, &'static str) {
        match (self, priority) {
            (Platform::Classic | Platform::Hqf, _) => (Depth::Packets(64), QOS_REFERENCE),
            (Platform::Xe, true) => (Depth::Packets(512), XE_DEPTH),
            (Platform::Xe, false) => (Depth::Time { ms: 50, packet: 1500, least: 64 }, XE_DEPTH),
            (Platform::Xr, true) => (Depth::Time { ms: 10, packet: 0, least: 1 }, XR_DEPTH),
            (Platform::Xr, false) => (Depth::Time { ms: 100, packet: 0, least: 1 }, XR_DEPTH),
            // Switches share the memory of their chips by dynamic thresholds.
            (Platform::Nxos | Platform::Arista, _) => (Depth::Packets(64), UNKNOWN),
        }
    }

    /// Bytes that a limit in packets stands for, where the router counts memory: IOS XR takes packets as 256 B.
    pub(crate) fn bytes_of_packet(self) -> Option<u64> {
        (self == Platform::Xr).then_some(256)
    }

    /// Packets of one flow in a class's fair queue, of a class that holds `limit`, and the source. HQF: a quarter of the limit
    /// (captures show "per-flow queue limit 16" beside "queue limit 64 packets"). Before, each flow had 64, as the congestive
    /// discard threshold of an interface's fair queue has.
    pub(crate) fn per_flow(self, limit: u64) -> (u64, &'static str) {
        match self {
            Platform::Classic => (64, QOS_REFERENCE),
            Platform::Hqf => ((limit / 4).max(1), CAPTURE),
            Platform::Xe | Platform::Xr | Platform::Nxos | Platform::Arista => ((limit / 4).max(1), UNKNOWN),
        }
    }

    /// Thresholds of weighted random early detection by default: minimum and maximum, what they count, and the source.
    /// Code points of assured forwarding have 32, 28 and 24 by drop precedence, EF 36, class selectors and others 20 + 2 for each
    /// precedence, all of 40: so configurations write them that state the defaults; no public table was found. By precedence, captures
    /// of HQF show 20 to 34 by twos; 20, 22, 24, 26, 28, 31, 33, 35 before it has no public source that was found.
    pub(crate) fn thresholds(self, by: By, code: u8) -> (u32, u32, Unit, &'static str) {
        const OLD: [u32; 8] = [20, 22, 24, 26, 28, 31, 33, 35];
        let precedence = code >> 3;
        let min = match by {
            By::Precedence if self == Platform::Classic => OLD.get(usize::from(code)).copied().unwrap_or(20),
            By::Precedence => 20 + 2 * u32::from(code.min(7)),
            By::Dscp => match (code, code & 7) {
                (46 | 44, _) => 36,
                (8..40, drop @ (2 | 4 | 6)) => 36 - 2 * u32::from(drop),
                _ => 20 + 2 * u32::from(precedence),
            },
        };
        let known = by == By::Precedence && self == Platform::Hqf;
        (min, 40, Unit::Packets, if known { CAPTURE } else { UNKNOWN })
    }

    /// Whether classes with `bandwidth` share in equal parts what others leave, instead of in proportion: the schedulers of ASR
    /// 1000 and ISR 4000 have three parameters and share the excess equally, those of IOS two and share it in proportion (QoS
    /// Modular QoS Command-Line Interface Configuration Guide, IOS XE, "3-Level User-Defined Queuing Policy Support"). IOS XR: "The
    /// available bandwidth is equally distributed among those queueing classes that do not have the remaining bandwidth
    /// explicitly configured" (Modular QoS Command Reference for Cisco NCS 5500 Series and NCS 540 Series Routers, `bandwidth
    /// remaining`).
    pub(crate) fn shares_equally(self) -> bool {
        matches!(self, Platform::Xe | Platform::Xr)
    }
}

/// The platform that a text cannot but be of.
pub(super) fn evident(word: &str, second: &str, third: &str) -> Option<Platform> {
    let (word, second, third) = (word.to_ascii_lowercase(), second.to_ascii_lowercase(), third.to_ascii_lowercase());
    match (word.as_str(), second.as_str(), third.as_str()) {
        ("end-policy-map" | "end-class-map" | "route-policy" | "prefix-set", ..) => Some(Platform::Xr),
        ("policy-map" | "class-map", "type", "queuing") => Some(Platform::Nxos),
        ("feature", ..) | ("system", "qos", _) => Some(Platform::Nxos),
        ("policy-map" | "class-map", "type", "quality-of-service") | ("tx-queue", ..) => Some(Platform::Arista),
        ("queue-buffers", "ratio", _) => Some(Platform::Xe),
        ("platform", "qos" | "hardware", _) | ("license", "boot", "level") => Some(Platform::Xe),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_by_code_point_fall_with_the_drop_precedence_and_rise_with_the_class_selector() {
        let table = [
            (10, 32),
            (12, 28),
            (14, 24),
            (26, 32),
            (28, 28),
            (30, 24),
            (38, 24),
            (8, 22),
            (24, 26),
            (40, 30),
            (46, 36),
            (0, 20),
        ];
        for (code, min) in table {
            assert_eq!(Platform::Hqf.thresholds(By::Dscp, code).0, min, "{code}");
        }
    }
}
