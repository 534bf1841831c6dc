//! Warnings about valid scenarios, each with a nearby scenario that gives none. The numbers are calculated by hand: a
//! payload of P bytes is a frame of P + 18 bytes and takes P + 38 bytes on the wire.

use tailback_scenario::Scenario;
use tailback_scenario::document::WarningName::{self, *};

/// Returns a document with two hosts, a switch and a receiver, all links at 10 Mbit/s. `after_run` is the end of the
/// table `[run]` and may have further tables, each complete; `more` is the end of the document.
fn two_into_one(after_run: &str, more: &str) -> String {
    format!(
        r#"tailback = 1
[run]
duration = "10s"
{after_run}
[hosts]
h = {{ count = 2 }}
d = {{}}
[switches]
sw = {{}}
[[links]]
between = ["h*", "sw"]
rate = "10Mbit/s"
[[links]]
between = ["sw", "d"]
rate = "10Mbit/s"
{more}"#
    )
}

/// Returns a group of two flows with packets of 1000 B at this payload rate each.
fn cbr(rate: &str) -> String {
    format!(
        "[[flows]]\nname = \"data\"\nfrom = \"h*\"\nto = \"d\"\nsource = {{ kind = \"cbr\", packet = \"1000B\", rate = \"{rate}\" }}\n"
    )
}

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, "net.toml").unwrap_or_else(|e| panic!("{e}"))
}

/// Returns name, path and message of each warning.
fn warnings(text: &str) -> Vec<(WarningName, String, String)> {
    scenario(text).warnings().into_iter().map(|w| (w.name, w.problem.path, w.problem.message)).collect()
}

/// Checks that there is exactly one warning, with this name and path; returns its message.
fn only(text: &str, name: WarningName, path: &str) -> String {
    let found = warnings(text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0, found[0].1.as_str()), (name, path), "{found:?}");
    found[0].2.clone()
}

