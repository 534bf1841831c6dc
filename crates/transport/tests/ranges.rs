//! Ranges and defaults of the parameters of congestion controls, as their documentation, the papers and the RFCs state
//! them: both ends of each range are accepted, and the nearest values beyond are refused by name.

use serde_json::{Value, json};
use tailback_transport::cc::{bbr, cubic, dcqcn, dctcp, hpcc, reno, subtcp, swift, timely};
use tailback_transport::{Cc, Form, Tcp};
use tailback_units::{Dur, Fraction, Rate, Size};

/// Returns the control of kind `kind` with field `field` set to `value`, or the error.
fn with(kind: &str, more: &Value, field: &str, value: &Value) -> Result<Cc, String> {
    let mut control = json!({ "kind": kind, field: value });
    for (name, value) in more.as_object().expect("a table") {
        control[name] = value.clone();
    }
    if kind == "packet-marking" && field != "target" {
        control["target"] = json!("1Mbit/s");
    }
    let tcp: Tcp = tailback_document::decode(json!({ "congestion-control": control })).map_err(|e| e.to_string())?;
    tcp.check().map_err(|e| e.to_string())?;
    Ok(tcp.congestion_control)
}

/// Checks that `accepted` values are valid and that each of the `refused` ones gives an error that names the field.
#[track_caller]
fn range(kind: &str, more: &Value, field: &str, accepted: &[Value], refused: &[Value]) {
    for value in accepted {
        let result = with(kind, more, field, value);
        assert!(result.is_ok(), "{kind}.{field} = {value} is in range: {result:?}");
    }
    for value in refused {
        let error = with(kind, more, field, value).expect_err(&format!("{kind}.{field} = {value} is out of range"));
        assert!(error.contains(&format!("congestion-control.{field}")), "{kind}.{field} = {value}: {error}");
    }
}

/// Values at and beyond the bounds of an integer.
fn integer(kind: &str, field: &str, low: u64, high: u64) {
    let refused = if low > 0 { vec![json!(low - 1), json!(high + 1)] } else { vec![json!(high + 1)] };
    range(kind, &json!({}), field, &[json!(low), json!(high)], &refused);
}

/// Values at and beyond the bounds of a time, each with its unit.
fn time(kind: &str, field: &str, accepted: [&str; 2], refused: [&str; 2]) {
    let values = |texts: [&str; 2]| texts.map(|text| json!(text));
    range(kind, &json!({}), field, &values(accepted), &values(refused));
}

