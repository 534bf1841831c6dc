//! Execution of a script: the host is a [`Sender`] or a [`Receiver`] of the model.
//!
//! The model's clock has no jitter, so a transmission must come within 1 µs of its time unless the script has a tolerance
//! or a range. Timers that expire at the time of an arrival come first.

mod arrival;
mod call;
mod transmission;
mod values;

use crate::configuration::{Connection, Role};
use crate::language::{Event, Failure, Moment, Packet, Place, Script, What};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tailback_random::Rng;
use tailback_transport::{Receiver, Sender};
use tailback_units::{Dur, Time};

/// Tolerance of times without `--tolerance_usecs`.
const TOLERANCE: Dur = Dur::from_us(1);
/// Largest number of segments that may wait for the lines that expect them.
const MOST_WAITING: usize = 100_000;

/// Progress of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    Listening,
    /// The SYN was transmitted.
    Opening,
    /// The SYN-ACK was transmitted.
    Accepting,
    Open,
    Closed,
}

/// A packet that the host has transmitted.
#[derive(Clone, Debug)]
struct Seen {
    at: Time,
    packet: Packet,
}

/// The host during a script.
struct Host {
    connection: Connection,
    sender: Sender,
    receiver: Receiver,
    stage: Stage,
    /// Place of the current event.
    place: Place,
    now: Time,
    /// Time from which the next relative time counts.
    base: Time,
    tolerance: Dur,
    /// Descriptors of the socket and of the accepted connection.
    socket: Option<i64>,
    accepted: Option<i64>,
    /// Time at which `connect` must return.
    connected_at: Time,
    /// `true` after the first write: before it no data are transmitted.
    written: bool,
    /// Transmissions that no line has expected yet.
    waiting: VecDeque<Seen>,
    /// First byte of each segment transmitted, and the byte after the last one.
    starts: Vec<u64>,
    /// Time of the last transmission of each segment (`u32::MAX`: of the SYN).
    last: BTreeMap<u32, Time>,
    /// Values of the host's timestamps, and the times of the transmissions that carried them.
    stamps: Vec<(u64, Time)>,
    /// Time of the first SYN or SYN-ACK, at which the clock of timestamps has its first value.
    opened_at: Time,
    /// Last timestamp of the peer.
    recent: u64,
    /// Byte after the last one that the peer's window allows.
    offered: u64,
    /// Number and window, bytes, of the last acknowledgement.
    last_ack: u64,
    last_window: u64,
    /// Number of bytes that the application has read.
    consumed: u64,
}

/// Runs a script.
pub fn run(script: &Script, connection: Connection) -> Result<(), Failure> {
    let tcp = Arc::new(connection.tcp.clone());
    let mut host = Host {
        sender: Sender::new(&tcp, Rng::named(1, "script")),
        receiver: Receiver::new(&tcp),
        connection,
        stage: Stage::New,
        place: Place::default(),
        now: Time::ZERO,
        base: Time::ZERO,
        tolerance: script.tolerance.unwrap_or(TOLERANCE),
        socket: None,
        accepted: None,
        connected_at: Time::NEVER,
        written: false,
        waiting: VecDeque::new(),
        starts: vec![1],
        last: BTreeMap::new(),
        stamps: Vec::new(),
        opened_at: Time::ZERO,
        recent: 0,
        offered: 0,
        last_ack: 0,
        last_window: 0,
        consumed: 0,
    };
    for event in &script.events {
        host.place = event.place;
        host.step(event)?;
    }
    host.nothing_waits()
}

impl Host {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, Failure> {
        Err(Failure::new(self.place, message))
    }

    /// Executes an event.
    fn step(&mut self, event: &Event) -> Result<(), Failure> {
        let start = self.time(event.when.start)?;
        if let What::Transmission(expected) = &event.what {
            let end = event.when.end.map_or(Ok(start), |end| self.time(end))?;
            let any = event.when.start == Moment::Any;
            let span = if any { (Time::ZERO, Time::NEVER) } else { (start, end) };
            let at = self.expect(expected, span)?;
            self.base = if any || event.when.end.is_some() { at } else { start };
            return Ok(());
        }
        self.run_to(start)?;
        if let Some(seen) = self.waiting.front()
            && seen.at + self.tolerance < start
        {
            return self.nothing_waits();
        }
        self.now = self.now.max(start);
        self.base = start;
        match &event.what {
            What::Call(call) => {
                // Of the calls only `connect` waits, until the SYN-ACK arrives.
                if event.when.blocks != (call.name == "connect") {
                    return self.fail("`connect`, and no other call, has the form `start...end`");
                }
                if let Some(end) = event.when.end {
                    self.connected_at = self.time(end)?;
                }
                self.call(call)
            }
            What::Arrival(packet) => self.arrival(packet),
            What::Assertions(assertions) => assertions.iter().try_for_each(|assertion| self.check(assertion)),
            What::Transmission(_) => Ok(()),
        }
    }

    /// Returns a time of a script on the model's clock.
    fn time(&self, moment: Moment) -> Result<Time, Failure> {
        match moment {
            Moment::Relative(after) => Ok(self.base + after),
            Moment::Any => Ok(self.now),
            Moment::Absolute(time) if Time::ZERO + time < self.base => {
                self.fail(format!("{} s is before the event above", time.as_secs()))
            }
            Moment::Absolute(time) => Ok(Time::ZERO + time),
        }
    }

    /// Returns the time of the next timer; [`Time::NEVER`]: no timer is set.
    fn deadline(&self) -> Time {
        let sends = self.stage == Stage::Opening || self.written;
        let sender = if sends { self.sender.deadline() } else { Time::NEVER };
        sender.min(self.receiver.deadline())
    }

    /// Processes the timers that expire up to `at`.
    fn run_to(&mut self, at: Time) -> Result<(), Failure> {
        while self.deadline() <= at {
            self.expire()?;
        }
        Ok(())
    }

    /// Processes the next timer.
    fn expire(&mut self) -> Result<(), Failure> {
        self.now = self.now.max(self.deadline());
        if self.receiver.deadline() <= self.now {
            let ack = self.receiver.on_timer(self.now);
            self.transmit_ack(ack);
        } else {
            self.sender.on_timer(self.now);
            self.transmit_all()?;
        }
        if self.deadline() <= self.now { self.fail("the model's timer stands still") } else { Ok(()) }
    }

    /// Fails if there is a transmission that no line expects.
    fn nothing_waits(&self) -> Result<(), Failure> {
        match self.waiting.front() {
            Some(seen) => self.fail(format!("transmitted {}, and no line before this one expects it", seen.text())),
            None => Ok(()),
        }
    }

    /// Returns the value of the host's timestamps now: milliseconds since its SYN.
    fn timestamp(&self) -> u64 {
        self.connection.first_timestamp + self.now.since(self.opened_at).0 / Dur::from_ms(1).0
    }

    /// Fails unless the data have the direction of `role`.
    fn require(&self, role: Role, what: &str) -> Result<(), Failure> {
        if self.connection.role == role {
            return Ok(());
        }
        self.fail(format!("{what}, and the data of the script have the other direction"))
    }
}
