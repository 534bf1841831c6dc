//! Random early detection (RED) as in Linux.

use crate::ir::{Limit, Red};
use serde_json::{Value, json};

/// Returns the discipline of RED as in `sch_red`: counted in bytes, not gentle, with the weight of the average computed
/// from the burst in packets that may pass.
pub(super) fn red_discipline(red: Red, limit: Option<Limit>) -> Value {
    let limit = if let Some(Limit::Bytes(bytes)) = limit { bytes } else { 1 << 20 };
    let max = red.max.unwrap_or(limit / 4).max(2);
    let min = red.min.unwrap_or(max / 3).clamp(1, max);
    let packet = red.avpkt.unwrap_or(1000).max(1);
    let probability = red.probability.map_or(0.02, |p| f64::from(p) / 1e6);
    let burst = red.burst.unwrap_or_else(|| (2 * min + max) / (3 * packet)).max(1);
    if red.instant {
        return json!({
            "kind": "red",
            "count": "bytes",
            "byte-mode": false,
            "gentle": false,
            "independent": true,
            "weight": 1.0,
            "min": format!("{min}B"),
            "max": format!("{max}B"),
            "max-p": probability,
            "ecn": red.ecn,
            "above-max": if red.ecn && !red.hard { "mark" } else { "drop" },
        });
    }
    let mut made = json!({
        "kind": "red",
        "count": "bytes",
        "byte-mode": false,
        "gentle": false,
        // `red_mark_probability`: a packet is marked when p times the packets since the last mark reaches a uniform number.
        "wait": false,
        "min": format!("{min}B"),
        "max": format!("{max}B"),
        "mean-packet": format!("{packet}B"),
        "max-p": probability,
        "ecn": red.ecn,
        // `red_enqueue`, RED_HARD_MARK: ECN-capable packets are marked unless harddrop is set.
        "above-max": if red.ecn && !red.hard { "mark" } else { "drop" },
    });
    if let Some(weight) = weight(burst, min, packet) {
        made["weight"] = json!(weight);
    }
    if red.adaptive {
        made["adaptive"] = json!({ "kind": "floyd" });
    }
    made
}

/// Returns the weight 2^-w of the average that tc selects (`tc_red_eval_ewma`): the smallest w for which `burst`
/// packets of `packet` bytes into an empty queue keep the average below `min` bytes. `None`: there is no such w below
/// 32.
pub(crate) fn weight(burst: u64, min: u64, packet: u64) -> Option<f64> {
    let a = burst as f64 + 1.0 - min as f64 / packet as f64;
    if a < 1.0 {
        return None;
    }
    let mut weight = 0.5f64;
    for _ in 1..32 {
        // (1 - (1 - W)^burst)/W by repeated multiplication, without transcendental functions.
        let mut power = 1.0f64;
        for _ in 0..burst.min(100_000) {
            power *= 1.0 - weight;
        }
        if a <= (1.0 - power) / weight {
            return Some(weight);
        }
        weight *= 0.5;
    }
    None
}
