//! Claims about hierarchical fair service curves, by hand: shares, guarantees, ceilings, delay bounds, no penalty for
//! the use of excess bandwidth, and work conservation.

use crate::common::seeded;
use crate::link::{Arrival, Log, build, constant, merged, run};
use proptest::prelude::*;
use serde_json::{Value, json};
use tailback_document::{Checked, decode};
use tailback_qdisc::{Ecn, Reason, Site, Spec};
use tailback_units::{Dur, Rate, Time};

const RATE: Rate = Rate(10_000_000);
const SITE: Site = Site { bytes: u64::MAX, packets: u64::MAX, rate: RATE };

fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Returns packets of 1000 B on the wire at `mbit` Mbit/s between two instants in ms. Curves count the 982 B that
/// buffers hold: 1 Mbit/s of a curve is 1.0183 Mbit/s on the wire.
fn stream(flow: u32, mbit: f64, from: u64, until: u64) -> Vec<Arrival> {
    constant(flow, 1000, Rate((mbit * 1e6) as u64), at(from), at(until))
}

/// Returns the outcomes of the arrivals, merged, until `until` ms.
fn served(classes: Value, arrivals: Vec<Vec<Arrival>>, until: u64) -> Log {
    let document = json!({ "kind": "hfsc", "classes": classes });
    run(&mut build(document, &SITE), &merged(arrivals), RATE, 1, at(until))
}

/// Returns the rate on the wire, in Mbit/s, of a flow's packets whose transmission ends between two instants in ms.
fn rate(log: &Log, flow: u32, from: u64, until: u64) -> f64 {
    let own = log.departed.iter().filter(|d| d.flow == flow && d.end > at(from) && d.end <= at(until));
    own.map(|d| f64::from(d.bytes) * 8.0).sum::<f64>() / ((until - from) as f64 * 1e3)
}

fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, expected {expected}");
}

/// Returns the leaf `c<flow>` for the packets of a flow, with the keys of `more`.
fn leaf(flow: u32, more: Value) -> Value {
    let mut class = json!({ "name": format!("c{flow}"), "match": { "flow": flow }, "limit": "100000packets" });
    for (key, value) in more.as_object().expect("a table") {
        class[key] = value.clone();
    }
    class
}

#[test]
fn link_sharing_curves_share_in_proportion_within_each_class() {
    let ls = |mbit: &str| json!({ "m2": mbit });
    // 2 : 3 : 5 of 10 Mbit/s.
    let classes = json!([
        leaf(0, json!({ "ls": ls("2Mbit/s") })),
        leaf(1, json!({ "ls": ls("3Mbit/s") })),
        leaf(2, json!({ "ls": ls("5Mbit/s") })),
    ]);
    let log = served(classes, (0..3).map(|flow| stream(flow, 9.0, 0, 5000)).collect(), 5000);
    for (flow, expected) in [(0, 2.0), (1, 3.0), (2, 5.0)] {
        assert_near(rate(&log, flow, 500, 5000), expected, 0.02);
    }
    // Leaves 0 and 1 share a class of 6 Mbit/s; leaf 2 has 4 Mbit/s. In the first 2.5 s leaf 1 sends nothing: leaf 0
    // has all 6 Mbit/s.
    let classes = json!([
        { "name": "both", "ls": ls("6Mbit/s") },
        leaf(0, json!({ "parent": "both", "ls": ls("1Mbit/s") })),
        leaf(1, json!({ "parent": "both", "ls": ls("2Mbit/s") })),
        leaf(2, json!({ "ls": ls("4Mbit/s") })),
    ]);
    let log = served(classes, vec![stream(0, 9.0, 0, 5000), stream(1, 9.0, 2500, 5000), stream(2, 9.0, 0, 5000)], 5000);
    assert_near(rate(&log, 0, 500, 2500), 6.0, 0.03);
    for (flow, expected) in [(0, 2.0), (1, 4.0), (2, 4.0)] {
        assert_near(rate(&log, flow, 3000, 5000), expected, 0.03);
    }
}

