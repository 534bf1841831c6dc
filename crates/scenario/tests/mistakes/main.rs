//! Messages for each kind of mistake: the place, and the advice.

mod congestion;
mod edge;
mod network;
#[path = "../common/right.rs"]
mod right;
mod traffic;
mod written;

use right::RIGHT;
use tailback_scenario::{Scenario, ScenarioError};

/// A mistake: text of the valid scenario and its replacement, with `‸` where the error must point; then the path and a
/// phrase of the message or the advice.
type Mistake = (&'static str, &'static str, &'static str, &'static str);

/// Returns the valid scenario with the mistake, and line and column, from 1, of the mark `‸`; `None`: there is no mark.
fn with_mistake((old, new, ..): &Mistake) -> (String, Option<(usize, usize)>) {
    assert!(RIGHT.contains(old), "{old} is not in the scenario");
    let text = RIGHT.replacen(old, new, 1);
    let at = text.find('‸').map(|at| {
        let before = &text[..at];
        (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n').count() + 1)
    });
    (text.replace('‸', ""), at)
}

/// Returns the defect of the error message; `None`: the message is as expected.
fn fault(mistake: &Mistake) -> Option<String> {
    let (text, at) = with_mistake(mistake);
    let (_, new, path, phrase) = mistake;
    let Err(e) = Scenario::from_toml(&text, "lan.toml") else { return Some("was accepted".to_owned()) };
    let first = e.first();
    let (Some(line), Some(column)) = (first.line, first.column) else {
        return Some(format!("`{new}` has no position"));
    };
    let complaint = if e.problems().len() != 1 {
        "is one mistake".to_owned()
    } else if first.path != *path {
        format!("is at `{path}`, not `{}`", first.path)
    } else if !first.rendered.contains(phrase) {
        format!("should say {phrase:?}")
    } else if !first.rendered.contains(&format!("--> lan.toml:{line}:{column}\n"))
        || at.is_some_and(|at| at != (line, column))
    {
        format!("is in another place, {at:?}")
    } else if first.suggestion.is_none() && !path.is_empty() {
        "comes without advice".to_owned()
    } else {
        return None;
    };
    Some(format!("`{new}` {complaint}:\n{e}"))
}

/// Asserts that the error of each mistake is as expected.
fn check(mistakes: &[Mistake]) {
    let faults: Vec<String> = mistakes.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), mistakes.len(), faults.join("\n"));
}

