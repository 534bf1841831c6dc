//! Parameters of TCP: accepted and refused values with the advice in the error, defaults, serialisation and schema.

use serde_json::{Value, json};
use tailback_transport::{Cc, EcnEcho, Tcp};

/// Returns the checked parameters of a document, or the error's text.
fn read(document: Value) -> Result<Tcp, String> {
    let tcp: Tcp = tailback_document::decode(document).map_err(|e| e.to_string())?;
    tcp.check().map_err(|e| e.to_string())?;
    Ok(tcp)
}

#[test]
fn an_empty_document_gives_the_default_parameters() {
    let tcp = read(json!({})).expect("every parameter has a default");
    assert_eq!(tcp, Tcp::default());
    assert_eq!((tcp.initial_window(), tcp.recovery.kind(), tcp.echo()), (10, "sack", EcnEcho::Classic));
}

#[test]
fn serialised_parameters_decode_to_the_same_value() {
    let tcp = read(json!({
        "segment": "536B", "congestion-control": { "kind": "subtcp", "x": "20%", "back-off": "backoff" },
        "recovery": { "kind": "newreno", "impatient": false }, "initial-window": "rfc3390", "initial-ssthresh": 64,
        "receive-window": 20, "ecn": "classic", "ecn-floor": "ns-2", "limited-transmit": "always", "ecn-echo": "accurate", "spurious-timeout": "eifel",
        "timers": { "granularity": "100ms", "clock": "coarse", "min-rto": "500ms", "initial-rto": "3s" },
    }))
    .expect("the parameters are valid");
    let written = serde_json::to_value(&tcp).expect("parameters serialise");
    assert_eq!(read(written).expect("serialised parameters decode"), tcp);
    assert_eq!(tcp.initial_window(), 4);
}

#[test]
fn the_rules_for_the_initial_window_are_those_of_their_rfcs() {
    for (segment, rule, expected) in [
        ("536B", "rfc3390", 4),
        ("1095B", "rfc3390", 4),
        ("1460B", "rfc3390", 3),
        ("4000B", "rfc3390", 2),
        ("1460B", "rfc6928", 10),
        ("2000B", "rfc6928", 7),
        ("9000B", "rfc6928", 2),
    ] {
        let tcp = read(json!({ "segment": segment, "initial-window": rule })).expect("the parameters are valid");
        assert_eq!(tcp.initial_window(), expected, "{segment} {rule}");
    }
}

#[test]
fn invalid_parameters_are_refused_with_advice() {
    for (document, advice) in [
        (json!({ "segment": "0B" }), "segment: 0B is out of range; write 1B to 65535B"),
        (json!({ "dup-thresh": 0 }), "dup-thresh: 0 is out of range; write 1 to 255"),
        (json!({ "initial-window": 0 }), "initial-window: 0 is out of range"),
        (json!({ "initial-window": "rfc1" }), "\"rfc3390\" or \"rfc6928\""),
        (json!({ "initial-window": -1 }), "-1 is negative"),
        (
            json!({ "ecn-floor": "wait" }),
            "unknown value \"wait\"; write \"rfc3168\", \"backoff\", \"ns-2\" or \"none\"",
        ),
        (json!({ "ecn-floor": true }), "write \"rfc3168\" (wait for the timer) or \"backoff\" (which `true` meant"),
        (json!({ "ecn-floor": false }), "write \"none\", which `false` meant"),
        (
            json!({ "congestion-control": { "kind": "dctcp", "least-window": 3 } }),
            "congestion-control.least-window: 3 is out of range; write 1 to 2",
        ),
        (json!({ "limited-transmit": 2 }), "true, false or \"always\""),
        (json!({ "recovery": { "kind": "sack", "pipe": "count" } }), "recovery.pipe: \"count\" needs `prr = false`"),
        (json!({ "initial-ssthresh": 1 }), "initial-ssthresh: 1 is out of range; write 2 to"),
        (json!({ "timers": { "max-rto": "100ms" } }), "timers.max-rto: 100ms is below `min-rto`; write at least 200ms"),
        (json!({ "timers": { "granularity": "0s" } }), "timers.granularity: 0s is out of range"),
        (json!({ "delayed-ack": { "every": 0 } }), "delayed-ack.every: 0 is out of range"),
        (json!({ "timestamps": false, "spurious-timeout": "eifel" }), "`timestamps = true`"),
        (
            json!({ "dsack-undo": true, "recovery": { "kind": "newreno" } }),
            "dsack-undo: recovery \"newreno\" has no reports of duplicates; write \"sack\" or false",
        ),
        (json!({ "window-validation": "rtt" }), "flight"),
        (json!({ "congestion-control": { "kind": "cubic", "growth-per": "byte" } }), "acknowledgement"),
        (json!({ "segment": "18446744073709551615B" }), "is out of range; write 1B to 65535B"),
        (json!({ "header": "18446744073709551615B" }), "is out of range; write 0B to 1000B"),
        (json!({ "congestion-control": { "kind": "reno", "beta": 1 } }), "congestion-control.beta"),
        (json!({ "congestion-control": { "kind": "subtcp", "x": 0 } }), "congestion-control.x"),
        (json!({ "congestion-control": { "kind": "renoo" } }), "did you mean `reno`"),
        (json!({ "congestion-control": "reno" }), "{ kind = \"reno\" }"),
        (json!({ "recovery": { "kind": "sack", "impatient": true } }), "impatient"),
        (json!({ "min-rto": "1s" }), "min-rto"),
    ] {
        let message = read(document.clone()).expect_err("the parameters are invalid");
        assert!(message.contains(advice), "{document}: {message}");
    }
}

#[test]
fn every_kind_has_a_schema_with_described_parameters() {
    let schema = serde_json::to_value(schemars::schema_for!(Tcp)).expect("a schema is JSON");
    let properties = schema["properties"].as_object().expect("a table");
    assert_eq!(properties["congestion-control"]["default"]["kind"], "reno");
    for (name, property) in properties {
        assert!(property["description"].is_string(), "{name} has no description");
    }
    for kind in Cc::NAMES {
        assert!(schema.to_string().contains(&format!("\"const\":\"{kind}\"")), "{kind}");
    }
}
