//! Fixed scenarios for every mechanism, whose results are pinned by levels. The pins are earlier results of this
//! program: a difference shows that results have changed, and equality does not show that they are right.
//!
//! A file `NAME.scenarios` has documents, with short names for paths, and scenarios, each of which changes one or more
//! documents; `shared.scenarios` has documents for all files. After the colon, a scenario lists counters of the report
//! and reasons of drops that must be above zero with its first document.
//!
//! ```text
//! === document
//! short q = switches.s.discipline
//! tailback = 1
//! === document: another
//! run.duration = "9s"
//! === scenarios
//! red-marks (document): early drop, marked_packets
//!     q = { kind = "red", ecn = true }
//! codel (document, another): early drop
//!     q = { kind = "codel" }
//! ```
//!
//! `NAME.pins` has the results.

mod complete;
#[path = "../../../sim/tests/golden/levels.rs"]
mod levels;
mod tunable;

use levels::{Levels, all_differ, compare};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tailback_scenario::{Files, Scenario, build};
use tailback_sim::plan::Engine;
use tailback_sim::{Parts, Report, World};

/// Makes the list of files, and a test of each.
macro_rules! files {
    ($($name:ident: $test:ident),+ $(,)?) => {
        const FILES: &[&str] = &[$(stringify!($name)),+];

        $(
            #[test]
            fn $test() {
                check(stringify!($name));
            }
        )+
    };
}

files! {
    laws: queue_laws_give_the_results_that_they_gave_before,
    schedulers: schedulers_give_the_results_that_they_gave_before,
    tcp: tcp_gives_the_results_that_it_gave_before,
    controls: congestion_controls_give_the_results_that_they_gave_before,
    adapters: network_adapters_give_the_results_that_they_gave_before,
    pressure: back_pressure_gives_the_results_that_it_gave_before,
    notification: congestion_notification_gives_the_results_that_it_gave_before,
    edge: conditioners_and_labels_give_the_results_that_they_gave_before,
    traffic: traffic_models_give_the_results_that_they_gave_before,
    paths: paths_and_links_give_the_results_that_they_gave_before,
}

/// A fixed scenario.
struct Golden {
    name: String,
    /// Counters and reasons of drops that must be above zero.
    needs: Vec<String>,
    scenario: Scenario,
}

/// Returns the folder of the scenarios and pins.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn read(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A document that scenarios change, and its short names.
struct Base {
    scenario: Scenario,
    /// Short names, each with the path for which it stands.
    shorts: Vec<(String, String)>,
}

/// Returns the path and the value of a change, as they are written.
fn pair(line: &str) -> (&str, &str) {
    line.trim().split_once(" = ").unwrap_or_else(|| panic!("{line}: write PATH = VALUE"))
}

impl Base {
    /// Parses a document with its lines `short NAME = PATH`.
    fn new(name: &str, text: &str) -> Base {
        let short = |line: &str| {
            let (short, path) = line.strip_prefix("short ")?.split_once(" = ")?;
            Some((short.to_owned(), path.to_owned()))
        };
        let shorts = text.lines().filter_map(short).collect();
        let document = text.lines().filter(|line| short(line).is_none()).collect::<Vec<_>>().join("\n");
        let files = Files::read_by(|name| std::fs::read_to_string(folder().join(name)).map_err(|e| e.to_string()));
        let scenario = Scenario::from_toml_with(&document, name, files);
        Base { scenario: scenario.unwrap_or_else(|e| panic!("{e}")), shorts }
    }

    /// Returns the document with changes.
    fn changed(&self, changes: &[&str]) -> Result<Scenario, String> {
        let pairs: Vec<(String, &str)> =
            changes.iter().map(|line| pair(line)).map(|(path, value)| (self.path(path), value)).collect();
        self.scenario.with_set(&pairs).map_err(|e| e.to_string())
    }

    /// Returns the path of a change, with its short name replaced.
    fn path(&self, written: &str) -> String {
        let long = |(short, path): &(String, String)| {
            let tail = written.strip_prefix(short.as_str())?;
            (tail.is_empty() || tail.starts_with(['.', '['])).then(|| format!("{path}{tail}"))
        };
        self.shorts.iter().find_map(long).unwrap_or_else(|| written.to_owned())
    }
}

