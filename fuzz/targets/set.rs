//! The option `--set`: each line is an assignment of a value to a key of the document that the first byte selects.
//! Accepted documents run for some events.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use tailback_scenario::Scenario;

/// Documents with many kinds of settings: applications, data centre, differentiated services.
const DOCUMENTS: [&str; 4] = [
    include_str!("../../docs/examples/web.toml"),
    include_str!("../../docs/examples/campus.toml"),
    include_str!("../../docs/examples/priority.toml"),
    include_str!("../../python/tailback/gallery/datacentre/pfc_failure_modes/scenario.toml"),
];

/// Returns the documents, which are read once.
fn documents() -> &'static [Scenario] {
    static READ: OnceLock<Vec<Scenario>> = OnceLock::new();
    READ.get_or_init(|| {
        let read = |text: &&str| tailback_fuzz::scenario(text).expect("documents of the project are valid");
        DOCUMENTS.iter().map(read).collect()
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let pairs: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let document = &documents()[usize::from(*first) % DOCUMENTS.len()];
    match document.with_set(&pairs) {
        Ok(scenario) => tailback_fuzz::exercise(&scenario),
        Err(error) => assert!(error.rendered().starts_with("error: "), "{}", error.rendered()),
    }
});
