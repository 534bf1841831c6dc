//! Properties of every registered model.

use serde_json::{Value, json};
use tailback_document::{Checked, decode};
use tailback_random::Rng;
use tailback_traffic::{Burst, MAX_BURST, Model};
use tailback_units::{Dur, Time};

/// Returns a typical document of a kind, the time in seconds over which its rate is measured, and the relative
/// tolerance of the mean rate, which converges slowly with a heavy tail.
fn example(kind: &str) -> (Value, u64, f64) {
    match kind {
        "cbr" => (json!({ "kind": kind, "packet": "1000B", "rate": "3Mbit/s", "jitter": 0.01 }), 100, 1e-3),
        "poisson" => (json!({ "kind": kind, "packet": "1000B", "interval": "1ms" }), 200, 0.01),
        "uniform-fixed" => (json!({ "kind": kind, "burst": "6kB", "rate": "2Mbit/s" }), 4_000, 0.01),
        "uniform-uniform" => (json!({ "kind": kind, "burst": "6kB", "rate": "2Mbit/s" }), 8_000, 0.01),
        "on-off" => {
            let model = json!({ "kind": kind, "packet": "1000B", "rate": "10Mbit/s", "on": "10ms", "off": "30ms",
                                "distribution": "pareto", "shape": 2.5 });
            (model, 2_000, 0.03)
        }
        "self-similar" => {
            let model =
                json!({ "kind": kind, "burst": "6kB", "rate": "10Mbit/s", "alpha-size": 2.5, "alpha-gap": 2.5 });
            (model, 1_000, 0.02)
        }
        "video" => (json!({ "kind": kind }), 20_000, 0.03),
        "trace" => (json!({ "kind": kind, "file": "a.txt", "format": "terse-bytes" }), 1_000, 1e-2),
        "bernoulli" => (json!({ "kind": kind, "packet": "1500B", "slot": "100us", "load": 0.6 }), 100, 0.01),
        "bulk" => (json!({ "kind": kind, "size": "5MB" }), 1, 0.0),
        other => panic!("add an example of `{other}` here"),
    }
}

/// Returns the kinds of models that have parameters only; a user's source needs a file.
fn kinds() -> impl Iterator<Item = &'static str> {
    Model::NAMES.iter().copied().filter(|kind| *kind != "user")
}

/// Returns the example's model; a trace is loaded with four frames.
fn model(kind: &str) -> Model {
    let mut model: Model = decode(example(kind).0).unwrap();
    model.check().unwrap();
    if let Model::Trace(trace) = &mut model {
        trace.load("3000\n0\n1200\n700\n").unwrap();
    }
    model
}

/// Returns the bursts of a source that starts at [`START`], up to the time `until` and at most `limit` of them.
fn bursts(model: &Model, stream: &str, until: Time, limit: usize) -> Vec<Burst> {
    let mut rng = Rng::named(1, stream);
    let mut source = model.start(START, &mut rng);
    core::iter::from_fn(|| source.next(&mut rng)).take_while(|b| b.at <= until).take(limit).collect()
}

const START: Time = Time(7_000_000_000_000);

#[test]
fn times_never_go_back_nor_before_the_start_and_no_burst_is_empty_or_endless() {
    for kind in kinds() {
        let observed = bursts(&model(kind), "a", Time::NEVER, 50_000);
        assert!(!observed.is_empty() && observed[0].at >= START, "{kind}");
        assert!(observed.windows(2).all(|w| w[0].at <= w[1].at), "{kind}");
        assert!(observed.iter().all(|b| (1..=MAX_BURST).contains(&b.bytes)), "{kind}");
    }
}

#[test]
fn equal_streams_give_equal_bursts_and_different_ones_do_not() {
    for kind in kinds() {
        let model = model(kind);
        assert_eq!(bursts(&model, "a", Time::NEVER, 2_000), bursts(&model, "a", Time::NEVER, 2_000), "{kind}");
        if kind != "bulk" {
            assert_ne!(bursts(&model, "a", Time::NEVER, 2_000), bursts(&model, "b", Time::NEVER, 2_000), "{kind}");
        }
    }
}

#[test]
fn two_sources_of_one_model_are_uncorrelated() {
    // A bin of video is one group of pictures, since the pattern inside groups would correlate.
    for (kind, width) in [
        ("poisson", 50_000_000_000),
        ("uniform-uniform", 50_000_000_000),
        ("on-off", 50_000_000_000),
        ("bernoulli", 50_000_000_000),
        ("video", 400_000_000_000),
    ] {
        let counts = |stream| {
            let mut bins = vec![0.0; 4_000];
            for burst in bursts(&model(kind), stream, Time(START.0 + width * 4_000 - 1), usize::MAX) {
                bins[((burst.at.0 - START.0) / width) as usize] += burst.bytes as f64;
            }
            bins
        };
        let (a, b) = (counts("a"), counts("b"));
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let (ma, mb) = (mean(&a), mean(&b));
        let sum = |f: &dyn Fn(usize) -> f64| (0..a.len()).map(f).sum::<f64>();
        let correlation = sum(&|i| (a[i] - ma) * (b[i] - mb))
            / (sum(&|i| (a[i] - ma) * (a[i] - ma)) * sum(&|i| (b[i] - mb) * (b[i] - mb))).sqrt();
        // Four standard errors of uncorrelated noise are 4/√4000 = 0.063; video scenes of ten groups triple the error.
        assert!(correlation.abs() < 0.2, "{kind}: {correlation}");
    }
}

