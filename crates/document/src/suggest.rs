//! "Did you mean": the nearest valid name.

/// Returns the candidate nearest to `word`, the first one of equally near ones; `None`: no candidate is near enough.
///
/// Letters are compared without regard to case, and `_` equals `-`. The edit distance (Damerau and Levenshtein) may be
/// up to a third of the letters of the longer name; a distance of 1 is always allowed, one of all letters of `word`
/// never. If no candidate is that near, and `word` has two letters or more, the first candidate is returned that begins
/// with `word`, or that has three letters or more and begins `word`.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |s: &str| s.to_lowercase().replace('_', "-");
    let word = plain(word);
    let letters = word.chars().count();
    let mut best: Option<(usize, &str)> = None;
    let mut prefixed: Option<&str> = None;
    for candidate in candidates {
        let other = plain(candidate);
        let distance = strsim::damerau_levenshtein(&word, &other);
        // A third of the longer word: "bufer" finds "buffer", but "x" does not find "cbr".
        let allowed = (letters.max(other.chars().count()) / 3).max(1).min(letters.saturating_sub(1));
        if distance <= allowed && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
        if prefixed.is_none()
            && letters >= 2
            && (other.starts_with(&word) || (other.len() >= 3 && word.starts_with(&other)))
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
    fn of_two_near_names_the_nearer_is_suggested() {
        assert_eq!(suggest("sw11", ["sw1", "sw111", "sw21"]), Some("sw1"));
        assert_eq!(suggest("pareto-onn", ["pareto", "pareto-on"]), Some("pareto-on"));
    }

    #[test]
    fn names_are_listed_with_commas_and_a_final_and() {
        assert_eq!(listed([]), "(none)");
        assert_eq!(listed(["a"]), "`a`");
        assert_eq!(listed(["a", "b", "c"]), "`a`, `b` and `c`");
        assert!(listed((0..40).map(|_| "n")).ends_with("and 28 more"));
    }
}