/// Returns the scenarios of a file.
fn scenarios(file: &str) -> Vec<Golden> {
    let text = read("shared.scenarios") + &read(&format!("{file}.scenarios"));
    let mut bases: BTreeMap<&str, Base> = BTreeMap::new();
    let mut golden: Vec<Golden> = Vec::new();
    for block in text.split("\n=== ").skip(1) {
        let (name, body) = block.split_once('\n').expect("a name");
        if name == "scenarios" {
            golden.extend(of_block(&bases, body));
        } else if let Some((name, parent)) = name.split_once(": ") {
            let parent = &bases[parent];
            let changes: Vec<&str> = body.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
            let scenario = parent.changed(&changes).unwrap_or_else(|e| panic!("{name}:\n{e}"));
            let base = Base { scenario, shorts: parent.shorts.clone() };
            bases.insert(name, base);
        } else {
            bases.insert(name, Base::new(name, body));
        }
    }
    golden
}

/// Returns the scenarios of a block, one for each document that the parentheses of an entry name.
fn of_block(bases: &BTreeMap<&str, Base>, block: &str) -> Vec<Golden> {
    let mut entries: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in block.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("    ") {
            Some(change) => entries.last_mut().expect("a scenario before its changes").1.push(change),
            None => entries.push((line, Vec::new())),
        }
    }
    let (mut golden, mut wrong) = (Vec::new(), Vec::new());
    for (head, changes) in entries {
        let parts = head.split_once(" (").and_then(|(name, tail)| Some((name, tail.split_once("):")?)));
        let (name, (documents, needs)) = parts.unwrap_or_else(|| panic!("{head}: write NAME (DOCUMENT): needs"));
        let needs: Vec<String> = needs.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::to_owned).collect();
        for (index, base) in documents.split(", ").enumerate() {
            let name = if index == 0 { name.to_owned() } else { format!("{name}/{base}") };
            let needs = if index == 0 { needs.clone() } else { Vec::new() };
            match bases.get(base).unwrap_or_else(|| panic!("{name}: no document {base}")).changed(&changes) {
                Ok(scenario) => golden.push(Golden { name, needs, scenario }),
                Err(e) => wrong.push(format!("{name}:\n{e}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    golden
}

/// Returns the report of a run with seed 1.
fn run(scenario: &Scenario, engine: Engine) -> Report {
    let mut world = World::new(build(scenario, 1, Some(engine)));
    world.run_to_end();
    world.report()
}

/// Runs a scenario by both engines, whose results must be equal. Returns its line of the pins, and a message about a
/// needed counter that is zero.
fn line(golden: &Golden) -> (String, Option<String>) {
    let merged = Levels::of(&run(&golden.scenario, Engine::Merged));
    let plain = Levels::of(&run(&golden.scenario, Engine::Plain));
    let name = &golden.name;
    assert_eq!(merged.line(name), plain.line(name), "merged and plain engine differ");
    let shown = |need: &&String| merged.totals.get(*need).is_some_and(|count| *count > 0);
    let missing = golden.needs.iter().find(|need| !shown(need));
    (merged.line(name), missing.map(|need| format!("{name} shows no {need}: {:?}", merged.totals)))
}

/// Compares the results of a file's scenarios with its pins, and checks that the needed counters are above zero.
#[track_caller]
fn check(file: &str) {
    let (lines, missing): (Vec<_>, Vec<_>) = scenarios(file).iter().map(line).unzip();
    compare(&folder().join(format!("{file}.pins")), &lines);
    let missing: Vec<String> = missing.into_iter().flatten().collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Every fifth scenario is run, since all would take too long.
#[test]
fn scenarios_in_two_or_three_parts_give_the_results_of_the_whole() {
    let mut divided = 0;
    for golden in FILES.iter().flat_map(|file| scenarios(file)).step_by(5) {
        let parts = Parts::new(build(&golden.scenario, 1, None), 3);
        if parts.partition().parts() > 1 {
            let whole = Levels::of(&run(&golden.scenario, Engine::Merged)).line(&golden.name);
            assert_eq!(Levels::of(&parts.run_in_turn().report()).line(&golden.name), whole);
            divided += 1;
        }
    }
    assert!(divided > 50, "{divided}");
}

#[test]
fn no_two_scenarios_have_equal_results() {
    let pins: Vec<(&str, String)> = FILES.iter().map(|file| (*file, read(&format!("{file}.pins")))).collect();
    all_differ(&pins);
}