#[test]
fn the_realised_rate_is_the_stated_mean_rate() {
    for kind in kinds() {
        let (_, seconds, tolerance) = example(kind);
        let model = model(kind);
        let Some(stated) = model.mean_rate_bps() else {
            assert_eq!(kind, "bulk");
            continue;
        };
        let end = START + Dur::from_secs(seconds);
        let bytes: u64 = bursts(&model, "rate", end, usize::MAX).iter().map(|b| b.bytes).sum();
        let observed = 8.0 * bytes as f64 / seconds as f64;
        assert!((observed / stated - 1.0).abs() < tolerance, "{kind}: {observed} instead of {stated}");
    }
}

#[test]
fn sources_have_their_mean_rate_from_the_start() {
    // The mean over many runs of 3 ms, which is shorter than a gap or period of most models, shows a stationary start.
    for kind in ["cbr", "poisson", "uniform-fixed", "uniform-uniform", "on-off", "video", "trace", "self-similar"] {
        let model = model(kind);
        let end = Time(START.0 + 3_000_000_000);
        let runs = 60_000;
        let bytes: u64 = (0..runs)
            .map(|i| {
                let mut rng = Rng::named(i, "short");
                let mut source = model.start(START, &mut rng);
                core::iter::from_fn(|| source.next(&mut rng)).take_while(|b| b.at < end).map(|b| b.bytes).sum::<u64>()
            })
            .sum();
        let observed = 8.0 * bytes as f64 / (runs as f64 * 3e-3);
        let stated = model.mean_rate_bps().unwrap();
        assert!((observed / stated - 1.0).abs() < 0.06, "{kind}: {observed} instead of {stated}");
    }
}

#[test]
fn a_serialised_model_is_decoded_to_an_equal_one() {
    for kind in kinds() {
        let observed: Model = decode(example(kind).0).unwrap();
        let written = serde_json::to_value(&observed).unwrap();
        assert_eq!(written["kind"], kind);
        assert_eq!(decode::<Model>(written).unwrap(), observed, "{kind}");
    }
}

#[test]
fn an_unknown_parameter_is_refused_by_every_model() {
    for kind in kinds() {
        let (mut document, ..) = example(kind);
        document["colour"] = "red".into();
        let error = decode::<Model>(document).unwrap_err();
        assert_eq!(error.path.to_string(), "colour", "{kind}");
    }
}

#[test]
fn invalid_parameters_are_refused_with_advice() {
    for (document, path, advice) in [
        (json!({ "kind": "cbr", "packet": "0B", "rate": "1Mbit/s" }), "packet", "write 1B to 1GB"),
        (json!({ "kind": "cbr", "packet": "2GB", "rate": "1Mbit/s" }), "packet", "write 1B to 1GB"),
        (json!({ "kind": "cbr", "packet": "1kB" }), "", "write `rate` or `interval`"),
        (json!({ "kind": "cbr", "packet": "1kB", "rate": "1Mbit/s", "interval": "1ms" }), "interval", "keep one"),
        (json!({ "kind": "cbr", "packet": "1kB", "interval": "0s" }), "interval", "above 0s"),
        (json!({ "kind": "cbr", "packet": "1B", "rate": "10Tbit/s" }), "rate", "lower it"),
        (json!({ "kind": "poisson", "packet": "1GB", "rate": "1bit/s" }), "rate", "raise it"),
        (json!({ "kind": "uniform-uniform", "burst": "31B", "rate": "1Mbit/s" }), "burst", "write 32B"),
        (
            json!({ "kind": "on-off", "packet": "1500B", "rate": "1Mbit/s", "on": "1ms", "off": "1ms" }),
            "on",
            "at least 12ms",
        ),
        (
            json!({ "kind": "on-off", "packet": "1500B", "rate": "1Gbit/s", "on": "1ms", "off": "1ms", "shape": 1.0 }),
            "shape",
            "above 1",
        ),
        (
            json!({ "kind": "self-similar", "burst": "24kB", "rate": "1Mbit/s", "sources": 0 }),
            "sources",
            "1 to 1000000",
        ),
        (
            json!({ "kind": "self-similar", "burst": "24kB", "rate": "1Mbit/s", "alpha-gap": 0.9 }),
            "alpha-gap",
            "above 1",
        ),
        // With a shape near 1 the rejection of the first bursts takes long; the smallest accepted shape is tested below.
        (
            json!({ "kind": "self-similar", "burst": "24kB", "rate": "1Mbit/s", "alpha-size": 1.009 }),
            "alpha-size",
            "1.01 to 10",
        ),
        (
            json!({ "kind": "self-similar", "burst": "24kB", "rate": "1Mbit/s", "truncate": "1kB" }),
            "truncate",
            "write a larger size, or \"none\"",
        ),
        (
            json!({ "kind": "self-similar", "burst": "24kB", "rate": "1Mbit/s", "peak": "10kbit/s" }),
            "peak",
            "sends 10kbit/s of the aggregate's rate",
        ),
        (json!({ "kind": "video", "fps": 0.0 }), "fps", "0.01"),
        (json!({ "kind": "video", "rate": "1kbit/s" }), "rate", "64 B to 1 GB"),
        (json!({ "kind": "trace", "file": "", "format": "verbose" }), "file", "path"),
        (json!({ "kind": "bernoulli", "packet": "1kB", "slot": "1ms", "load": 0 }), "load", "above 0"),
        (json!({ "kind": "bulk", "size": "0B" }), "size", "write 1B"),
    ] {
        let error = decode::<Model>(document.clone()).unwrap().check().unwrap_err();
        assert_eq!(error.path, path, "{document}");
        assert!(error.message.contains(advice), "{document}: {}", error.message);
    }
}

