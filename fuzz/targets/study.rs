//! Study files in TOML and JSON: an accepted study is equal when it is read back from its own JSON.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};
use tailback_scenario::Study;

/// Reads a study: as JSON if it begins with a brace, otherwise as TOML. Returns `None` if the study is refused.
fn study(text: &str) -> Option<Study> {
    let read = if text.trim_start().starts_with('{') { Study::from_json(text) } else { Study::from_toml(text, "fuzz.toml") };
    match read {
        Ok(study) => Some(study),
        Err(error) => {
            assert!(error.rendered().starts_with("error: "), "{}", error.rendered());
            None
        }
    }
}

// A refused study is not kept for further mutations: the reader would usually stop at its first error again.
fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(found) = std::str::from_utf8(data).ok().and_then(study) else { return Corpus::Reject };
    let json = found.to_json();
    let again = Study::from_json(&json).unwrap_or_else(|e| panic!("{}\n{json}", e.rendered()));
    assert_eq!(again.to_json(), json, "a study reads back from its own JSON");
    Corpus::Keep
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let tree = std::str::from_utf8(&data[..size]).ok().and_then(|text| match text.trim_start().starts_with('{') {
        true => Some(text.to_owned()),
        false => Some(study(text)?.to_json()),
    });
    match tree.filter(|_| seed % 8 != 0).and_then(|json| tailback_fuzz::mutated(&json, seed)) {
        Some(text) if text.len() <= max_size.min(data.len()) => {
            data[..text.len()].copy_from_slice(text.as_bytes());
            text.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
});