#[test]
fn each_range_includes_its_bounds_and_nothing_beyond() {
    let none = json!({});
    let open = |kind: &str, field: &str| {
        range(kind, &none, field, &[json!(1e-9), json!(0.999_999)], &[json!(0.0), json!(1.0)]);
    };
    for (kind, field) in [
        ("reno", "beta"),
        ("reno", "ecn-beta"),
        ("cubic", "beta"),
        ("cubic", "ecn-beta"),
        ("timely", "weight"),
        ("timely", "beta"),
        ("hpcc", "target"),
        ("swift", "beta"),
        ("swift", "max-decrease"),
        ("swift", "least"),
    ] {
        open(kind, field);
    }
    for (kind, field) in [("dctcp", "g"), ("dcqcn", "g"), ("subtcp", "x"), ("timely", "start")] {
        range(kind, &none, field, &[json!(1e-9), json!(1.0)], &[json!(0.0), json!(1.5)]);
    }
    range("dctcp", &none, "initial-alpha", &[json!(0.0), json!(1.0)], &[json!(-0.5), json!(1.5)]);
    range("cubic", &none, "c", &[json!(1e-9), json!(1_000.0)], &[json!(0.0), json!(-1.0), json!(1_000.5)]);
    for (kind, field, low, high) in [
        ("reno", "byte-counting", 1, 1_000),
        ("cubic", "byte-counting", 1, 1_000),
        ("dctcp", "byte-counting", 1, 1_000),
        ("dctcp", "least-window", 1, 2),
        ("subtcp", "least-ssthresh", 1, 2),
        ("bbr", "bandwidth-window", 2, 1_000),
        ("dcqcn", "recovery-steps", 1, 1_000),
        ("timely", "hyper-after", 1, 1_000),
        ("hpcc", "stages", 0, 1_000),
        ("hpcc", "flows", 1, 1_000_000),
        ("swift", "reset-after", 1, 1_000),
        ("packet-marking", "strikes", 1, 1_000),
    ] {
        integer(kind, field, low, high);
    }
    time("bbr", "min-rtt-window", ["1ms", "1000s"], ["999999ns", "1000000001us"]);
    time("bbr", "probe-rtt", ["1ms", "10s"], ["999999ns", "10000001us"]);
    for (kind, field) in [
        ("dcqcn", "notification-interval"),
        ("dcqcn", "alpha-interval"),
        ("dcqcn", "increase-interval"),
        ("timely", "min-rtt"),
        ("hpcc", "base-rtt"),
        ("swift", "base"),
    ] {
        time(kind, field, ["1ns", "10s"], ["0s", "10000000001ns"]);
    }
    for field in ["per-hop", "flow-scaling"] {
        range("swift", &none, field, &[json!("0s"), json!("10s")], &[json!("10000000001ns")]);
    }
    for field in ["window", "patience", "rest"] {
        time("packet-marking", field, ["1ms", "3600s"], ["999999ns", "3600000001us"]);
    }
    for (kind, field) in [
        ("dcqcn", "additive"),
        ("dcqcn", "hyper"),
        ("dcqcn", "least"),
        ("timely", "additive"),
        ("timely", "least"),
        ("hpcc", "additive"),
        ("packet-marking", "target"),
    ] {
        range(kind, &none, field, &[json!("1bit/s")], &[json!("0bit/s")]);
    }
    for (kind, field) in [("dcqcn", "increase-bytes"), ("timely", "chunk")] {
        range(kind, &none, field, &[json!("1B"), json!("1000000000B")], &[json!("0B"), json!("1000000001B")]);
    }
    range("swift", &none, "additive", &[json!(1e-9), json!(100.0)], &[json!(0.0), json!(100.5)]);
    range("swift", &none, "most", &[json!(1.0), json!(1e9)], &[json!(0.999), json!(1_000_000_000.5)]);
}

#[test]
fn bounds_that_depend_on_another_parameter_include_equality_where_the_documentation_says_so() {
    // Swift: `scaling-from` is above 0 and below `scaling-to`, which is at most 10^9.
    let to = |value: f64| json!({ "scaling-to": value });
    range("swift", &to(100.0), "scaling-from", &[json!(1e-9), json!(99.9)], &[json!(0.0), json!(100.0), json!(200.0)]);
    range("swift", &to(1e9), "scaling-from", &[json!(0.1)], &[]);
    range("swift", &to(1_000_000_000.5), "scaling-from", &[], &[json!(0.1)]);
    // TIMELY: `low` up to `high`, and `reference` of the patched variant from `low` to `high`.
    range("timely", &json!({}), "low", &[json!("1ns")], &[json!("0s")]);
    range("timely", &json!({ "low": "60us" }), "high", &[json!("60us"), json!("10s")], &[json!("59999ns")]);
    range("timely", &json!({ "low": "1us" }), "high", &[], &[json!("10000000001ns")]);
    let patched = json!({ "variant": "patched", "low": "60us", "high": "80us" });
    range("timely", &patched, "reference", &[json!("60us"), json!("80us")], &[json!("59999ns"), json!("80001ns")]);
    range("timely", &json!({}), "reference", &[], &[json!("60us")]);
    // HPCC: only one parameter sets the increase, and only one sets T.
    range("hpcc", &json!({ "additive": "1Mbit/s" }), "flows", &[], &[json!(1)]);
    range("hpcc", &json!({ "base-rtt": "8us" }), "own-rtt", &[json!(false)], &[json!(true)]);
}

