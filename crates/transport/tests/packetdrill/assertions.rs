//! Blocks `%{ … }%`: the subset of Python that states values, `assert` of comparisons joined by `and`.

use crate::language::{Assertion, Comparison, Failure, Operand, Place, Relation};
use crate::lexer::{Token, tokens};
use crate::reader::Reader;

/// Reads the text of a block that begins at `start`.
pub fn read(text: &str, start: Place) -> Result<Vec<Assertion>, Failure> {
    let mut reader = Reader { tokens: tokens(text, start)?, at: 0 };
    let mut found = Vec::new();
    loop {
        match reader.peek().clone() {
            Token::End if found.is_empty() => return Err(Failure::new(start, "the block asserts nothing")),
            Token::End => return Ok(found),
            Token::Symbol(';') => reader.at += 1,
            Token::Name(name) if name == "assert" => {
                reader.at += 1;
                found.push(assertion(&mut reader)?);
            }
            Token::Name(name) => return reader.fail(format!("`{name}`: only `assert` is supported")),
            _ => return reader.wants("`assert`"),
        }
    }
}

/// Reads an assertion behind `assert`; a message behind a comma is for people.
fn assertion(reader: &mut Reader) -> Result<Assertion, Failure> {
    let mut comparisons = Vec::new();
    conjunction(reader, &mut comparisons, 0)?;
    if reader.take(',') {
        match reader.peek() {
            Token::Name(_) | Token::Text(_) | Token::Number(_) => reader.at += 1,
            _ => return reader.fail("the message of `assert` is a name, a number or a text"),
        }
    }
    Ok(Assertion { comparisons })
}

/// Reads comparisons joined by `and`, each of which may be in parentheses.
fn conjunction(reader: &mut Reader, found: &mut Vec<Comparison>, depth: usize) -> Result<(), Failure> {
    if depth > 16 {
        return reader.fail("too many parentheses");
    }
    loop {
        if reader.take('(') {
            conjunction(reader, found, depth + 1)?;
            if !reader.take(')') {
                return reader.wants("`)`");
            }
        } else {
            comparison(reader, found)?;
        }
        match reader.peek().clone() {
            Token::Name(name) if name == "and" => reader.at += 1,
            Token::Name(name) if name == "or" || name == "not" => {
                return reader.fail(format!("`{name}`: only comparisons joined by `and` are supported"));
            }
            _ => return Ok(()),
        }
    }
}

/// Reads a comparison, also a chain `a <= b <= c`.
fn comparison(reader: &mut Reader, found: &mut Vec<Comparison>) -> Result<(), Failure> {
    let mut left = operand(reader)?;
    let mut any = false;
    while let Some(relation) = relation(reader)? {
        let place = reader.place();
        let right = operand(reader)?;
        found.push(Comparison { place, left, relation, right: right.clone() });
        left = right;
        any = true;
    }
    if any { Ok(()) } else { reader.wants("a comparison such as `==`") }
}

fn operand(reader: &mut Reader) -> Result<Operand, Failure> {
    let found = match reader.peek().clone() {
        Token::Number(text) => match text.parse() {
            Ok(number) => Operand::Number(number),
            Err(_) => return reader.fail(format!("`{text}` is not a number")),
        },
        Token::Name(name) if name == "not" => {
            return reader.fail("`not`: only comparisons joined by `and` are supported");
        }
        Token::Name(name) => Operand::Name(name),
        _ => return reader.wants("a name or a number"),
    };
    reader.at += 1;
    if matches!(reader.peek(), Token::Symbol('(' | '[' | '+' | '-' | '*' | '/' | '%' | '.')) {
        return reader.fail(format!("{}: only names and numbers are compared", reader.peek().text()));
    }
    Ok(found)
}

/// Reads the relation of a comparison; `None`: there is none.
fn relation(reader: &mut Reader) -> Result<Option<Relation>, Failure> {
    let Token::Symbol(first @ ('=' | '!' | '<' | '>')) = *reader.peek() else { return Ok(None) };
    reader.at += 1;
    let equal = reader.take('=');
    Ok(Some(match (first, equal) {
        ('=', true) => Relation::Equal,
        ('!', true) => Relation::Unequal,
        ('<', true) => Relation::LessOrEqual,
        ('<', false) => Relation::Less,
        ('>', true) => Relation::GreaterOrEqual,
        ('>', false) => Relation::Greater,
        _ => return reader.fail(format!("`{first}` is no comparison")),
    }))
}
