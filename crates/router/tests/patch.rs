//! Patches: values of a scenario written back into the text that it was imported from.

#![allow(clippy::disallowed_methods, reason = "settings of the test come from the environment")]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tailback_router::{Imported, Options, Patched, Syntax, Traffic, lower, mqc, patch, tc};

/// Reads a text of the language.
fn import(language: Syntax, text: &str) -> Imported {
    match language {
        Syntax::Mqc => mqc::import(text),
        Syntax::Tc => tc::import(text),
    }
}

/// Returns the document itself: all documents here come from `lower`, and are canonical already.
#[expect(clippy::unnecessary_wraps, reason = "the signature that a patch takes")]
fn same(document: &Value) -> Option<Value> {
    Some(document.clone())
}

/// Returns options with a rate of 10 Mbit/s for the interface.
fn options() -> Options {
    Options { rate: Some(10_000_000), ..Options::default() }
}

/// Returns the scenario of a text; `None`: the text has errors, or nothing to simulate.
fn document(language: Syntax, text: &str) -> Option<Value> {
    let imported = import(language, text);
    if imported.report.has_errors() {
        return None;
    }
    lower(&imported.config, &Traffic::default(), &options()).document
}

/// Returns the text with the values of a scenario.
fn written(language: Syntax, text: &str, scenario: &Value) -> Patched {
    patch(language, text, scenario, None, &options(), &same)
}

/// Returns all texts of MQC and tc in the tests, sorted, with their languages.
fn files() -> Vec<(Syntax, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for (language, folder, ending) in [
        (Syntax::Mqc, "tests/mqc", "txt"),
        (Syntax::Tc, "tests/tc", "sh"),
        (Syntax::Mqc, "../../python/tests/router/mqc", "txt"),
        (Syntax::Tc, "../../python/tests/router/tc", "sh"),
        (Syntax::Mqc, "../../python/tests/router/public", "txt"),
        (Syntax::Tc, "../../python/tests/router/public", "sh"),
    ] {
        let files = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        found.extend(files.filter(|f| f.extension().is_some_and(|own| own == ending)).map(|file| (language, file)));
    }
    found.sort_by(|a, b| a.1.cmp(&b.1));
    assert!(found.len() > 130, "{} files", found.len());
    found
}

#[test]
fn an_untouched_scenario_gives_the_text_byte_for_byte() {
    let mut compared = 0;
    for (language, file) in files() {
        // Line endings are preserved, too.
        for line_end in ["\n", "\r\n"] {
            let text = fs::read_to_string(&file).unwrap().replace("\r\n", "\n").replace('\n', line_end);
            let Some(scenario) = document(language, &text) else { continue };
            let made = written(language, &text, &scenario);
            assert!(!made.report.has_errors(), "{}: {:?}", file.display(), made.report);
            assert_eq!(made.text, text, "{}", file.display());
            assert!(made.changes.is_empty());
            compared += 1;
        }
    }
    assert!(compared > 180, "{compared}");
}

/// Adds to `found` the JSON pointer of each number and quantity in `value`, with another value; `at` is the path to
/// `value`.
fn varied(value: &Value, at: &mut Vec<String>, found: &mut Vec<(String, Value)>) {
    let pointer = |at: &[String]| {
        at.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect::<Vec<_>>().concat()
    };
    match value {
        Value::Object(table) => {
            for (key, inner) in table.iter().filter(|(key, _)| *key != "match" && *key != "name" && *key != "default") {
                at.push(key.clone());
                varied(inner, at, found);
                let _ = at.pop();
            }
            if let Some(inner) = table.get("default").filter(|inner| inner.is_object()) {
                at.push("default".to_owned());
                varied(inner, at, found);
                let _ = at.pop();
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                at.push(index.to_string());
                varied(inner, at, found);
                let _ = at.pop();
            }
        }
        Value::Number(number) => {
            let other = match number.as_u64() {
                Some(n) => Value::from(n + 1),
                None => Value::from(number.as_f64().unwrap() * 2.0),
            };
            found.push((pointer(at), other));
        }
        Value::String(text) => {
            let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
            let unit = &text[digits.len()..];
            if let Ok(n) = digits.parse::<u64>()
                && ["bit/s", "B", "packets", "us", "%"].contains(&unit)
            {
                // About 10 % more, in whole units or kbit/s; percentages above 50 are reduced by 1. A limit of 1000000
                // packets means that there is none, so that no word of the text states it.
                let more = match (n, unit) {
                    (n, "bit/s") if n >= 10_000 => n + n / 10 / 1000 * 1000,
                    (1_000_000, "packets") => return,
                    (n, "%") if n > 50 => n - 1,
                    (n, _) => n + (n / 10).max(1),
                };
                found.push((pointer(at), Value::from(format!("{more}{unit}"))));
            }
        }
        _ => {}
    }
}

/// Returns the words of a text.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// Returns the last key of a path in a document.
fn key(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or_default()
}

#[test]
fn each_number_of_each_sample_changes_only_the_word_that_determines_it_or_is_refused_with_a_reason() {
    let mut counts: std::collections::BTreeMap<(String, &str), (u32, u32)> = std::collections::BTreeMap::new();
    let mut wrong = Vec::new();
    for (language, file) in files() {
        let text = fs::read_to_string(&file).unwrap();
        let Some(scenario) = document(language, &text) else { continue };
        let port = "/switches/ce/ports/sink";
        let mut all = Vec::new();
        varied(scenario.pointer(port).unwrap(), &mut Vec::new(), &mut all);
        for (place, other) in all {
            let mut tuned = scenario.clone();
            *tuned.pointer_mut(&format!("{port}{place}")).unwrap() = other.clone();
            let made = written(language, &text, &tuned);
            let name = format!("{} {place} = {other}", file.file_name().unwrap().to_string_lossy());
            let kind = if language == Syntax::Mqc { "mqc" } else { "tc" };
            let count = counts.entry((key(&place).to_owned(), kind)).or_default();
            if made.report.has_errors() {
                count.1 += 1;
                if std::env::var_os("TAILBACK_REFUSALS").is_some() {
                    println!("{name}: {}", made.report.notices()[0]);
                }
                if !made.text.is_empty() {
                    wrong.push(format!("{name}: both a text and an error"));
                }
                continue;
            }
            count.0 += 1;
            let (before, after) = (words(&text), words(&made.text));
            let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count();
            // If the unit of a word is too coarse for the value, the word is kept, which is reported.
            let coarse = changed == 0 && !made.report.notices().is_empty();
            if before.len() != after.len() || changed != made.changes.len() || (changed == 0 && !coarse) {
                wrong.push(format!("{name}: {changed} words, {:?}", made.changes));
            }
            // Imported again, the text gives the port of the scenario, unless a notice says otherwise.
            let again = document(language, &made.text).unwrap();
            if again.pointer(port) != tuned.pointer(port) && made.report.notices().is_empty() {
                wrong.push(format!("{name}: {} instead", again.pointer(&format!("{port}{place}")).unwrap()));
            }
        }
    }
    for (kind, (done, refused)) in &counts {
        println!("{kind:?}: {done} written, {refused} refused");
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
