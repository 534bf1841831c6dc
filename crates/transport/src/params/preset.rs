//! Parameter `preset`: defaults of a system for the parameters that are not written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Set of defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Preset {
    /// Linux 6.1 with its default settings (`net/ipv4`).
    #[serde(rename = "linux-6.1")]
    Linux61,
}

/// Congestion controls that have the form "linux".
const CONTROLS: [&str; 4] = ["reno", "cubic", "dctcp", "bbr"];

impl Preset {
    /// Adds the defaults of the preset to the table of a connection, below what is written there. A preset that is
    /// unknown adds nothing: decoding then refuses it.
    pub fn complete(table: &mut Map<String, Value>) {
        let Some(preset) = table.get("preset") else { return };
        if serde_json::from_value::<Preset>(preset.clone()).is_ok() {
            let defaults = linux(table);
            add(table, &defaults);
        }
    }
}

/// Returns the defaults of Linux 6.1 for what `table` does not have; the functions are those of the kernel.
fn linux(table: &Map<String, Value>) -> Map<String, Value> {
    let kind = |key: &str, usual: &'static str| -> String {
        let written = table.get(key).and_then(|value| value.get("kind")).and_then(Value::as_str);
        written.unwrap_or(usual).to_owned()
    };
    let control = kind("congestion-control", "cubic");
    let mut defaults = json!({
        // `TCP_INIT_CWND`.
        "initial-window": 10,
        // `tcp_is_cwnd_limited`, `tcp_cwnd_validate`.
        "window-validation": "round",
        // `tcp_event_data_recv`, `tcp_send_delayed_ack`, `__tcp_ack_snd_check`.
        "delayed-ack": { "form": "linux" },
        // `tcp_rtt_estimator`: four variations are at least `TCP_RTO_MIN`; `TCP_TIMEOUT_INIT`; `TCP_RTO_MAX`; `HZ` is 250
        // in most distributions.
        "timers": { "form": "linux", "granularity": "200ms", "min-rto": "200ms", "initial-rto": "1s", "max-rto": "120s",
            "tick": "4ms" },
        // `tcp_ecn_clear_syn`.
        "ecn-fallback": true,
        // `tcp_enter_cwr`: the threshold is at least 2, so that an echo does not lead to a window of 1.
        "ecn-floor": "none",
        // `tcp_process_loss`.
        "spurious-timeout": "f-rto",
        // `tcp_cong_control`.
        "congestion-control": { "kind": control },
    });
    // `tcp_ecn_send`, `tcp_ecn_send_syn`: all packets of DCTCP are ECN-capable, apart from SYN-ACKs.
    for key in ["ecn-retransmissions", "ecn-control"] {
        defaults[key] = (control == "dctcp").into();
    }
    // `tcp_rmem`; a constant window takes its place.
    let is_null = |key: &str| table.get(key).is_none_or(Value::is_null);
    if is_null("receive-window") && table.get("handshake") != Some(&false.into()) && kind("recovery", "sack") == "sack"
    {
        defaults["receive-buffer"] = json!({ "initial": "131072B", "max": "6291456B" });
    }
    if CONTROLS.contains(&control.as_str()) {
        defaults["congestion-control"]["form"] = "linux".into();
    }
    if kind("recovery", "sack") == "sack" {
        // `tcp_cwnd_reduction`, `tcp_enter_loss`; `tcp_try_undo_dsack`.
        defaults["recovery"] = json!({ "kind": "sack", "form": "linux" });
        defaults["dsack-undo"] = true.into();
    }
    match defaults {
        Value::Object(defaults) => defaults,
        _ => unreachable!("the defaults are a table"),
    }
}

/// Adds the keys of `defaults` that `table` does not have, also in tables inside it of the same kind.
fn add(table: &mut Map<String, Value>, defaults: &Map<String, Value>) {
    for (key, value) in defaults {
        match (table.get_mut(key), value) {
            (None, _) => {
                table.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(own)), Value::Object(defaults)) => add(own, defaults),
            (Some(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Recovery, Tcp};

    /// Returns the connection of a table with the preset.
    fn connection(mut written: Value) -> Tcp {
        written["preset"] = "linux-6.1".into();
        Preset::complete(written.as_object_mut().unwrap());
        let tcp: Tcp = tailback_document::decode(written).unwrap();
        tcp.check().unwrap();
        tcp
    }

    #[test]
    fn what_is_written_stays_and_the_rest_is_that_of_the_preset() {
        let tcp = connection(json!({ "initial-window": 4, "congestion-control": { "kind": "reno", "beta": 0.7 } }));
        assert_eq!(tcp.initial_window(), 4);
        assert_eq!(
            serde_json::to_value(&tcp.congestion_control).unwrap(),
            json!({ "kind": "reno", "beta": 0.7, "ecn-beta": 0.5, "byte-counting": 2, "reduction": "flight",
                "hystart": false, "form": "linux" })
        );
        assert!(tcp.dsack_undo && tcp.ecn_fallback && !tcp.ecn_retransmissions);
        let value = serde_json::to_value(&tcp).unwrap();
        assert_eq!((&value["recovery"]["form"], &value["delayed-ack"]["form"]), (&json!("linux"), &json!("linux")));
        assert_eq!(value["timers"]["max-rto"], json!("120s"));
    }

    /// A complete connection, as in a canonical document, is not changed.
    #[test]
    fn completing_twice_changes_nothing() {
        let tcp = connection(json!({ "congestion-control": { "kind": "cubic" } }));
        assert_eq!(connection(serde_json::to_value(&tcp).unwrap()), tcp);
    }

    #[test]
    fn every_control_and_recovery_is_valid_with_the_preset() {
        for control in crate::Cc::NAMES.iter().filter(|name| **name != "user") {
            let mut written = json!({ "congestion-control": { "kind": control }, "ecn": "classic" });
            if *control == "packet-marking" {
                written["congestion-control"]["target"] = "1Mbit/s".into();
            }
            let tcp = connection(written);
            assert_eq!(tcp.congestion_control.kind(), *control);
            assert_eq!([tcp.ecn_retransmissions, tcp.ecn_control], [*control == "dctcp"; 2]);
        }
        for recovery in Recovery::NAMES {
            let tcp = connection(json!({ "recovery": { "kind": recovery } }));
            assert_eq!((tcp.recovery.kind(), tcp.dsack_undo), (*recovery, *recovery == "sack"));
        }
    }

    #[test]
    fn an_unknown_preset_and_a_table_without_one_stay_as_they_are() {
        for written in [json!({ "preset": "linux-7" }), json!({ "preset": 6.1 }), json!({})] {
            let mut table = written.clone();
            Preset::complete(table.as_object_mut().unwrap());
            assert_eq!(table, written);
        }
    }
}