#[test]
fn a_real_time_curve_guarantees_its_rate_whatever_the_shares_and_alone_gives_no_more() {
    // The share of flow 0 is a ten-thousandth, its guarantee 3 Mbit/s. Guaranteed service counts towards the share, so
    // that flow 0 gets no more.
    let classes = json!([
        leaf(0, json!({ "rt": { "m2": "3Mbit/s" }, "ls": { "m2": "1kbit/s" } })),
        leaf(1, json!({ "ls": { "m2": "10Mbit/s" } })),
    ]);
    let log = served(classes, vec![stream(0, 9.0, 0, 5000), stream(1, 9.0, 0, 5000)], 5000);
    assert_near(rate(&log, 0, 500, 5000), 3.055, 0.02);
    assert_near(rate(&log, 1, 500, 5000), 6.945, 0.02);
    // Without a link-sharing curve a class gets its guarantee, though the link is free.
    let log = served(json!([leaf(0, json!({ "rt": { "m2": "1Mbit/s" } }))]), vec![stream(0, 5.0, 0, 5000)], 5000);
    assert_near(rate(&log, 0, 500, 5000), 1.0183, 0.01);
}

#[test]
fn an_upper_limit_curve_is_a_ceiling_of_link_sharing() {
    // The leaves are in a class, as usual in scripts. Directly below the root the result would differ: since the root
    // has no busy periods (`init_vf` of Linux), a class that empties after each packet starts anew with each packet and
    // is served before a sibling at its ceiling.
    let classes = json!([
        { "name": "all", "ls": { "m2": "10Mbit/s" } },
        leaf(0, json!({ "parent": "all", "ls": { "m2": "5Mbit/s" }, "ul": { "m2": "2Mbit/s" } })),
        leaf(1, json!({ "parent": "all", "ls": { "m2": "5Mbit/s" } })),
    ]);
    let log = served(classes, vec![stream(0, 9.0, 0, 5000), stream(1, 9.0, 2000, 5000)], 5000);
    assert_near(rate(&log, 0, 500, 2000), 2.0367, 0.02);
    assert_near(rate(&log, 0, 2500, 5000), 2.0367, 0.02);
    assert_near(rate(&log, 1, 2500, 5000), 7.9633, 0.02);
    // The ceiling of a class limits the sum of its leaves.
    let classes = json!([
        { "name": "site", "ls": { "m2": "10Mbit/s" }, "ul": { "m2": "3Mbit/s" } },
        leaf(0, json!({ "parent": "site", "ls": { "m2": "1Mbit/s" } })),
        leaf(1, json!({ "parent": "site", "ls": { "m2": "2Mbit/s" } })),
    ]);
    let log = served(classes, vec![stream(0, 9.0, 0, 5000), stream(1, 9.0, 0, 5000)], 5000);
    assert_near(rate(&log, 0, 500, 5000), 1.0183, 0.015);
    assert_near(rate(&log, 1, 500, 5000), 2.0367, 0.02);
}

#[test]
fn a_concave_curve_bounds_the_delay_by_its_first_piece_and_one_packet_of_others() {
    // 200 B every 20 ms under a curve of 800 kbit/s for 2 ms, then 80 kbit/s: each packet finds its class passive, so
    // that its deadline is 2 ms after its arrival. It leaves by then plus the 1.2 ms of a packet of 1500 B in
    // transmission.
    let data = |rt: &str| leaf(1, json!({ "rt": { "m2": rt }, "ls": { "m2": "9Mbit/s" } }));
    let voice = |m1: &str, d: &str| {
        leaf(0, json!({ "rt": { "m1": m1, "d": d, "m2": "80kbit/s" }, "ls": { "m2": "80kbit/s" } }))
    };
    let calls = || constant(0, 200, Rate(80_000), at(3), at(5000));
    let bulk = || constant(1, 1500, Rate(12_000_000), at(0), at(5000));
    let longest_wait = |log: &Log, arrivals: &[Arrival]| {
        let waits = log.departed.iter().filter(|d| d.flow == 0).map(|d| d.end.since(arrivals[d.arrival].at));
        waits.max().expect("packets of voice")
    };
    let arrivals = merged(vec![calls(), bulk()]);
    let log = served(json!([voice("800kbit/s", "2ms"), data("9Mbit/s")]), vec![calls(), bulk()], 5000);
    assert!(longest_wait(&log, &arrivals) <= Dur::from_us(3200), "{}", longest_wait(&log, &arrivals));
    // 250 packets arrive in 5 s, and all but perhaps the last have left by the end.
    assert!(log.departed.iter().filter(|d| d.flow == 0).count() >= 249);
}

