//! Names and ranges of the parameters of congestion controls.

use crate::common::tcp;
use serde_json::{Value, json};
use tailback_transport::{Cc, Tcp};

#[test]
fn every_control_needs_only_its_name_except_packet_marking_which_needs_a_target() {
    for kind in Cc::NAMES.iter().filter(|kind| **kind != "user") {
        let target = json!({ "kind": kind, "target": "1Mbit/s" });
        let control = if *kind == "packet-marking" { target } else { json!({ "kind": kind }) };
        let parsed = tcp(json!({ "congestion-control": control }));
        assert_eq!(parsed.congestion_control.kind(), *kind);
    }
    for kind in ["cubic", "dctcp", "bbr", "bbr3"] {
        assert!(Cc::NAMES.contains(&kind), "{kind}");
    }
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let refused: [(Value, &str); 11] = [
        (json!({ "kind": "cubic", "c": 0.0 }), "c"),
        (json!({ "kind": "cubic", "c": 1001.0 }), "c"),
        (json!({ "kind": "cubic", "beta": 1.0 }), "beta"),
        (json!({ "kind": "cubic", "ecn-beta": 0.0 }), "ecn-beta"),
        (json!({ "kind": "cubic", "byte-counting": 0 }), "byte-counting"),
        (json!({ "kind": "dctcp", "g": 0.0 }), "g"),
        (json!({ "kind": "dctcp", "initial-alpha": 1.5 }), "initial-alpha"),
        (json!({ "kind": "dctcp", "byte-counting": 1001 }), "byte-counting"),
        (json!({ "kind": "bbr", "bandwidth-window": 1 }), "bandwidth-window"),
        (json!({ "kind": "bbr", "min-rtt-window": "1us" }), "min-rtt-window"),
        (json!({ "kind": "bbr", "probe-rtt": "11s" }), "probe-rtt"),
    ];
    for (control, field) in refused {
        let document = json!({ "congestion-control": control });
        // Either the type or the check refuses it; both name the key.
        let error = match tailback_document::decode::<Tcp>(document.clone()) {
            Ok(tcp) => tcp.check().expect_err("it is out of range").to_string(),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(&format!("congestion-control.{field}")), "{document}: {error}");
    }
}