/// Linux's forms have few parameters or none; a recovery and delayed acknowledgements with the form need their defaults.
#[test]
fn a_form_of_linux_refuses_the_parameters_that_it_does_not_have() {
    let linux = json!({ "form": "linux" });
    for (kind, field, accepted, refused) in [
        ("reno", "beta", vec![json!(0.7)], vec![]),
        ("reno", "ecn-beta", vec![json!(0.8)], vec![]),
        ("reno", "byte-counting", vec![json!(2)], vec![json!(1)]),
        ("reno", "reduction", vec![json!("flight")], vec![json!("window")]),
        ("reno", "hystart", vec![json!(false)], vec![json!(true)]),
        ("cubic", "fast-convergence", vec![json!(false)], vec![]),
        ("cubic", "c", vec![json!(0.4)], vec![json!(0.5)]),
        ("cubic", "hystart", vec![json!(true)], vec![json!(false)]),
        ("dctcp", "g", vec![json!(0.0625)], vec![json!(0.1)]),
        ("dctcp", "least-window", vec![json!(2)], vec![json!(1)]),
        ("bbr", "bandwidth-window", vec![json!(8)], vec![]),
    ] {
        for value in accepted {
            assert!(with(kind, &linux, field, &value).is_ok(), "{kind} {field} {value}");
        }
        for value in refused {
            assert!(with(kind, &linux, field, &value).is_err(), "{kind} {field} {value}");
        }
    }
    let connection = |table: serde_json::Value| {
        tailback_document::decode::<tailback_transport::Tcp>(table)
            .map_err(|e| e.to_string())?
            .check()
            .map_err(|e| e.to_string())
    };
    for accepted in
        [json!({ "recovery": { "kind": "sack", "form": "linux" } }), json!({ "delayed-ack": { "form": "linux" } })]
    {
        assert_eq!(connection(accepted), Ok(()));
    }
    for other in [json!({ "prr": false }), json!({ "rack": false }), json!({ "forget": true })] {
        let mut recovery = json!({ "kind": "sack", "form": "linux" });
        recovery.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        assert!(
            connection(json!({ "recovery": recovery })).is_err_and(|e| e.contains("write `form = \"rfc\"`")),
            "{other}"
        );
    }
    for other in [json!({ "timeout": "100ms" }), json!({ "clock": "heartbeat" })] {
        let mut delayed = json!({ "form": "linux" });
        delayed.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        assert!(
            connection(json!({ "delayed-ack": delayed })).is_err_and(|e| e.contains("write `form = \"rfc\"`")),
            "{other}"
        );
    }
}

/// A receive buffer needs what it is part of in Linux, takes the place of a constant window, and has sizes in a range.
#[test]
fn a_receive_buffer_is_refused_without_linux_and_out_of_range() {
    let refused = |more: serde_json::Value, word: &str| {
        let mut table = json!({ "delayed-ack": { "form": "linux" }, "receive-buffer": {} });
        table.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let tcp: tailback_transport::Tcp = tailback_document::decode(table).expect("the test's parameters decode");
        let found = tcp.check().map_err(|e| e.to_string());
        assert!(found.as_ref().is_err_and(|e| e.contains(word)), "{more}: {found:?}");
    };
    refused(json!({ "delayed-ack": {} }), "needs `delayed-ack.form = \"linux\"`");
    refused(json!({ "handshake": false }), "needs `delayed-ack.form");
    refused(json!({ "recovery": { "kind": "newreno" } }), "needs `delayed-ack.form");
    refused(json!({ "receive-window": 100 }), "cannot be combined with `receive-window`");
    refused(json!({ "receive-buffer": { "initial": "16383B" } }), "write 16384B to 1073741824B");
    refused(json!({ "receive-buffer": { "max": "131071B" } }), "write 131072B to 1073741824B");
    refused(json!({ "receive-buffer": { "max": "1073741825B" } }), "write 131072B to 1073741824B");
}

