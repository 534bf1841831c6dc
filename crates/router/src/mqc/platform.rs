//! Defaults of the platforms. Each number has a public source; without one, the value of the most similar platform is
//! used, and its source is reported as unknown.

use crate::ir::{By, Platform, Unit};

/// Default queue limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Number of packets.
    Packets(u64),
    /// Amount of data that the class's rate transmits in a time.
    Time {
        /// Milliseconds.
        ms: u64,
        /// Packet size in bytes, by which the limit is converted to packets; 0: the limit counts bytes.
        packet: u64,
        /// Minimum limit in packets.
        least: u64,
    },
}

const QOS_REFERENCE: &str = "Cisco IOS Quality of Service Solutions Command Reference";
const XE_DEPTH: &str = "Cisco IOS XE QoS Congestion Management Configuration Guide, chapter on queue limits";
const XR_DEPTH: &str = "Cisco IOS XR Modular QoS Command Reference, `queue-limit`";
const CAPTURE: &str = "public captures of `show policy-map interface` on IOS 15";
const UNKNOWN: &str = "unknown";

impl Platform {
    /// Returns the name of the platform in reports.
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
    /// `true` for data-centre switches, whose ports usually share one policy.
    pub(crate) fn has_switched_ports(self) -> bool {
        matches!(self, Platform::Nxos | Platform::Arista)
    }

    /// Returns the default queue limit of a class, in a priority queue if `priority`, and its source. IOS: 64 packets.
    /// IOS XE: 50 ms of packets of 1500 B, at least 64 packets; 512 packets in a priority queue. IOS XR: 100 ms of the
    /// class's rate, 10 ms in a priority queue.
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

    /// Returns the bytes for which a packet counts in a limit in packets, if the router limits memory: 256 B for IOS
    /// XR. `None`: it limits the number of packets.
    pub(crate) fn bytes_of_packet(self) -> Option<u64> {
        (self == Platform::Xr).then_some(256)
    }

    /// Returns the default limit of one flow in packets in the fair queue of a class with a limit of `limit` packets,
    /// and its source. HQF: a quarter of the limit (captures show "per-flow queue limit 16" with "queue limit 64
    /// packets"). Before HQF, each flow had 64, the congestive discard threshold of an interface's fair queue.
    pub(crate) fn per_flow(self, limit: u64) -> (u64, &'static str) {
        match self {
            Platform::Classic => (64, QOS_REFERENCE),
            Platform::Hqf => ((limit / 4).max(1), CAPTURE),
            Platform::Xe | Platform::Xr | Platform::Nxos | Platform::Arista => ((limit / 4).max(1), UNKNOWN),
        }
    }

    /// Returns the default thresholds of WRED for a value of the field: minimum, maximum, their unit, and the source.
    /// The maximum is always 40 packets. By DSCP, the minimum is 32, 28 or 24 for AF with drop precedence 1, 2 or 3, 36
    /// for EF and VA, and 20 plus 2 per precedence for class selectors and others, as in configurations that state the
    /// defaults; no public table was found. By precedence, captures of HQF show 20 to 34 in steps of 2; for the values
    /// before HQF (20, 22, 24, 26, 28, 31, 33, 35) no public source was found.
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

    /// `true` if classes with `bandwidth` share the excess equally instead of in proportion: the schedulers of ASR 1000
    /// and ISR 4000 have three parameters and share the excess equally, those of IOS two and share it in proportion
    /// (QoS Modular QoS Command-Line Interface Configuration Guide, IOS XE, "3-Level User-Defined Queuing Policy
    /// Support"). IOS XR: "The available bandwidth is equally distributed among those queueing classes that do not have
    /// the remaining bandwidth explicitly configured" (Modular QoS Command Reference for Cisco NCS 5500 Series and NCS
    /// 540 Series Routers, `bandwidth remaining`).
    pub(crate) fn shares_equally(self) -> bool {
        matches!(self, Platform::Xe | Platform::Xr)
    }
}

/// Returns the platform that a command reveals by its first three words; `None`: another command.
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
