//! Study documents: accepted forms, and messages for mistakes.

use serde_json::Value;
use tailback_random::Rng;
use tailback_scenario::{DesignKind, Scale, Study};

const RIGHT: &str = r#"study = 1
title = "Load and buffer"
scenario = "merge.toml"
replications = 3
set = { "run.duration" = "2s" }

[design]
kind = "grid"

[[axes]]
name = "load"
path = "flows[data].source.rate"
values = ["3Mbit/s", "4Mbit/s"]

[[axes]]
path = ["network.buffer"]
range = { from = "10kB", to = "40kB", steps = 3, scale = "log" }

[[mechanisms]]
name = "none"

[[mechanisms]]
name = "plain"
set = { "backpressure.scope" = "plain" }

[until]
metric = "loss"
of = "difference"
max-replications = 20
"#;

/// A mistake: text of the valid study, its replacement with `‸` where the error points, its path, and a phrase of the
/// message or the advice.
type Mistake = (&'static str, &'static str, &'static str, &'static str);

const MISTAKES: &[Mistake] = &[
    ("study = 1\n", "‸", "", "add `study = 1` at the top"),
    ("study = 1", "study = ‸2", "study", "version 1"),
    ("title =", "‸titel =", "titel", "did you mean `title`?"),
    ("scenario = \"merge.toml\"\n", "", "", "add `scenario = \"scenario.toml\"`"),
    ("replications = 3", "replications = ‸0", "replications", "1 to 100000"),
    ("replications = 3", "replications = ‸1", "replications", "no confidence interval"),
    ("replications = 3", "replications = 3\nconfidence = ‸1.0", "confidence", "0.5 to 0.999999"),
    ("kind = \"grid\"", "kind = ‸\"gird\"", "design.kind", "did you mean `grid`?"),
    ("kind = \"grid\"", "kind = \"grid\"\n‸samples = 4", "design.samples", "remove it"),
    ("kind = \"grid\"", "kind = \"grid\"\n‸seed = 4", "design.seed", "no random draws"),
    ("name = \"load\"", "‸nmae = \"load\"", "axes[0].nmae", "did you mean `name`?"),
    ("name = \"load\"", "name = ‸\"metric\"", "axes[0].name", "a column of the results"),
    ("[\"3Mbit/s\", \"4Mbit/s\"]", "‸[]", "axes[0].values", "the list of values is empty"),
    ("path = [\"network.buffer\"]", "path = ‸[]", "axes[1].path", "no path"),
    ("[\"network.buffer\"]", "‸\"flows[data].source.rate\"", "axes[1].path", "already set by an earlier axis"),
    ("steps = 3, ", "‸stpes = 3, ", "axes[1].range.stpes", "did you mean `steps`?"),
    ("steps = 3, ", "steps = ‸1, ", "axes[1].range.steps", "2 to 10000"),
    ("from = \"10kB\"", "from = ‸\"many\"", "axes[1].range.from", "a number with a unit"),
    ("to = \"40kB\"", "to = ‸\"40ms\"", "axes[1].range.to", "write it in kB"),
    ("to = \"40kB\"", "to = ‸\"40packets\"", "axes[1].range.to", "write it in kB"),
    ("to = \"40kB\"", "to = ‸40", "axes[1].range.to", "write it in kB"),
    ("to = \"40kB\"", "to = ‸\"10kB\"", "axes[1].range.to", "the ends are equal"),
    ("to = \"40kB\"", "to = ‸\"0.01MB\"", "axes[1].range.to", "the ends are equal"),
    ("from = \"10kB\"", "from = ‸\"0kB\"", "axes[1].range.from", "begins above zero"),
    ("scale = \"log\"", "digits = ‸16", "axes[1].range.digits", "1 to 15"),
    ("name = \"plain\"", "name = ‸\"none\"", "mechanisms[1].name", "another mechanism is already named"),
    ("metric = \"loss\"\n", "", "until", "add `metric = \"loss\"`"),
    ("max-replications = 20", "max-replications = ‸2", "until.max-replications", "a number from 3 to 100000"),
    ("of = \"difference\"", "relative = ‸0.0", "until.relative", "a half-width of 0 is never reached"),
    ("of = \"difference\"", "absolute = ‸-1.0", "until.absolute", "0 or more"),
];

#[test]
fn a_valid_study_is_read_with_its_defaults() {
    let study = Study::from_toml(RIGHT, "study.toml").unwrap();
    let document = study.document();
    assert_eq!(document.design.kind, DesignKind::Grid);
    assert_eq!(document.axes.len(), 2);
    let range = document.axes[1].range.as_ref().unwrap();
    assert_eq!((range.scale, range.steps, range.digits), (Scale::Log, Some(3), 4));
    assert_eq!(document.until.as_ref().unwrap().relative.0, 0.1);
    assert_eq!(Study::from_json(&study.to_json()).unwrap().document(), document);
}

