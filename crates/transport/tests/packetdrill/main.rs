//! Scripts in packetdrill's language over the model's sender and receiver, and on a kernel.
//!
//! Each file `tests/scripts/*.pkt` checks a section of an RFC; docs/rfc-scripts.md describes the language and lists them.

mod assertions;
mod configuration;
mod host;
mod language;
mod lexer;
mod malformed;
mod reader;
mod refusals;
mod witness;

use language::Failure;
use std::path::PathBuf;

/// Runs the text of a script.
fn run(text: &str) -> Result<(), Failure> {
    let script = reader::read(text)?;
    let connection = configuration::connection(&script)?;
    host::run(&script, connection)
}

/// Returns the scripts, by file name: path and text.
fn scripts() -> Vec<(PathBuf, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = std::fs::read_dir(&folder).expect("the folder of scripts exists");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry is readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pkt"));
    paths.sort();
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("a script is readable");
    paths.into_iter().map(|path| (path.clone(), text(&path))).collect()
}

/// Returns the name of a script's file.
fn name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[test]
fn every_script_passes() {
    let scripts = scripts();
    let failure = |(path, text): &(PathBuf, String)| Some(format!("{} {}", name(path), run(text).err()?));
    let failures: Vec<String> = scripts.iter().filter_map(failure).collect();
    assert!(failures.is_empty(), "{} of {} scripts fail:\n{}", failures.len(), scripts.len(), failures.join("\n"));
}

#[test]
fn at_least_forty_scripts_are_there() {
    assert!(scripts().len() >= 40, "{} scripts", scripts().len());
}
