//! Name patterns: `*` matches any text, `?` one character, `[12]` and `[1-3]` one of a set, `[!1]` one outside a set.

use core::cmp::Ordering;

/// `true` if `text` is a pattern rather than a name.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// A parsed pattern of names: `*` matches any text, `?` one character, `[12]` and `[1-3]` one of a set, `[!1]` one
/// outside a set. Case matters.
pub struct Glob(Vec<Token>);

/// Part of a pattern.
enum Token {
    /// Any text (`*`).
    Any,
    /// Any character (`?`).
    One,
    /// This character.
    Letter(char),
    /// A character in one of the ranges, both ends included, or if `inverted` outside all of them.
    Class { inverted: bool, ranges: Vec<(char, char)> },
}

impl Glob {
    /// Parses a pattern.
    ///
    /// # Errors
    /// If a set in brackets is not closed, is empty or has a descending range: a message.
    pub fn new(pattern: &str) -> Result<Glob, String> {
        let mut tokens = Vec::new();
        let mut remaining = pattern.chars();
        while let Some(c) = remaining.next() {
            tokens.push(match c {
                '*' => Token::Any,
                '?' => Token::One,
                '[' => {
                    let text = remaining.as_str();
                    let end = text.find(']').ok_or_else(|| format!("the `[` in `{pattern}` is not closed"))?;
                    remaining = text[end + 1..].chars();
                    class(&text[..end]).ok_or_else(|| format!("`[{}]` in `{pattern}` is an empty set", &text[..end]))?
                }
                c => Token::Letter(c),
            });
        }
        Ok(Glob(tokens))
    }

    /// `true` if the pattern matches the whole of `name`. The time is at most proportional to the product of the two
    /// lengths, since only the last `*` is backtracked.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut token, mut letter) = (0, 0);
        // Index of the last `*`, and number of letters before and in the text that it matches.
        let mut star: Option<(usize, usize)> = None;
        while letter < name.len() {
            match self.0.get(token) {
                Some(Token::Any) => {
                    star = Some((token, letter));
                    token += 1;
                }
                Some(one) if one.fits(name[letter]) => {
                    token += 1;
                    letter += 1;
                }
                _ => match &mut star {
                    Some((at, consumed)) => {
                        *consumed += 1;
                        (token, letter) = (*at + 1, *consumed);
                    }
                    None => return false,
                },
            }
        }
        self.0[token..].iter().all(|token| matches!(token, Token::Any))
    }
}

impl Token {
    /// `true` if the token matches the character; `Any` matches none by itself.
    fn fits(&self, c: char) -> bool {
        match self {
            Token::Any => false,
            Token::One => true,
            Token::Letter(letter) => *letter == c,
            Token::Class { inverted, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *inverted
            }
        }
    }
}

/// Parses the text between brackets; `None`: the set is empty, or a range is descending.
fn class(text: &str) -> Option<Token> {
    let (inverted, text) = text.strip_prefix('!').map_or((false, text), |set| (true, set));
    let letters: Vec<char> = text.chars().collect();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let range = if letters.get(at + 1) == Some(&'-') && at + 2 < letters.len() {
            at += 2;
            (letters[at - 2], letters[at])
        } else {
            (letters[at], letters[at])
        };
        if range.0 > range.1 {
            return None;
        }
        ranges.push(range);
        at += 1;
    }
    if ranges.is_empty() { None } else { Some(Token::Class { inverted, ranges }) }
}

/// Compares names in natural order, in which digits count as numbers: `h2` is before `h10`.
pub(crate) fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a_rest, mut b_rest) = (a, b);
    loop {
        let (a_part, b_part) = (part(a_rest), part(b_rest));
        if a_part.is_empty() || b_part.is_empty() {
            // Names that differ only in leading zeros (`h1`, `h01`) need some fixed order.
            return a_rest.len().cmp(&b_rest.len()).then_with(|| a.cmp(b));
        }
        let digits = |s: &str| s.starts_with(|c: char| c.is_ascii_digit());
        let order = if digits(a_part) && digits(b_part) {
            let (x, y) = (a_part.trim_start_matches('0'), b_part.trim_start_matches('0'));
            x.len().cmp(&y.len()).then_with(|| x.cmp(y))
        } else {
            a_part.cmp(b_part)
        };
        if order != Ordering::Equal {
            return order;
        }
        (a_rest, b_rest) = (&a_rest[a_part.len()..], &b_rest[b_part.len()..]);
    }
}

/// Returns the leading run of digits, or of other characters.
fn part(text: &str) -> &str {
    let digit = |c: char| c.is_ascii_digit();
    let numeric = text.starts_with(digit);
    let end = text.find(|c| digit(c) != numeric).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, fits) in [
            ("h*", "h12", true),
            ("h*", "sh1", false),
            ("*", "", true),
            ("h?", "h1", true),
            ("h?", "h12", false),
            ("h[12]", "h2", true),
            ("h[1-3]", "h3", true),
            ("h[!1-3]", "h3", false),
            ("h[!1-3]", "h4", true),
            ("*sw*1*", "my-sw-21", true),
            ("*a*b", "xaxxbxb", true),
            ("*a*b", "xaxxbx", false),
            ("ä?", "äö", true),
        ] {
            assert_eq!(Glob::new(pattern).unwrap().matches(name), fits, "{pattern} {name}");
        }
        assert!(Glob::new("h[12").is_err() && Glob::new("h[]").is_err() && Glob::new("h[3-1]").is_err());
    }

    #[test]
    fn patterns_with_many_stars_match_in_bounded_time() {
        assert!(!Glob::new(&"*a".repeat(50)).unwrap().matches(&"b".repeat(5_000)));
        assert!(!Glob::new(&format!("{}c", "*a".repeat(50))).unwrap().matches(&"a".repeat(5_000)));
    }

    #[test]
    fn names_are_in_natural_order() {
        let mut names = ["h10", "h2", "h1", "g3", "h", "h2b", "h02"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["g3", "h", "h1", "h02", "h2", "h2b", "h10"]);
    }
}