#[test]
fn the_valid_scenario_is_accepted() {
    Scenario::from_toml(RIGHT, "lan.toml").unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn each_syntactic_mistake_is_shown_with_advice() {
    check(written::MISTAKES);
}

#[test]
fn each_semantic_mistake_is_shown_with_advice() {
    for mistakes in [network::MISTAKES, congestion::MISTAKES, edge::MISTAKES, traffic::MISTAKES] {
        check(mistakes);
    }
}

/// Returns the errors of an invalid document.
fn error(text: &str) -> ScenarioError {
    Scenario::from_toml(text, "lan.toml").unwrap_err()
}

#[test]
fn an_error_shows_the_line_the_place_and_the_advice() {
    let text = RIGHT.replacen("rate = \"10Mbit/s\"", "rate = \"10Mbps\"", 1);
    let expected = "\
error: `Mbps` is not a unit of a rate here
  --> lan.toml:30:8
   |
30 | rate = \"10Mbps\"
   |        ^^^^^^^^
   = help: did you mean Mbit/s (or MB/s if you mean bytes)?
";
    assert_eq!(error(&text).rendered(), expected);
}

#[test]
fn several_mistakes_are_shown_at_once_in_the_order_of_the_file() {
    let text = RIGHT
        .replace("scope = \"class\"", "scope = \"clas\"")
        .replace("duration = \"60s\"", "durration = 60")
        .replace("rate = \"1Gbit/s\"", "rates = \"1Gbit/s\"")
        .replace("kind = \"cbr\"", "kind = \"crb\"");
    let e = error(&text);
    let paths: Vec<&str> = e.problems().iter().map(|p| p.path.as_str()).collect();
    assert_eq!(
        paths,
        ["run.durration", "run.durration", "backpressure.scope", "links[2].rates", "flows[1].source.kind"],
        "{e}"
    );
    assert!(e.rendered().ends_with("5 problems\n"));

    let text =
        RIGHT.replace("class = 2", "class = 7").replace("to = \"h1\"", "to = \"h9\"").replace("\"10s\"", "\"70s\"");
    let e = error(&text);
    let paths: Vec<&str> = e.problems().iter().map(|p| p.path.as_str()).collect();
    assert_eq!(paths, ["run.warmup", "flows[0].class", "flows[1].to"], "{e}");
}

#[test]
fn a_host_that_would_have_to_forward_is_named() {
    let text = RIGHT
        .replace("[switches.floor]\ncount = 2\n", "")
        .replace("h = { count = 4 }", "h = { count = 4 }\nfloor = { count = 2 }");
    let e = error(&text);
    assert_eq!(e.first().path, "flows[0].to", "{e}");
    assert!(e.rendered().contains("hosts do not forward: make `floor1` a switch"), "{e}");
}

#[test]
fn parts_that_are_not_connected_are_named() {
    let text = RIGHT.replace("between = [\"floor*\", \"core\"]", "between = [\"floor1\", \"core\"]");
    let e = error(&text);
    assert!(e.rendered().contains("there is no path from `h3` to `server`"), "{e}");
}

#[test]
fn an_empty_document_is_refused_with_its_required_keys() {
    let e = error("");
    let paths: Vec<String> = e.problems().iter().map(|p| format!("{}:{}", p.line.unwrap(), p.message)).collect();
    assert_eq!(paths, ["1:`tailback` is missing", "1:`run` is missing"], "{e}");
    assert!(e.rendered().contains("add a section [run] with duration = \"20ms\""), "{e}");
    let e = error("tailback = 1\n[run]\nduration = \"1s\"\n");
    assert!(e.rendered().contains("add a table [[links]]") && e.rendered().contains("add a table [[flows]]"), "{e}");
}

#[test]
fn a_table_in_place_of_a_list_is_recognised() {
    let e = error("tailback = 1\n[[run]]\nduration = \"1s\"\n[links]\nrate = \"1Mbit/s\"\n");
    assert!(e.rendered().contains("this section is a single table: write [run]"), "{e}");
    assert!(e.rendered().contains("write [[links]]"), "{e}");
}

#[test]
fn json_errors_have_a_path_and_syntax_errors_a_line() {
    let e = Scenario::from_json(r#"{"tailback": 1, "run": {"duration": 60}}"#).unwrap_err();
    assert_eq!((e.first().path.as_str(), e.first().line), ("run.duration", None));
    assert!(e.rendered().contains("<scenario>, run.duration"), "{e}");
    let e = Scenario::from_json("{\n  \"tailback\": 1,\n}").unwrap_err();
    assert_eq!(e.first().line, Some(3), "{e}");
}

#[test]
fn a_value_set_inside_an_absent_table_finds_its_default_kind() {
    let bare = Scenario::from_toml(
        &RIGHT.replacen("detection = { kind = \"watermark\", high = 0.8, low = 0.7 }\n", "", 1),
        "lan.toml",
    );
    let set = bare.unwrap().with_set(&[("backpressure.detection.high", "0.9")]).unwrap();
    assert!(set.to_toml().contains("high = 0.9"), "{}", set.to_toml());
}

#[test]
fn an_error_in_a_set_value_points_into_that_value() {
    let right = Scenario::from_toml(RIGHT, "lan.toml").unwrap();
    let e = right.with_set(&[("links[*].rate", "10Mbps")]).unwrap_err();
    assert!(e.first().rendered.contains("--> --set:1:15\n"), "{e}");
    assert!(e.first().rendered.contains("links[*].rate=10Mbps\n"), "{e}");
    let e = right.with_set(&[("run.durration", "10s")]).unwrap_err();
    assert_eq!((e.first().column, e.first().suggestion.as_deref()), (Some(1), Some("did you mean `duration`?")), "{e}");
    let e = right.with_set(&[("flows[vioce].class", "1")]).unwrap_err();
    assert!(e.rendered().contains("did you mean `voice`?"), "{e}");
    // Other errors are still shown with their place in the file.
    let e = right.with_set(&[("network.classes", "2")]).unwrap_err();
    assert!(e.rendered().contains("--> lan.toml:49:9"), "{e}");
}

/// The largest size, 2^64 − 1 B, as segment or header: their sum does not overflow, and the size is refused.
#[test]
fn sizes_at_the_end_of_their_range_are_refused_with_a_message() {
    let source = "source = { kind = \"uniform-uniform\", burst = \"24kB\", rate = \"3Mbit/s\" }";
    assert!(RIGHT.contains(source));
    for control in ["reno", "timely", "hpcc", "swift"] {
        for key in ["segment", "header"] {
            let control = format!("congestion-control = {{ kind = \"{control}\" }}");
            let with =
                format!("{source}\ntransport = {{ kind = \"tcp\", {control}, {key} = \"18446744073709551615B\" }}");
            let reported = error(&RIGHT.replacen(source, &with, 1)).to_string();
            assert!(reported.contains("18446744073709551.615kB is out of range"), "{reported}");
        }
    }
}