/// `str::parse` gives the nearest double. A study's numbers are read to this value, and written as a text that is read
/// to it again.
#[test]
fn numbers_of_a_study_in_json_are_the_nearest_doubles() {
    let mut rng = Rng::named(1, "digits");
    for text in ["9.2233720368540854036e+24".to_owned()].into_iter().chain((0..2_000).map(|_| {
        let number = f64::from_bits(rng.bits());
        format!("{:.20e}", if number.is_finite() { number } else { 0.5 })
    })) {
        let nearest: f64 = text.parse().unwrap();
        let json = format!(r#"{{"study":1,"scenario":"a.toml","set":{{"run.warmup":{text}}}}}"#);
        let read: Value = serde_json::from_str(&Study::from_json(&json).unwrap().to_json()).unwrap();
        assert_eq!(read["set"]["run.warmup"].as_f64().unwrap().to_bits(), nearest.to_bits(), "{text}");
    }
}

#[test]
fn every_mistake_is_shown_at_its_place_with_advice() {
    for (right, wrong, path, phrase) in MISTAKES {
        assert!(RIGHT.contains(right), "{right}");
        let marked = RIGHT.replacen(right, wrong, 1);
        let text = marked.replace('‸', "");
        let error = Study::from_toml(&text, "study.toml").unwrap_err();
        let first = error.first();
        assert_eq!(&first.path, path, "{wrong}: {error}");
        assert!(error.rendered().contains(phrase), "{wrong}: {error}");
        if let Some(at) = marked.find('‸') {
            let line = text[..at].matches('\n').count() + 1;
            let column = text[..at].chars().rev().take_while(|c| *c != '\n').count() + 1;
            assert_eq!((first.line, first.column), (Some(line), Some(column)), "{wrong}: {error}");
        }
    }
}

#[test]
fn designs_that_draw_need_their_number_and_ranges_without_steps() {
    for kind in ["random", "latin-hypercube"] {
        let text = RIGHT.replace("kind = \"grid\"", &format!("kind = \"{kind}\"\nsamples = 10\nseed = 3"));
        let error = Study::from_toml(&text, "study.toml").unwrap_err();
        assert_eq!(error.first().path, "axes[1].range.steps", "{error}");
        let text = text.replace("steps = 3, ", "");
        assert_eq!(Study::from_toml(&text, "study.toml").unwrap().document().design.samples, Some(10));
        let error = Study::from_toml(&text.replace("samples = 10\n", ""), "study.toml").unwrap_err();
        assert!(error.rendered().contains("add `samples = 100`"), "{error}");
    }
}

#[test]
fn a_list_needs_the_same_number_of_values_on_every_axis() {
    let text = RIGHT.replace("kind = \"grid\"", "kind = \"list\"");
    let error = Study::from_toml(&text, "study.toml").unwrap_err();
    assert_eq!(error.first().path, "axes[1]", "{error}");
    assert!(error.rendered().contains("3 values, but axes[0] has 2"), "{error}");
    assert!(Study::from_toml(&text.replace("steps = 3", "steps = 2"), "study.toml").is_ok());
}

#[test]
fn several_mistakes_are_reported_at_once() {
    let text =
        RIGHT.replace("title =", "titel =").replace("kind = \"grid\"", "kind = \"gird\"").replace("of =", "off =");
    assert_eq!(Study::from_toml(&text, "study.toml").unwrap_err().problems().len(), 3);
}

#[test]
fn a_refusal_points_at_its_value() {
    let study = Study::from_toml(RIGHT, "study.toml").unwrap();
    let error = study.refuse("axes[0].values[1]", "too fast", Some("write less"));
    assert_eq!((error.first().line, error.first().column), (Some(13), Some(22)));
    assert!(error.rendered().contains("= help: write less"));
}

#[test]
fn the_ends_of_a_range_may_be_different_multiples_of_one_unit() {
    for (from, to) in [("10kB", "4MB"), ("10KiB", "1GB"), ("500us", "20ms"), ("64kbit/s", "2Gbit/s")] {
        let text = RIGHT.replace("from = \"10kB\", to = \"40kB\"", &format!("from = \"{from}\", to = \"{to}\""));
        assert!(text.contains(to));
        Study::from_toml(&text, "study.toml").unwrap_or_else(|e| panic!("{e}"));
    }
}