/// The defaults of RFC 5681, RFC 9438, RFC 8257, the BBR draft and the papers of DCQCN, TIMELY, HPCC and Swift; of SubTCP
/// and Swift's delays as documented.
#[test]
fn the_defaults_are_those_of_the_rfcs_and_papers() {
    let (half, kind) = (Fraction(0.5), |kind: &str| with(kind, &json!({}), "kind", &json!(kind)).expect("a default"));
    assert_eq!(
        kind("reno"),
        Cc::Reno(reno::Params {
            beta: half,
            ecn_beta: half,
            byte_counting: 2,
            reduction: reno::Reduction::Flight,
            hystart: false,
            form: Form::Rfc,
        })
    );
    assert_eq!(
        kind("cubic"),
        Cc::Cubic(cubic::Params {
            c: 0.4,
            beta: Fraction(0.7),
            ecn_beta: Fraction(0.7),
            fast_convergence: true,
            hystart: true,
            growth_per: cubic::GrowthPer::Acknowledgement,
            byte_counting: 2,
            form: Form::Rfc,
        })
    );
    let (g, initial_alpha) = (Fraction(0.0625), Fraction(1.0));
    assert_eq!(
        kind("dctcp"),
        Cc::Dctcp(dctcp::Params { g, initial_alpha, byte_counting: 2, least_window: 2, form: Form::Rfc })
    );
    assert_eq!(
        kind("subtcp"),
        Cc::SubTcp(subtcp::Params {
            x: Fraction(0.1),
            back_off: tailback_transport::cc::BackOff::Interval,
            least_ssthresh: 1
        })
    );
    assert_eq!(
        kind("bbr"),
        Cc::Bbr(bbr::Params {
            bandwidth_window: 10,
            min_rtt_window: Dur::from_secs(10),
            probe_rtt: Dur::from_ms(200),
            form: Form::Rfc
        })
    );
    assert_eq!(
        kind("dcqcn"),
        Cc::Dcqcn(dcqcn::Params {
            g: Fraction(0.003_906_25),
            notification_interval: Dur::from_us(50),
            alpha_interval: Dur::from_us(55),
            increase_interval: Dur::from_us(55),
            increase_bytes: Size(10_000_000),
            recovery_steps: 5,
            additive: Rate(40_000_000),
            hyper: Rate(100_000_000),
            least: Rate(10_000_000),
        })
    );
    assert_eq!(
        kind("timely"),
        Cc::Timely(timely::Params {
            variant: timely::Variant::Gradient,
            update: timely::Update::Chunk,
            chunk: Size(16_000),
            weight: 0.875,
            beta: None,
            reference: None,
            low: Dur::from_us(50),
            high: Dur::from_us(500),
            min_rtt: Dur::from_us(20),
            additive: Rate(10_000_000),
            hyper_after: 5,
            least: Rate(10_000_000),
            start: Fraction(1.0),
        })
    );
    assert_eq!(
        kind("hpcc"),
        Cc::Hpcc(hpcc::Params { target: 0.95, stages: 5, additive: None, flows: None, base_rtt: None, own_rtt: false })
    );
    assert_eq!(
        kind("swift"),
        Cc::Swift(swift::Params {
            base: Dur::from_us(20),
            per_hop: Dur::from_ns(3_053),
            flow_scaling: Dur::from_us(100),
            scaling_from: 0.1,
            scaling_to: 100.0,
            additive: 1.0,
            beta: 0.8,
            max_decrease: 0.5,
            least: 0.01,
            most: None,
            reset_after: 5,
        })
    );
    let Cc::PacketMarking(marking) = with("packet-marking", &json!({}), "strikes", &json!(3)).expect("a target") else {
        unreachable!("a packet marking control")
    };
    assert_eq!((marking.window, marking.patience), (Dur::from_ms(300), Dur::from_secs(5)));
    assert_eq!(marking.rest, Dur::from_secs(60));
    let Cc::PacketMarking(marking) = with("packet-marking", &json!({}), "rest", &json!("60s")).expect("a target")
    else {
        unreachable!("a packet marking control")
    };
    assert_eq!(marking.strikes, 3);
}
