//! Documents: the text is read, checked, written again, and what was accepted runs for some events by both engines.
//!
//! Half of the time the fuzzer's own mutator changes bytes, so that texts are damaged; else values of the document are
//! replaced, so that what is read still makes sense.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};

// What is refused is not changed further: a second change on top of it would hardly ever be read.
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
