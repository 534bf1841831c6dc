//! Scenarios that name trace files.

use tailback_scenario::{Files, Scenario, build};
use tailback_sim::World;

const SCENARIO: &str = r#"
tailback = 1
[run]
duration = "10s"
[hosts]
a = {}
b = {}
[switches]
s = {}
[[links]]
between = ["a", "s"]
rate = "100Mbit/s"
[[links]]
between = ["s", "b"]
rate = "100Mbit/s"
[[flows]]
name = "film"
from = "a"
to = "b"
source = { kind = "trace", file = "film.txt", format = "terse-bytes", fps = 25 }
"#;

/// Returns a reader of files that has this text for `film.txt` and no other file.
fn read(text: &'static str) -> Files {
    Files::read_by(move |file| if file == "film.txt" { Ok(text.to_owned()) } else { Err("no such file".to_owned()) })
}

#[test]
fn a_trace_is_read_and_sent() {
    let scenario = Scenario::from_toml_with(SCENARIO, "film.toml", read("1000\n2000\n3000\n")).unwrap();
    let mut world = World::new(build(&scenario, 1, None));
    crate::common::to_end(&mut world);
    let offered = world.report().flows.row(0).offered.bytes;
    // 250 frames are 83 times the trace of 6000 B, and one more frame of 1 to 3 kB, since the first is drawn at random.
    assert!((498_000..=502_000).contains(&offered), "{offered}");
}

#[test]
fn the_hash_includes_the_content_of_the_file() {
    let hash = |text| Scenario::from_toml_with(SCENARIO, "film.toml", read(text)).unwrap().hash();
    assert_eq!(hash("1000\n2000\n"), hash("1000\n2000\n"));
    assert_ne!(hash("1000\n2000\n"), hash("1000\n2001\n"));
}

#[test]
fn set_reads_the_file_that_it_names() {
    let scenario = Scenario::from_toml_with(SCENARIO, "film.toml", read("1000\n")).unwrap();
    let error = scenario.with_set(&[("flows[film].source.file", "other.txt")]).unwrap_err();
    assert!(error.rendered().contains("no such file"), "{}", error.rendered());
}

#[test]
fn a_file_that_is_missing_or_malformed_is_an_error_at_its_name() {
    for (files, phrase) in [
        (Files::none(), "`film.txt` cannot be read"),
        (read("1000\nfast\n"), "line 2 of `film.txt`"),
        (read(""), "`film.txt`: the trace has no frames"),
        (read("0\n0\n"), "`film.txt`: every frame of the trace is empty"),
    ] {
        let error = Scenario::from_toml_with(SCENARIO, "film.toml", files).unwrap_err().rendered();
        assert!(!error.contains("line 0"), "lines are counted from 1: {error}");
        assert!(error.contains(phrase) && error.contains("film.toml:20:"), "{error}");
    }
}
