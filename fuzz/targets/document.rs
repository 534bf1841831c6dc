//! Documents: a text is read and checked. An accepted document is written and read back, and runs for some events with
//! both engines.
//!
//! In an eighth of the cases, or if the text is not a document, the fuzzer's own mutator changes bytes. Otherwise
//! values of the document are changed, so that it stays well-formed.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};

// A refused document is not kept for further mutations: the reader would usually stop at its first error again.
fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(scenario) = std::str::from_utf8(data).ok().and_then(tailback_fuzz::scenario) else {
        return Corpus::Reject;
    };
    tailback_fuzz::exercise(&scenario);
    Corpus::Keep
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = match seed % 8 {
        0 => None,
        _ => std::str::from_utf8(&data[..size]).ok().and_then(|text| tailback_fuzz::mutated(text, seed)),
    };
    match changed {
        Some(text) if text.len() <= max_size.min(data.len()) => {
            data[..text.len()].copy_from_slice(text.as_bytes());
            text.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
});
