//! Reader of scripts: text to [`Script`]. What a model of TCP cannot run is refused by name, at its place.

use crate::assertions;
use crate::language::{
    Argument, Call, Codepoint, Event, Failure, Flags, Moment, Options, Packet, Place, Script, What, When,
};
use crate::lexer::{Token, tokens};
use tailback_units::Dur;

/// Largest number in a script: sums and products of two stay below 2^63.
const LARGEST: u64 = 1 << 31;
/// Latest time of a script, seconds.
const LATEST: f64 = 1e6;

/// Reads a script.
pub fn read(text: &str) -> Result<Script, Failure> {
    let mut reader = Reader { tokens: tokens(text, Place { line: 1, column: 1 })?, at: 0 };
    let mut script = Script::default();
    loop {
        let place = reader.place();
        match reader.peek().clone() {
            Token::End => return Ok(script),
            Token::Setting(name, value) => {
                reader.at += 1;
                script.tolerance = Some(tolerance(place, &name, &value)?);
            }
            Token::Parameters(text) => {
                reader.at += 1;
                script.parameters.push((place, text));
            }
            Token::Command(text) => {
                reader.at += 1;
                script.commands.push((place, text));
            }
            _ => script.events.push(reader.event()?),
        }
    }
}

/// Reads an option of the program: only that of the tolerance has a meaning here.
fn tolerance(place: Place, name: &str, value: &str) -> Result<Dur, Failure> {
    if name != "tolerance_usecs" {
        return Err(Failure::new(place, format!("`--{name}` has no meaning for a model of TCP")));
    }
    match value.parse() {
        Ok(us) if us <= LARGEST => Ok(Dur::from_us(us)),
        _ => Err(Failure::new(place, format!("`{value}` is not a number of microseconds"))),
    }
}

/// Position in the tokens of a text.
pub struct Reader {
    pub tokens: Vec<(Place, Token)>,
    pub at: usize,
}