#[test]
fn a_class_that_has_used_excess_bandwidth_is_not_penalised_for_it() {
    // Flow 0 has the whole link for 2 s, twice its guarantee. When flow 1 begins, both get their guarantees at once;
    // under virtual clock flow 0 would get no service for 2 s, until flow 1 has caught up.
    let half = json!({ "rt": { "m2": "5Mbit/s" }, "ls": { "m2": "5Mbit/s" } });
    let classes = json!([leaf(0, half.clone()), leaf(1, half)]);
    let log = served(classes, vec![stream(0, 12.0, 0, 4000), stream(1, 9.0, 2000, 4000)], 4000);
    assert_near(rate(&log, 0, 200, 2000), 10.0, 0.02);
    // In each tenth of a second, to within three packets, which are 0.08 Mbit/s each.
    for from in (2000..4000).step_by(100) {
        assert_near(rate(&log, 0, from, from + 100), 5.0, 0.25);
        assert_near(rate(&log, 1, from, from + 100), 5.0, 0.25);
    }
}

#[test]
fn packets_that_match_no_class_are_dropped_without_a_default_class_and_sent_with_one() {
    let log = served(json!([leaf(0, json!({ "ls": { "m2": "1Mbit/s" } }))]), vec![stream(7, 1.0, 0, 100)], 200);
    assert!(log.departed.is_empty() && log.dropped.iter().all(|d| d.reason == Reason::Policed));
    let classes = json!([leaf(0, json!({ "ls": { "m2": "1Mbit/s" } }))]);
    let document = json!({ "kind": "hfsc", "default": "c0", "classes": classes });
    let log = run(&mut build(document, &SITE), &stream(7, 1.0, 0, 100), RATE, 1, at(200));
    assert!(log.dropped.is_empty() && log.departed.len() == 13);
}

#[test]
fn invalid_curves_and_classes_are_refused_with_their_path() {
    for (classes, field) in [
        (json!([{ "name": "a" }]), "classes[0]"),
        (json!([{ "name": "a", "rt": { "m2": "1Mbit/s" }, "ul": { "m2": "1Mbit/s" } }]), "classes[0].ul"),
        (json!([{ "name": "a", "ls": { "m2": "0bit/s" } }]), "classes[0].ls.m2"),
        (json!([{ "name": "a", "parent": "b", "ls": { "m2": "1bit/s" } }]), "classes[0].parent"),
        (
            json!([{ "name": "a", "rt": { "m2": "1bit/s" }, "ls": { "m2": "1bit/s" } },
                   { "name": "b", "parent": "a", "ls": { "m2": "1bit/s" } }]),
            "classes[0].rt",
        ),
    ] {
        // Some values are refused already when the document is decoded.
        let found = match decode::<Spec>(json!({ "kind": "hfsc", "classes": classes })) {
            Ok(spec) => Checked::check(&spec).expect_err("invalid parameters").path.clone(),
            Err(error) => error.path.to_string(),
        };
        assert_eq!(found, field);
    }
}

proptest! {
    #![proptest_config(seeded(60))]

    /// Work conservation: while a class with a link-sharing curve and no ceiling has packets, the link is busy.
    #[test]
    fn the_link_is_never_free_while_a_class_without_a_ceiling_waits(
        seed in any::<u64>(),
        shares in prop::collection::vec(1..9_000u64, 4),
        guarantees in prop::collection::vec(0..2_000u64, 4),
    ) {
        let classes: Vec<Value> = (0..4u32).map(|flow| {
            let mut class = leaf(flow, json!({ "ls": { "m1": "3Mbit/s", "d": "5ms", "m2": format!("{}kbit/s", shares[flow as usize]) } }));
            if guarantees[flow as usize] > 0 {
                class["rt"] = json!({ "d": "3ms", "m2": format!("{}kbit/s", guarantees[flow as usize]) });
            }
            class
        }).collect();
        let arrivals = crate::link::random(seed, 4, 2_000, RATE, 1.2);
        let document = json!({ "kind": "hfsc", "classes": classes });
        let log = run(&mut build(document, &SITE), &arrivals, RATE, 1, Time::NEVER);
        prop_assert_eq!(log.departed.len(), arrivals.len());
        prop_assert_eq!(log.departed[0].start, arrivals[0].at);
        // Each packet begins when the one before it ends, or when it arrives itself.
        for pair in log.departed.windows(2) {
            let arrival = arrivals[pair[1].arrival].at;
            prop_assert!(pair[1].start == pair[0].end || pair[1].start == arrival && arrival > pair[0].end, "{:?}", pair);
        }
        prop_assert!(arrivals.iter().all(|a| a.ecn != Ecn::Ce));
    }
}

