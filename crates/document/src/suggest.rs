//! "Did you mean": the nearest valid name.

/// Returns the candidate nearest to `word`, the first one of equally near ones; `None`: no candidate is near enough, and
/// none agrees with `word` in its first letters.
///
/// Letters are compared without regard to case, and `_` equals `-`. The limit of the edit distance (Damerau and
/// Levenshtein) is a third of the letters of the longer name, rounded down, at least 1, but less than the number of
/// letters of `word`. If no candidate is that near, and `word` has two letters or more, the first candidate is returned
/// that has `word` as a prefix, or is itself a prefix of `word` and has three letters or more.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |s: &str| s.to_lowercase().replace('_', "-");
    let word = plain(word);
    let letters = word.chars().count();
    let mut best: Option<(usize, &str)> = None;
    let mut prefixed: Option<&str> = None;
    for candidate in candidates {
        let other = plain(candidate);
        let other_letters = other.chars().count();
        let distance = strsim::damerau_levenshtein(&word, &other);
        // At least 1, so that one wrong letter in a name of two or three is found, but not every letter of `word`:
        // otherwise "x" would suggest any name of one letter.
        let allowed = (letters.max(other_letters) / 3).max(1).min(letters.saturating_sub(1));
        if distance <= allowed && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
        if prefixed.is_none()
            && letters >= 2
            && (other.starts_with(&word) || (other_letters >= 3 && word.starts_with(&other)))
        {
            prefixed = Some(candidate);
        }
    }
    best.map(|(_, candidate)| candidate).or(prefixed)
}

/// Formats names for a sentence: "`a`, `b` and `c`". The names after the twelfth are only counted: "and 3 more".
/// Without names the text is "(none)".
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MAX_LISTED: usize = 12;
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "(none)".to_owned(),
        [one] => one.clone(),
        [most @ .., last] if most.len() < MAX_LISTED => format!("{} and {last}", most.join(", ")),
        all => format!("{} and {} more", all[..MAX_LISTED].join(", "), all.len() - MAX_LISTED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_distant_ones_are_not() {
        let keys = ["buffer", "discipline", "response-time", "rate"];
        for (word, suggestion) in [
            ("bufer", Some("buffer")),
            ("Buffer", Some("buffer")),
            ("response_time", Some("response-time")),
            ("resp", Some("response-time")),
            ("rates", Some("rate")),
            ("discpiline", Some("discipline")),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(suggest(word, keys), suggestion, "{word}");
        }
    }

    #[test]
    fn at_least_one_letter_may_be_wrong_and_at_least_one_must_be_right() {
        assert_eq!(suggest("rat", ["hat"]), Some("hat"), "1 of 3");
        assert_eq!(suggest("ra", ["ma"]), Some("ma"), "a third of 2, rounded down, is 0");
        assert_eq!(suggest("x", ["y"]), None, "1 of 1");
        assert_eq!(suggest("abcde", ["vwxde"]), None, "3 of 5");
    }

    #[test]
    fn of_two_near_names_the_nearer_is_suggested() {
        assert_eq!(suggest("pareto-onn", ["pareto", "pareto-on"]), Some("pareto-on"));
    }

    #[test]
    fn of_equally_near_names_the_first_is_suggested() {
        assert_eq!(suggest("sw11", ["sw1", "sw111", "sw21"]), Some("sw1"));
        assert_eq!(suggest("sw11", ["sw21", "sw111", "sw1"]), Some("sw21"));
    }

    #[test]
    fn a_name_that_is_a_prefix_of_the_word_has_at_least_three_letters() {
        assert_eq!(suggest("redqueues", ["red"]), Some("red"));
        assert_eq!(suggest("redqueues", ["re"]), None);
        assert_eq!(suggest("µµqueues", ["µµ"]), None, "two letters of two bytes each");
    }

    #[test]
    fn names_are_listed_with_commas_and_a_final_and() {
        assert_eq!(listed([]), "(none)");
        assert_eq!(listed(["a"]), "`a`");
        assert_eq!(listed(["a", "b", "c"]), "`a`, `b` and `c`");
        assert!(listed((0..40).map(|_| "n")).ends_with("and 28 more"));
    }
}