impl Reader {
    pub fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(_, token)| token)
    }
    pub fn place(&self) -> Place {
        self.tokens[self.at.min(self.tokens.len() - 1)].0
    }
    pub fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }
    /// Moves behind `symbol` if it is the next token.
    pub fn take(&mut self, symbol: char) -> bool {
        let found = *self.peek() == Token::Symbol(symbol);
        self.at += usize::from(found);
        found
    }
    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T, Failure> {
        Err(Failure::new(self.place(), message))
    }
    /// Fails because the next token is not `wanted`.
    pub fn wants<T>(&self, wanted: &str) -> Result<T, Failure> {
        self.fail(format!("{wanted} is expected, not {}", self.peek().text()))
    }
    fn require(&mut self, symbol: char) -> Result<(), Failure> {
        if self.take(symbol) { Ok(()) } else { self.wants(&format!("`{symbol}`")) }
    }

    /// Reads a whole number.
    fn whole(&mut self) -> Result<u64, Failure> {
        if let Token::Number(text) = self.peek() {
            match text.parse() {
                Ok(number) if number <= LARGEST => {
                    self.at += 1;
                    return Ok(number);
                }
                _ => return self.fail(format!("`{text}` is not a whole number up to {LARGEST}")),
            }
        }
        self.wants("a number")
    }

    /// Reads a time in seconds.
    fn seconds(&mut self) -> Result<Dur, Failure> {
        if let Token::Number(text) = self.peek() {
            match text.parse::<f64>() {
                Ok(seconds) if seconds <= LATEST => {
                    self.at += 1;
                    return Ok(Dur::from_ns((seconds * 1e9).round() as u64));
                }
                _ => return self.fail(format!("`{text}` is not a time up to {LATEST} s")),
            }
        }
        self.wants("a time")
    }

    fn moment(&mut self) -> Result<Moment, Failure> {
        if self.take('*') {
            return Ok(Moment::Any);
        }
        if self.take('+') { self.seconds().map(Moment::Relative) } else { self.seconds().map(Moment::Absolute) }
    }

    fn when(&mut self) -> Result<When, Failure> {
        let start = self.moment()?;
        let blocks = *self.peek() == Token::Ellipsis;
        self.at += usize::from(blocks);
        if !blocks && !self.take('~') {
            return Ok(When { start, end: None, blocks });
        }
        let place = self.place();
        let end = self.moment()?;
        match (start, end) {
            (Moment::Absolute(_), Moment::Absolute(_)) | (Moment::Relative(_), Moment::Relative(_)) => {}
            (Moment::Relative(_), Moment::Absolute(_)) if blocks => {}
            _ => return Err(Failure::new(place, "the two times of a range must both have `+`, or both not")),
        }
        Ok(When { start, end: Some(end), blocks })
    }

    fn event(&mut self) -> Result<Event, Failure> {
        let place = self.place();
        let when = self.when()?;
        let what = match self.peek().clone() {
            Token::Symbol('<') => {
                self.at += 1;
                What::Arrival(self.packet()?)
            }
            Token::Symbol('>') => {
                self.at += 1;
                What::Transmission(self.packet()?)
            }
            Token::Code(text) => {
                // The text begins behind the mark, which has two characters.
                let place = Place { column: self.place().column + 2, ..self.place() };
                self.at += 1;
                What::Assertions(assertions::read(&text, place)?)
            }
            Token::Command(_) => {
                return self.fail("a command during the script: the model has no host that executes it");
            }
            Token::Name(_) => What::Call(self.call()?),
            _ => return self.wants("`<`, `>`, `%{` or a system call"),
        };
        let ranged = when.end.is_some() || when.start == Moment::Any;
        let allowed = match what {
            What::Call(_) => when.blocks || !ranged,
            What::Transmission(_) => !when.blocks,
            What::Arrival(_) | What::Assertions(_) => !ranged,
        };
        if !allowed {
            let message = "`a~b` and `*` are times of transmissions, and `a...b` is that of a system call";
            return Err(Failure::new(place, message));
        }
        Ok(Event { place, when, what })
    }

    fn call(&mut self) -> Result<Call, Failure> {
        let Token::Name(name) = self.next() else { return self.wants("a system call") };
        self.require('(')?;
        let mut arguments = Vec::new();
        while !self.take(')') {
            if !arguments.is_empty() {
                self.require(',')?;
            }
            arguments.push(self.argument()?);
        }
        self.require('=')?;
        let negative = self.take('-');
        let result = self.whole()? as i64;
        if negative {
            return self.fail(format!("`{name}` with an error as its result: the model's calls do not fail"));
        }
        Ok(Call { name, arguments, result })
    }

    fn argument(&mut self) -> Result<Argument, Failure> {
        match self.peek().clone() {
            Token::Ellipsis => {
                self.at += 1;
                Ok(Argument::Any)
            }
            Token::Number(_) => self.whole().map(|number| Argument::Number(number as i64)),
            Token::Text(text) => {
                self.at += 1;
                Ok(Argument::Text(text))
            }
            Token::Name(mut name) => {
                self.at += 1;
                while self.take('|') {
                    let Token::Name(more) = self.peek().clone() else { return self.wants("a name") };
                    self.at += 1;
                    name = format!("{name}|{more}");
                }
                Ok(Argument::Name(name))
            }
            Token::Symbol('[') => {
                self.at += 1;
                let mut list = Vec::new();
                while !self.take(']') {
                    if !list.is_empty() {
                        self.require(',')?;
                    }
                    list.push(self.whole()? as i64);
                }
                Ok(Argument::List(list))
            }
            Token::Symbol('{') => self.fail("a structure as argument has no meaning for a model of TCP"),
            _ => self.wants("an argument"),
        }
    }

    fn packet(&mut self) -> Result<Packet, Failure> {
        let mut packet = Packet { options: Some(Options::default()), ..Packet::default() };
        if self.take('[') {
            packet.ecn = Some(self.codepoint()?);
            self.require(']')?;
        }
        let flags = self.place();
        packet.flags = self.flags()?;
        packet.start = self.whole()?;
        self.require(':')?;
        packet.end = self.whole()?;
        let place = self.place();
        self.require('(')?;
        let length = self.whole()?;
        self.require(')')?;
        if packet.start.checked_add(length) != Some(packet.end) {
            let message = format!("{}:{} are not {length} bytes", packet.start, packet.end);
            return Err(Failure::new(place, message));
        }
        if packet.flags.syn && (packet.start, packet.end) != (0, 0) {
            return Err(Failure::new(place, "a SYN is `0:0(0)`: the model's SYN carries no data"));
        }
        if !packet.flags.syn && packet.start == 0 {
            return Err(Failure::new(place, "the first byte of data has number 1; the SYN has number 0"));
        }
        self.header(&mut packet)?;
        if packet.flags.ack != packet.ack.is_some() {
            return Err(Failure::new(flags, "the flag `.` and `ack` must be given together"));
        }
        Ok(packet)
    }

    /// Reads what follows the numbers of a packet: `ack`, `win` and options.
    fn header(&mut self, packet: &mut Packet) -> Result<(), Failure> {
        loop {
            match self.peek().clone() {
                Token::Name(name) if name == "ack" => {
                    self.at += 1;
                    packet.ack = Some(self.whole()?);
                }
                Token::Name(name) if name == "win" => {
                    self.at += 1;
                    packet.window = Some(self.whole()?);
                }
                Token::Name(name) if name == "urg" => return self.fail("`urg`: the model has no urgent data"),
                Token::Symbol('<') => {
                    self.at += 1;
                    packet.options = self.options()?;
                    return Ok(());
                }
                Token::Name(name) => {
                    return self.fail(format!("`{name}` of a packet has no meaning for a model of TCP"));
                }
                _ => return Ok(()),
            }
        }
    }

    fn codepoint(&mut self) -> Result<Codepoint, Failure> {
        let Token::Name(name) = self.peek().clone() else { return self.wants("an ECN code point") };
        let found = match name.as_str() {
            "noecn" => Codepoint::NotEct,
            "ect0" => Codepoint::Ect0,
            "ect1" => Codepoint::Ect1,
            "ect01" => Codepoint::AnyEct,
            "ce" => Codepoint::Ce,
            _ => return self.fail(format!("`{name}` of an IP header has no meaning for a model of TCP")),
        };
        self.at += 1;
        Ok(found)
    }

    /// Reads the flags of a segment: adjacent letters and points.
    fn flags(&mut self) -> Result<Flags, Failure> {
        let first = self.place();
        let mut letters = String::new();
        loop {
            let expected = Place { column: first.column + letters.chars().count(), ..first };
            match self.peek().clone() {
                _ if self.place() != expected => break,
                Token::Name(name) => letters += &name,
                Token::Symbol(symbol @ ('.' | '-')) => letters.push(symbol),
                _ => break,
            }
            self.at += 1;
        }
        let mut flags = Flags::default();
        for letter in letters.chars() {
            match letter {
                'S' => flags.syn = true,
                '.' => flags.ack = true,
                'P' => flags.push = true,
                'E' => flags.ece = true,
                'W' => flags.cwr = true,
                'F' => return Err(Failure::new(first, "flag F: the model does not close connections")),
                'R' => return Err(Failure::new(first, "flag R: the model does not reset connections")),
                'U' => return Err(Failure::new(first, "flag U: the model has no urgent data")),
                _ => return Err(Failure::new(first, format!("`{letters}` are not flags of a model's segment"))),
            }
        }
        if letters.is_empty() {
            return self.wants("flags");
        }
        Ok(flags)
    }

    /// Reads options behind `<`; `None`: `<...>`.
    fn options(&mut self) -> Result<Option<Options>, Failure> {
        if *self.peek() == Token::Ellipsis {
            self.at += 1;
            self.require('>')?;
            return Ok(None);
        }
        let mut options = Options::default();
        loop {
            let Token::Name(name) = self.peek().clone() else { return self.wants("a TCP option") };
            match name.as_str() {
                "nop" | "eol" => self.at += 1,
                "sackOK" => {
                    self.at += 1;
                    options.sack_ok = true;
                }
                "mss" => {
                    self.at += 1;
                    options.mss = Some(self.whole()?);
                }
                "wscale" => {
                    self.at += 1;
                    let place = self.place();
                    // RFC 7323 section 2.3.
                    options.window_scale = match self.whole()? {
                        scale @ 0..=14 => Some(scale),
                        scale => return Err(Failure::new(place, format!("{scale} is above 14, the largest scale"))),
                    };
                }
                "TS" => {
                    self.at += 1;
                    self.word("val")?;
                    let value = self.whole()?;
                    self.word("ecr")?;
                    options.timestamp = Some((value, self.whole()?));
                }
                "sack" => {
                    self.at += 1;
                    self.blocks(&mut options)?;
                }
                _ => return self.fail(format!("option `{name}` has no meaning for a model of TCP")),
            }
            if self.take('>') {
                return Ok(Some(options));
            }
            self.require(',')?;
        }
    }

    fn word(&mut self, wanted: &str) -> Result<(), Failure> {
        if matches!(self.peek(), Token::Name(name) if name == wanted) {
            self.at += 1;
            return Ok(());
        }
        self.wants(&format!("`{wanted}`"))
    }

    /// Reads SACK blocks: at most three, as the model's acknowledgements have.
    fn blocks(&mut self, options: &mut Options) -> Result<(), Failure> {
        while matches!(self.peek(), Token::Number(_)) {
            let place = self.place();
            let start = self.whole()?;
            self.require(':')?;
            let end = self.whole()?;
            if start >= end {
                return Err(Failure::new(place, format!("block {start}:{end} is empty")));
            }
            if options.sack.len() == 3 {
                return Err(Failure::new(place, "a fourth SACK block: the model's acknowledgements have three"));
            }
            options.sack.push((start, end));
        }
        if options.sack.is_empty() { self.wants("a SACK block") } else { Ok(()) }
    }
}