/// A document cannot have a rate of zero; parameters that a program sets can.
#[test]
fn a_curve_whose_final_rate_is_zero_is_valid_as_a_real_time_curve_only() {
    use tailback_qdisc::discipline::hfsc::Curve;
    let document = json!({ "kind": "hfsc", "default": "a", "classes": [{ "name": "a", "ls": { "m2": "1Mbit/s" } }] });
    let refused = |key: &str, m1: u64, d: Dur, m2: u64| {
        let Ok(Spec::Hfsc(mut params)) = decode::<Spec>(document.clone()) else { panic!("it decodes") };
        let curve = Some(Curve { m1: Rate(m1), d, m2: Rate(m2) });
        let class = &mut params.classes[0];
        match key {
            "rt" => class.rt = curve,
            "ls" => class.ls = curve,
            _ => class.ul = curve,
        }
        params.check().err().map(|e| e.path)
    };
    let ms = Dur::from_ms(1);
    assert_eq!(refused("rt", 1, ms, 0), None);
    assert_eq!(refused("rt", 0, ms, 0).as_deref(), Some("classes[0].rt.m2"));
    assert_eq!(refused("rt", 1, Dur::ZERO, 0).as_deref(), Some("classes[0].rt.m2"));
    for key in ["ls", "ul"] {
        assert_eq!(refused(key, 1, ms, 0), Some(format!("classes[0].{key}.m2")));
        assert_eq!(refused(key, 0, Dur::ZERO, 1), None);
    }
}

/// Stoica, Zhang and Ng (2000), section IV: the virtual time of a class that returns within a busy period of its parent
/// is not set back. Otherwise a class of single large packets would have a turn for each small packet of its sibling.
#[test]
fn a_class_that_empties_with_each_packet_gets_its_share_and_no_more() {
    let ls = |mbit: &str| json!({ "m2": mbit });
    let classes = json!([
        { "name": "both", "ls": ls("6Mbit/s") },
        leaf(0, json!({ "parent": "both", "ls": ls("1Mbit/s") })),
        leaf(1, json!({ "parent": "both", "ls": ls("1Mbit/s"), "limit": "1packet" })),
        leaf(2, json!({ "ls": ls("4Mbit/s") })),
    ]);
    let stream_of = |flow, bytes| constant(flow, bytes, Rate::mbit(9), at(0), at(3000));
    let log = served(classes, vec![stream_of(0, 100), stream_of(1, 1500), stream_of(2, 1000)], 3000);
    // Curves count buffer bytes, 3 : 3 : 4. On the wire these are 3 * 100 / 84, 3 * 1500 / 1494 and 4 * 1000 / 982,
    // which together fill 10 Mbit/s.
    for (flow, expected) in [(0, 3.351), (1, 2.827), (2, 3.822)] {
        assert_near(rate(&log, flow, 500, 3000), expected, 0.1);
    }
}

#[test]
fn a_class_without_a_ceiling_may_send_from_time_zero_on() {
    let ls = json!({ "m2": "1Mbit/s" });
    for classes in [
        json!([leaf(0, json!({ "ls": ls }))]),
        json!([{ "name": "inner", "ls": ls }, leaf(0, json!({ "parent": "inner", "ls": ls }))]),
    ] {
        let log = served(classes, vec![vec![Arrival { at: Time::ZERO, flow: 0, bytes: 1000, ecn: Ecn::NotEct }]], 10);
        assert_eq!(log.departed.iter().map(|d| d.start).collect::<Vec<_>>(), [Time::ZERO]);
    }
}