#[test]
fn the_heaviest_tail_that_is_accepted_starts_and_sends() {
    let model: Model =
        decode(json!({ "kind": "self-similar", "burst": "24kB", "rate": "100Mbit/s", "alpha-size": 1.01,
                                      "sources": 10_000 }))
        .unwrap();
    model.check().unwrap();
    assert_eq!(bursts(&model, "heavy", Time::NEVER, 1_000).len(), 1_000);
}

#[test]
fn words_that_are_not_choices_are_refused_with_the_choices() {
    for (document, advice) in [
        (json!({ "kind": "cbr", "packet": "1kB", "rate": "1Mbit/s", "phase": "rand" }), "\"random\""),
        (json!({ "kind": "cbr", "packet": "1kB", "rate": "1Mbit/s", "phase": "5" }), "no unit"),
        (json!({ "kind": "self-similar", "burst": "1kB", "rate": "1Mbit/s", "truncate": "never" }), "\"none\""),
        (json!({ "kind": "self-similar", "burst": "1kB", "rate": "1Mbit/s", "peak": "line" }), "\"batch\""),
        (json!({ "kind": "trace", "file": "a", "format": "terse" }), "terse-bytes"),
    ] {
        let error = decode::<Model>(document.clone()).unwrap_err();
        let whole = format!("{} {}", error.message, error.help.unwrap_or_default());
        assert!(whole.contains(advice), "{document}: {whole}");
    }
}

#[test]
fn defaults_are_the_documented_ones() {
    let observed: Model = decode(json!({ "kind": "self-similar", "burst": "24kB", "rate": "2Mbit/s" })).unwrap();
    let written = serde_json::to_value(&observed).unwrap();
    assert_eq!(
        written,
        json!({ "kind": "self-similar", "burst": "24kB", "rate": "2Mbit/s", "sources": 100,
                "packet": "1500B", "alpha-size": 1.4, "alpha-gap": 1.4, "truncate": "5MB" })
    );
    let video: Model = decode(json!({ "kind": "video" })).unwrap();
    assert_eq!(video, Model::Video(tailback_traffic::Video::default()));
}

#[test]
fn a_source_at_the_end_of_time_falls_silent_without_overflow() {
    for kind in kinds() {
        let model = model(kind);
        let mut rng = Rng::named(1, "end");
        let mut source = model.start(Time(u64::MAX - 1_000), &mut rng);
        let observed: Vec<Burst> = core::iter::from_fn(|| source.next(&mut rng)).take(10).collect();
        assert!(observed.len() < 10 && observed.iter().all(|b| b.at.0 >= u64::MAX - 1_000), "{kind}: {observed:?}");
    }
}

#[test]
fn the_schema_describes_every_kind_and_every_parameter() {
    let schema = serde_json::to_value(schemars::schema_for!(Model)).unwrap();
    let kinds = schema["oneOf"].as_array().unwrap();
    assert_eq!(kinds.len(), Model::NAMES.len());
    for (kind, name) in kinds.iter().zip(Model::NAMES) {
        assert_eq!(kind["title"], **name);
        assert!(kind["description"].as_str().is_some_and(|text| text.len() > 20), "{name}");
        for (parameter, schema) in kind["properties"].as_object().unwrap() {
            let described = schema["description"].as_str().is_some_and(|text| text.len() > 15);
            assert!(described || parameter == "kind", "{name}: {parameter}: {schema}");
        }
    }
}
