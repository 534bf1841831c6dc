//! Integer arithmetic in scripts: `$((…))`, and the output of `expr` and `seq`.

use std::collections::BTreeMap;

/// Upper bound on the nesting of parentheses.
const MAX_DEPTH: usize = 32;

/// Returns the output of `seq LAST`, `seq FIRST LAST` or `expr EXPRESSION` on integers; `None`: another command, or a
/// range of more than 100 integers.
pub(super) fn output(command: &str, variables: &BTreeMap<String, String>) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words.as_slice() {
        ["seq", last] => count("1", last),
        ["seq", first, last] => count(first, last),
        // In a shell, `*` and parentheses must be escaped with `\` or quoted.
        ["expr", rest @ ..] => {
            let plain: String = rest.join(" ").chars().filter(|c| !matches!(c, '\\' | '\'' | '"')).collect();
            evaluate(&plain, variables).map(|value| value.to_string())
        }
        _ => None,
    }
}

/// Evaluates an expression of integers, variables, parentheses and `+ - * / %`; `None`: it is invalid or overflows.
pub(super) fn evaluate(text: &str, variables: &BTreeMap<String, String>) -> Option<i64> {
    let tokens = tokens(text, variables)?;
    let mut position = 0;
    let value = sum(&tokens, &mut position, 0)?;
    (position == tokens.len()).then_some(value)
}

/// Returns the integers from `first` to `last`, separated by spaces; `None`: there are none, or more than 100.
pub(super) fn count(first: &str, last: &str) -> Option<String> {
    let (first, last) = (first.parse::<i32>().ok()?, last.parse::<i32>().ok()?);
    let is_short = i64::from(last) - i64::from(first) < 100 && first <= last;
    is_short.then(|| (first..=last).map(|n| n.to_string()).collect::<Vec<_>>().join(" "))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Number(i64),
    Sign(char),
}

/// Splits an expression into tokens, with the values of variables; `None`: another character, or a variable that is
/// unknown or not an integer.
fn tokens(text: &str, variables: &BTreeMap<String, String>) -> Option<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_alphanumeric() || first == '_' || first == '$' {
            let body = rest.trim_start_matches(['$', '{']);
            let end = body.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(body.len());
            let (word, after) = body.split_at_checked(end)?;
            let value =
                if word.starts_with(|c: char| c.is_ascii_digit()) { word } else { variables.get(word)?.as_str() };
            found.push(Token::Number(value.trim().parse().ok()?));
            rest = after.strip_prefix('}').unwrap_or(after).trim_start();
        } else if "+-*/%()".contains(first) {
            found.push(Token::Sign(first));
            rest = rest.get(1..)?.trim_start();
        } else {
            return None;
        }
    }
    Some(found)
}

/// Evaluates a sum of products from `position` on, which it moves; `depth` is the number of open parentheses.
fn sum(tokens: &[Token], position: &mut usize, depth: usize) -> Option<i64> {
    let mut value = product(tokens, position, depth)?;
    while let Some(Token::Sign(sign @ ('+' | '-'))) = tokens.get(*position).copied() {
        *position += 1;
        let next = product(tokens, position, depth)?;
        value = if sign == '+' { value.checked_add(next)? } else { value.checked_sub(next)? };
    }
    Some(value)
}

/// Evaluates a product of factors, as [`sum`].
fn product(tokens: &[Token], position: &mut usize, depth: usize) -> Option<i64> {
    let mut value = factor(tokens, position, depth)?;
    while let Some(Token::Sign(sign @ ('*' | '/' | '%'))) = tokens.get(*position).copied() {
        *position += 1;
        let next = factor(tokens, position, depth)?;
        value = match sign {
            '*' => value.checked_mul(next)?,
            '/' => value.checked_div(next)?,
            _ => value.checked_rem(next)?,
        };
    }
    Some(value)
}

/// Evaluates a number, an expression in parentheses, or the negative of either, as [`sum`].
fn factor(tokens: &[Token], position: &mut usize, depth: usize) -> Option<i64> {
    let mut negative = false;
    loop {
        let token = tokens.get(*position).copied()?;
        *position += 1;
        let value = match token {
            Token::Sign('-') => {
                negative = !negative;
                continue;
            }
            Token::Number(value) => value,
            Token::Sign('(') if depth < MAX_DEPTH => {
                let value = sum(tokens, position, depth + 1)?;
                if tokens.get(*position) != Some(&Token::Sign(')')) {
                    return None;
                }
                *position += 1;
                value
            }
            Token::Sign(_) => return None,
        };
        return if negative { value.checked_neg() } else { Some(value) };
    }
}
