//! Malformed scripts: the reader and the host answer with a failure at a place, and never panic.

use crate::language::Failure;
use crate::{run, scripts};
use proptest::prelude::*;
use std::panic::catch_unwind;

/// Pieces of the language, in which mutations are more often nearly valid than random characters.
const PIECES: [&str; 26] = [
    "+",
    "0",
    "4294967296",
    "18446744073709551616",
    "1e9",
    "...",
    "*",
    "~",
    "<",
    ">",
    "S.",
    ". 1:1001(1000) ack 1",
    "%{",
    "}%",
    "`",
    "\"",
    "sack 1:2",
    "TS val 1 ecr 1",
    "win 0",
    "write(3, ..., 1) = 1",
    "assert tcpi_rto == 0",
    "/*",
    "--x=1",
    "// tailback: {}",
    "[ce]",
    "é",
];

/// Fails if the text makes the reader or the host panic; a failure must lie within the text.
fn survives(text: &str) -> Result<(), TestCaseError> {
    let outcome = catch_unwind(|| run(text));
    prop_assert!(outcome.is_ok(), "panics:\n{text}");
    if let Ok(Err(Failure { place, message })) = outcome {
        prop_assert!((1..=text.lines().count() + 1).contains(&place.line) && place.column >= 1, "{place:?}\n{text}");
        prop_assert!(!message.is_empty());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// A real script with a few pieces removed, repeated or replaced.
    #[test]
    fn mutations_of_scripts_do_not_panic(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, 0usize..PIECES.len(), 0u8..3), 1..4),
    ) {
        let scripts = scripts();
        let mut text: Vec<char> = which.get(&scripts).1.chars().collect();
        for (at, length, piece, kind) in edits {
            let from = at.index(text.len() + 1);
            let to = (from + length).min(text.len());
            let new: Vec<char> = match kind {
                0 => Vec::new(),
                1 => PIECES[piece].chars().collect(),
                _ => [&text[from..to], &text[from..to]].concat(),
            };
            text.splice(from..to, new);
        }
        survives(&text.into_iter().collect::<String>())?;
    }

    /// Pieces in any order.
    #[test]
    fn sequences_of_pieces_do_not_panic(pieces in prop::collection::vec(0usize..PIECES.len(), 0..20)) {
        survives(&pieces.into_iter().map(|piece| PIECES[piece]).collect::<Vec<_>>().join(" "))?;
    }
}

/// Each prefix of a script with acknowledgements, blocks, assertions and comments.
#[test]
fn prefixes_of_a_script_do_not_panic() {
    let (_, text) = scripts().into_iter().max_by_key(|(_, text)| text.len()).expect("there are scripts");
    for (end, _) in text.char_indices().step_by(7) {
        assert!(catch_unwind(|| run(&text[..end])).is_ok(), "panics:\n{}", &text[..end]);
    }
}