/// Checks that there is no warning.
fn none(text: &str) {
    let found = warnings(text);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn load_includes_headers_and_gaps() {
    // 2 × 4.9 Mbit/s × 1038/1000 = 10.1724 Mbit/s, of which 1.695 % is too much; 2 × 4.8 Mbit/s make 9.9648 Mbit/s.
    let message = only(&two_into_one("", &cbr("4.9Mbit/s")), Overload, "links[1].rate");
    for part in ["sw->d is offered 10.17Mbit/s", "carries 10Mbit/s", "1.695% of it cannot pass"] {
        assert!(message.contains(part), "{message}");
    }
    none(&two_into_one("", &cbr("4.8Mbit/s")));
}

#[test]
fn a_host_above_its_own_link_is_reported_and_ports_behind_it_are_not() {
    // 3 Gbit/s × 1.038 = 3.114 Gbit/s into 10 Mbit/s: the arrivals of each second take 311.4 s to send.
    let message = only(&two_into_one("", &cbr("3Gbit/s")), Overload, "flows[0].source");
    for part in ["h1->sw is offered 3.114Gbit/s", "one similar port", "delay grows by 310.4s every second"] {
        assert!(message.contains(part), "{message}");
    }
    // 9.7 Mbit/s × 1.038 = 10.07 Mbit/s is above the rate of a host's link; 9.6 Mbit/s exceeds only that of the shared
    // one.
    assert!(only(&two_into_one("", &cbr("9.7Mbit/s")), Overload, "flows[0].source").contains("h1->sw"));
    assert!(only(&two_into_one("", &cbr("9.6Mbit/s")), Overload, "links[1].rate").contains("sw->d"));
}

#[test]
fn load_is_averaged_over_the_measured_time() {
    // On for 5 of 10 s, 2 × 9 Mbit/s are 9 Mbit/s × 1.038 = 9.342 Mbit/s on average; for 6 s, 11.21 Mbit/s.
    none(&two_into_one("", &cbr("9Mbit/s").replace("to = \"d\"", "to = \"d\"\nstop = \"5s\"")));
    let six = cbr("9Mbit/s").replace("to = \"d\"", "to = \"d\"\nstop = \"6s\"");
    assert!(only(&two_into_one("", &six), Overload, "links[1].rate").contains("11.21Mbit/s"));
    // The timeline stops both sources at 5 s.
    let stopped = format!("{}[[timeline]]\nat = \"5s\"\nflow = \"data\"\nstate = \"stop\"\n", cbr("9Mbit/s"));
    none(&two_into_one("", &stopped));
    // 2 × 9 Mbit/s need 18.684 Mbit/s; with 30 Mbit/s from 5 s on the mean rate is 20 Mbit/s.
    let faster = "[[timeline]]\nat = \"5s\"\nlink = [\"sw\", \"d\"]\nrate = \"30Mbit/s\"\n";
    none(&two_into_one("", &format!("{}{faster}", cbr("9Mbit/s"))));
    let too_late = faster.replace("5s", "6s"); // 18 Mbit/s
    assert!(
        only(&two_into_one("", &format!("{}{too_late}", cbr("9Mbit/s"))), Overload, "links[1].rate")
            .contains("18Mbit/s")
    );
}

#[test]
fn sizes_that_vary_are_counted_as_if_all_packets_were_full() {
    // Full packets of 1500 B take 1538 B on the wire: 9.75 Mbit/s of payload are at least 9.997 Mbit/s, and 9.76 Mbit/s
    // at least 10.007 Mbit/s.
    let varied = |rate| {
        format!(
            "[[flows]]\nname = \"data\"\nfrom = \"h1\"\nto = \"d\"\nsource = {{ kind = \"poisson\", packet = \"500B\", sizes = \"exponential\", rate = \"{rate}\" }}\n"
        )
    };
    none(&two_into_one("", &varied("9.75Mbit/s")));
    // The host's own link and the shared one have the same rate and load.
    let message = only(&two_into_one("", &varied("9.76Mbit/s")), Overload, "flows[0].source");
    assert!(message.contains("at least 10.01Mbit/s"), "{message}");
}

#[test]
fn transfers_have_a_load_and_other_flows_with_a_transport_are_not_counted() {
    // Segments of 1460 B are 1500 B with headers and 1538 B on the wire: × 1.05342.
    let transfers = |rate| {
        format!(
            "[[flows]]\nname = \"files\"\nfrom = \"h*\"\nto = \"d\"\ntransport = {{ kind = \"tcp\" }}\napplication = {{ kind = \"transfers\", size = {{ kind = \"fixed\", size = \"100kB\" }}, rate = \"{rate}\" }}\n"
        )
    };
    none(&two_into_one("", &transfers("9.49Mbit/s"))); // 9.997 Mbit/s
    let message = only(&two_into_one("", &transfers("9.5Mbit/s")), Overload, "links[1].rate");
    assert!(message.contains("at least 10.01Mbit/s"), "{message}");
    none(&two_into_one("", &cbr("9Mbit/s").replace("to = \"d\"", "to = \"d\"\ntransport = { kind = \"tcp\" }")));
}

#[test]
fn a_shaper_is_compared_with_the_load_of_frames_without_preamble_and_gap() {
    // A shaper counts the lengths in the buffer, frames of 1018 B: 2 × 2.45 Mbit/s × 1.018 = 4.9882 Mbit/s below a shaper of 5 Mbit/s, 2 × 2.46 Mbit/s above it.
    let shaped = |rate| {
        two_into_one("", &cbr(rate)).replace("sw = {}", "sw = { ports = { d = { shaper = { rate = \"5Mbit/s\" } } } }")
    };
    none(&shaped("2.45Mbit/s"));
    let message = only(&shaped("2.46Mbit/s"), Overload, "switches.sw.ports.d.shaper");
    assert!(message.contains("5.009Mbit/s and its shaper lets pass 5Mbit/s"), "{message}");
}

#[test]
fn traffic_that_a_policer_may_drop_is_not_counted() {
    let policed = cbr("4.9Mbit/s").replace(
        "to = \"d\"",
        "to = \"d\"\nmarking = { meter = { kind = \"fixed\", colour = \"red\" }, police = \"red\" }",
    );
    none(&two_into_one("", &policed));
}

/// Returns two leaves with four hosts each and two spines, all links at 10 Mbit/s; `flow` is the end of the flows' table.
fn fabric(routing: &str, flow: &str) -> String {
    format!(
        r#"tailback = 1
[run]
duration = "10s"
[network]
routing = "{routing}"
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 4
rate = "10Mbit/s"
delay = "1us"
[[flows]]
name = "data"
from = "h[1-4]"
to = "h[5-8]"
pair = "zip"
{flow}
"#
    )
}

#[test]
fn equal_cost_paths_share_a_load() {
    // Four hosts with 4.8 Mbit/s × 1.038 = 4.982 Mbit/s each share two uplinks, which get 9.965 Mbit/s each; with
    // 4.9 Mbit/s, they get 10.17 Mbit/s.
    let source = |rate| format!("source = {{ kind = \"cbr\", packet = \"1000B\", rate = \"{rate}\" }}");
    none(&fabric("ecmp", &source("4.8Mbit/s")));
    let message = only(&fabric("ecmp", &source("4.9Mbit/s")), Overload, "fabric.rate");
    assert!(message.contains("10.17Mbit/s (mean over the equal-cost paths)"), "{message}");
    assert!(message.contains("one similar port"), "both uplinks are overloaded: {message}");
}

const RED: &str = "[network]\nbuffer = \"50kB\"\n[network.discipline]\nkind = \"red\"\n";

#[test]
fn a_threshold_above_the_buffer_is_never_reached() {
    let red = |max: &str| two_into_one(&format!("{RED}min = \"20kB\"\nmax = \"{max}\"\n"), &cbr("4Mbit/s"));
    let message = only(&red("200kB"), Unreachable, "network.discipline.max");
    assert_eq!(message, "`max` of 200kB is never reached: the queue sw->d holds at most 50kB");
    none(&red("50kB"));
    let rendered = scenario(&red("200kB")).warnings()[0].problem.rendered.clone();
    assert!(rendered.starts_with("warning: ") && rendered.contains("--> net.toml:9:7\n"), "{rendered}");
    assert!(
        rendered.contains("raise `network.buffer`; to accept this, write accept = [\"unreachable\"]"),
        "{rendered}"
    );
}

#[test]
fn a_default_derived_from_the_link_rate_is_named_as_a_default() {
    // 5 ms at 10 Mbit/s are 6.25 kB: min is half of it, and max is three times min, 9.375 kB; at 10 Gbit/s all are a
    // thousand times larger.
    let fast = two_into_one(RED, &cbr("4Mbit/s")).replace("10Mbit/s", "10Gbit/s");
    let message = only(&fast, Unreachable, "network.discipline.min");
    assert!(message.contains("the default `min` of 3.125MB"), "{message}");
    none(&two_into_one(RED, &cbr("4Mbit/s")));
}

#[test]
fn a_queue_in_shared_memory_is_limited_by_alpha() {
    // The only queue in 120 kB with an alpha of 1 holds at most 60 kB.
    let shared = |max| {
        two_into_one(&format!("{RED}min = \"20kB\"\nmax = \"{max}\"\n"), &cbr("4Mbit/s"))
            .replace("\"50kB\"", "\"unlimited\"")
            .replace("sw = {}", "sw = { model = { kind = \"shared-memory\", memory = \"120kB\", alpha = 1.0 } }")
    };
    assert!(only(&shared("61kB"), Unreachable, "network.discipline.max").contains("at most 60kB"));
    none(&shared("60kB"));
}

#[test]
fn a_delay_is_reachable_if_the_buffer_holds_it() {
    // The longest wait is that behind 50 kB of minimum frames (64 B, 84 B on the wire), which have the most wire bytes per
    // buffer byte, and behind the frame in transmission, at most 1518 B, 1538 B on the wire: 67,163 B take 5.37 ms at
    // 100 Mbit/s, and 4.88 ms at 110 Mbit/s.
    let codel = |rate| {
        let network = "[network]\nbuffer = \"50kB\"\ndiscipline = { kind = \"codel\" }\n";
        two_into_one(network, &cbr("4Mbit/s")).replace("10Mbit/s", rate)
    };
    none(&codel("100Mbit/s"));
    let message = only(&codel("110Mbit/s"), Unreachable, "network.discipline.target");
    assert!(message.contains("the default `target` of 5ms") && message.contains("4.885ms of waiting"), "{message}");
}

#[test]
fn a_threshold_inside_a_class_is_compared_with_the_limit_of_the_class() {
    let classes = |max| {
        let network = format!(
            "[network]\nbuffer = \"unlimited\"\n[network.discipline]\nkind = \"class-based\"\nclasses = [{{ match = {{ dscp = \"ef\" }}, bandwidth = \"10%\", discipline = {{ kind = \"wred\", profiles = {{ 5 = {{ max = {max} }} }} }} }}]\n"
        );
        two_into_one(&network, &cbr("4Mbit/s"))
    };
    // The default limit of a class is 64 packets.
    let message = only(&classes(65), Unreachable, "network.discipline.classes[0].discipline.profiles.5.max");
    assert!(message.contains("65 packets") && message.contains("64 packets"), "{message}");
    none(&classes(64));
}

#[test]
fn a_congestion_point_has_thresholds_too() {
    // The default of `full` is 90 frames; of 1500 B each they are 135 kB.
    let bcn = |buffer| {
        two_into_one(&format!("[network]\nbuffer = \"{buffer}\"\n"), &cbr("4Mbit/s"))
            .replace("sw = {}", "sw = { congestion-notification = { kind = \"bcn\", frame = \"1500B\" } }")
            .replace(
                "h = { count = 2 }",
                "h = { count = 2, rate-limiters = { law = { kind = \"bcn\" }, buffer = \"150kB\" } }",
            )
    };
    assert!(only(&bcn("130kB"), Unreachable, "switches.sw.congestion-notification.full").contains("135kB"));
    none(&bcn("135kB"));
}

/// Returns bulk flows over TCP with these further keys.
fn tcp(transport: &str) -> String {
    format!(
        "[[flows]]\nname = \"data\"\nfrom = \"h*\"\nto = \"d\"\ntransport = {{ kind = \"tcp\", {transport} }}\nsource = {{ kind = \"bulk\" }}\n"
    )
}

#[test]
fn a_transport_that_needs_marks_needs_a_queue_that_marks() {
    let dctcp = tcp("congestion-control = { kind = \"dctcp\" }, ecn = \"classic\"");
    let message = only(&two_into_one("", &dctcp), NoMarks, "flows[0].transport.congestion-control");
    assert!(message.contains("no queue on the path of `data` marks: h1->sw, sw->d"), "{message}");
    // One queue that marks is enough: the host's does not, and sw->d has RED. Without `ecn` RED drops instead.
    let marking = |ecn| format!("[network.discipline]\nkind = \"red\"\nmin = \"5kB\"\nmax = \"10kB\"\necn = {ecn}\n");
    none(&two_into_one(&marking("true"), &dctcp));
    only(&two_into_one(&marking("false"), &dctcp), NoMarks, "flows[0].transport.congestion-control");
    // Without `ecn` in the transport its packets are not ECN-capable, and a queue that marks drops them.
    only(
        &two_into_one(&marking("true"), &tcp("congestion-control = { kind = \"dctcp\" }")),
        NoMarks,
        "flows[0].transport.congestion-control",
    );
    // Packets with ECT(1) request L4S and require marks.
    let l4s = tcp("ecn = \"classic\", ect = \"ect1\"");
    assert!(only(&two_into_one("", &l4s), NoMarks, "flows[0].transport.ect").contains("requests L4S"));
    none(&two_into_one("[network.discipline]\nkind = \"dualpi2\"\n", &l4s));
    // The default congestion control uses marks if there are any, but works without.
    none(&two_into_one("", &tcp("ecn = \"classic\"")));
}

#[test]
fn go_back_n_needs_packets_in_order() {
    let rdma = "transport = { kind = \"rdma\", congestion-control = { kind = \"timely\" } }\nsource = { kind = \"bulk\", size = \"1MB\" }";
    assert!(only(&fabric("spray", rdma), Reordering, "network.routing").contains("over 2 paths"));
    none(&fabric("ecmp", rdma));
    none(&fabric("spray", "transport = { kind = \"tcp\" }\nsource = { kind = \"bulk\", size = \"1MB\" }"));
}

#[test]
fn samples_further_apart_than_changes_or_the_measured_time_are_reported() {
    let sampled = |sample: &str, more: &str| {
        two_into_one("", &format!("{}{more}", cbr("4Mbit/s")))
            .replace("duration = \"10s\"", &format!("duration = \"10s\"\nwarmup = \"8s\"\nsample = \"{sample}\""))
    };
    // 8 s to 10 s are measured; with a sample every 3 s, one falls at 9 s.
    assert!(only(&sampled("3s", ""), CoarseSample, "run.sample").contains("2s are measured: 1 sample in"));
    none(&sampled("2s", ""));
    let twice = "[[timeline]]\nat = \"4.01s\"\nflow = \"data\"\nstate = \"stop\"\n[[timeline]]\nat = \"4.06s\"\nflow = \"data\"\nstate = \"start\"\n";
    let message = only(&sampled("100ms", twice), CoarseSample, "run.sample");
    assert!(message.contains("from 4.01s to 4.06s takes 50ms: no sample falls"), "{message}");
    none(&sampled("50ms", twice));
}

#[test]
fn a_measured_time_below_the_propagation_delay_of_the_path_is_reported() {
    // Two links of 100 ms. Transmission times are not counted: a packet sent at the start needs more than 200 ms.
    let far = |duration| {
        two_into_one("", &cbr("4Mbit/s"))
            .replace("rate = \"10Mbit/s\"", "rate = \"10Mbit/s\"\ndelay = \"100ms\"")
            .replace("duration = \"10s\"", &format!("duration = \"{duration}\""))
    };
    let message = only(&far("199ms"), ShortMeasurement, "run.duration");
    assert!(message.contains("199ms are measured") && message.contains("at least 200ms"), "{message}");
    none(&far("200ms"));
}

#[test]
fn a_setting_that_another_one_overrides_has_no_effect() {
    let base = scenario(&two_into_one("", &cbr("4Mbit/s")).replace("sw = {}", "sw = { buffer = \"50kB\" }"));
    let without_effect =
        |path: &str, value: &str| base.without_effect(&[(path, value)]).unwrap_or_else(|e| panic!("{e}"));
    let overridden = without_effect("network.buffer", "20kB");
    assert_eq!(overridden.len(), 1);
    assert_eq!(overridden[0].name, NoEffect);
    let rendered = &overridden[0].problem.rendered;
    assert!(
        rendered.contains("`network.buffer=20kB` changes nothing") && rendered.contains("--> --set:1:16"),
        "{rendered}"
    );
    assert!(rendered.contains("set `switches.*.buffer`"), "{rendered}");
    assert_eq!(without_effect("switches.sw.buffer", "20kB"), []);
    // A setting that equals the present value is not a mistake.
    assert_eq!(without_effect("switches.sw.buffer", "50000B"), []);
    // The documents differ, and so do their hashes. `effect` is a hash of the simulated network, the replications and
    // the text of the report, in which the unused buffer does not occur.
    let other = base.with_set(&[("network.buffer", "20kB")]).unwrap();
    assert_ne!(base.hash(), other.hash());
    assert_eq!(base.effect(), other.effect());
    // The title has an effect, since the report shows it.
    for (path, value) in
        [("run.replications", "7"), ("run.seed", "9"), ("flows[0].source.packet", "1001B"), ("title", "other")]
    {
        assert_ne!(base.effect(), base.with_set(&[(path, value)]).unwrap().effect(), "{path}");
        assert_eq!(without_effect(path, value), [], "{path}");
    }
}

#[test]
fn intended_settings_are_accepted_by_name() {
    let text = two_into_one("accept = [\"overload\"]\n", &cbr("4.9Mbit/s"));
    none(&text);
    assert_eq!(warnings(&text.replace("overload", "no-marks")).len(), 1);
    let wrong = Scenario::from_toml(&text.replace("overload", "overlaod"), "net.toml").unwrap_err();
    assert!(wrong.to_string().contains("overload"), "{wrong}");
    // `text` spells the names as documents do.
    for name in WarningName::ALL {
        assert_eq!(serde_json::to_value(name).unwrap(), name.text());
    }
    // An empty list is the default, and does not change the hash.
    assert_eq!(
        scenario(&two_into_one("", &cbr("4Mbit/s"))).hash(),
        scenario(&two_into_one("accept = []\n", &cbr("4Mbit/s"))).hash()
    );
}
