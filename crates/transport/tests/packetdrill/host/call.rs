//! System calls that have a meaning for the model.

use super::{Host, Stage};
use crate::configuration::{Role, check_congestion};
use crate::language::{Argument, Call, Failure};

/// Largest write, bytes.
const LARGEST_WRITE: i64 = 100_000_000;

impl Host {
    /// Executes a system call.
    pub(super) fn call(&mut self, call: &Call) -> Result<(), Failure> {
        let descriptor = match call.arguments.first() {
            Some(Argument::Number(number)) => Some(*number),
            _ => None,
        };
        let known =
            call.name == "socket" || (descriptor.is_some() && [self.socket, self.accepted].contains(&descriptor));
        if !known {
            return self.fail(format!("`{}` of a descriptor that no call before has returned", call.name));
        }
        match call.name.as_str() {
            "socket" => self.socket(call),
            "setsockopt" => self.set_option(call),
            "bind" => self.returns(call, 0),
            "listen" if self.stage == Stage::New => {
                self.stage = Stage::Listening;
                self.returns(call, 0)
            }
            "connect" if self.stage == Stage::New => {
                self.stage = Stage::Opening;
                self.opened_at = self.now;
                // The model opens a connection at its first write. Until the script writes, `written` holds the data
                // back.
                self.sender.offer(self.now, self.connection.first_write);
                self.transmit_all()?;
                self.returns(call, 0)
            }
            "accept" if self.stage == Stage::Open && !self.connection.active && self.accepted.is_none() => {
                self.accepted = Some(call.result);
                Ok(())
            }
            "write" | "send" => self.write(call),
            "read" | "recv" => self.read(call),
            "close" => self.close(call),
            "listen" | "connect" | "accept" => self.fail(format!("`{}` at a wrong stage of the connection", call.name)),
            name => self.fail(format!("`{name}` has no meaning for a model of TCP")),
        }
    }

    /// Fails unless the script expects `result`.
    fn returns(&self, call: &Call, result: i64) -> Result<(), Failure> {
        if call.result == result {
            return Ok(());
        }
        self.fail(format!("`{}` returns {result}, not {}", call.name, call.result))
    }

    fn socket(&mut self, call: &Call) -> Result<(), Failure> {
        let stream = call.arguments.get(1) == Some(&Argument::Name("SOCK_STREAM".into()));
        if !stream || self.socket.is_some() {
            return self.fail("a script has one socket, of the type SOCK_STREAM");
        }
        self.socket = Some(call.result);
        Ok(())
    }

    fn set_option(&self, call: &Call) -> Result<(), Failure> {
        let name = match call.arguments.get(2) {
            Some(Argument::Name(name)) => name.as_str(),
            _ => "",
        };
        match (name, call.arguments.get(3)) {
            ("TCP_CONGESTION", Some(Argument::Text(kind))) => check_congestion(&self.connection.tcp, self.place, kind)?,
            // The model has no ports that are in use, and no algorithm of Nagle that could be turned off.
            ("SO_REUSEADDR", Some(_)) => {}
            ("TCP_NODELAY", Some(Argument::List(values))) if *values == [1] => {}
            _ => return self.fail(format!("option `{name}` with this value has no meaning for a model of TCP")),
        }
        self.returns(call, 0)
    }

    fn write(&mut self, call: &Call) -> Result<(), Failure> {
        self.require(Role::Sender, "a write")?;
        let open = self.stage == Stage::Open && (self.connection.active || self.accepted.is_some());
        if !open {
            return self.fail("a write before the connection is open");
        }
        let Some(Argument::Number(bytes @ 1..=LARGEST_WRITE)) = call.arguments.get(2) else {
            return self
                .fail(format!("a write needs a number of bytes from 1 to {LARGEST_WRITE} as its third argument"));
        };
        self.returns(call, *bytes)?;
        // `connect` has offered the data of the first write.
        if self.written || !self.connection.active {
            self.sender.offer(self.now, *bytes as u64);
        }
        self.written = true;
        self.transmit_all()
    }

    fn read(&mut self, call: &Call) -> Result<(), Failure> {
        self.require(Role::Receiver, "a read")?;
        let Some(Argument::Number(bytes)) = call.arguments.get(2) else {
            return self.fail("a read needs a number of bytes as its third argument");
        };
        let available = (self.receiver.delivered() - self.consumed).min((*bytes).max(0) as u64);
        if available == 0 {
            return self.fail("a read without data in order, which would wait");
        }
        self.consumed += available;
        self.returns(call, available as i64)
    }

    /// Closes a descriptor; the model sends no FIN, so that a connection can be closed only when nothing is to follow.
    fn close(&mut self, call: &Call) -> Result<(), Failure> {
        self.returns(call, 0)?;
        if self.accepted.is_some() && call.arguments.first() == self.socket.map(Argument::Number).as_ref() {
            return Ok(());
        }
        if self.written && !self.sender.done() {
            return self.fail("`close` before all data are acknowledged: the model would discard them");
        }
        self.stage = Stage::Closed;
        Ok(())
    }
}
