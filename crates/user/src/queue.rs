//! Queue laws: decisions about the packets of a FIFO.

use core::fmt::Debug;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// Event that a queue law is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum QueueEvent {
    /// The run begins: the law sets its first timer. Every law is called once, before the first packet.
    Start = 0,
    /// A packet arrives at the queue.
    Arrive = 1,
    /// A packet has been taken from the head of the queue for transmission.
    Depart = 2,
    /// A packet was wanted for transmission, but none waits: the queue was empty, or the law dropped its last packet.
    Empty = 3,
    /// The time of the wake-up has come.
    Timer = 4,
    /// The transmitter has become free and the queue is empty.
    Idle = 5,
}

impl QueueEvent {
    /// All events, in the order of their numbers.
    pub const ALL: [QueueEvent; 6] = [
        QueueEvent::Start,
        QueueEvent::Arrive,
        QueueEvent::Depart,
        QueueEvent::Empty,
        QueueEvent::Timer,
        QueueEvent::Idle,
    ];
    /// Returns the bit of the event in a set of events.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
    /// Returns the name of the method that handles the event.
    pub const fn name(self) -> &'static str {
        match self {
            QueueEvent::Start => "start",
            QueueEvent::Arrive => "arrive",
            QueueEvent::Depart => "depart",
            QueueEvent::Empty => "empty",
            QueueEvent::Timer => "timer",
            QueueEvent::Idle => "idle",
        }
    }
}

/// The decision about a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum QueueVerdict {
    /// The packet is queued, or sent.
    #[default]
    Pass = 0,
    /// The packet is marked "congestion experienced" if it is ECN-capable, and dropped if it is not (RFC 3168 section 7).
    Mark = 1,
    /// The packet is dropped.
    Drop = 2,
}

/// Arguments of a call of a queue law: what has happened, the packet, the queue and the link.
///
/// The fields of the packet are 0 unless the event is an arrival or a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct QueueCall {
    /// Current time, picoseconds since the start of the run.
    pub now_ps: u64,
    /// Time that a departing packet has waited, picoseconds; 0 for other events.
    pub sojourn_ps: u64,
    /// Number of waiting packets: without an arriving packet, and behind a departing one.
    pub queue_packets: u64,
    /// Buffer bytes of these packets.
    pub queue_bytes: u64,
    /// Limit of the queue in packets; `u64::MAX`: none.
    pub limit_packets: u64,
    /// Limit of the queue in buffer bytes; `u64::MAX`: none.
    pub limit_bytes: u64,
    /// Rate of the link, bit/s; it may change during the run.
    pub rate_bps: u64,
    /// Number of the event: see [`QueueEvent`].
    pub event: u32,
    /// Buffer bytes of the packet.
    pub size: u32,
    /// Payload bytes of the packet.
    pub payload: u32,
    /// Index of the packet's flow; each direction of a connection has an index of its own.
    pub flow: u32,
    /// Sequence number of the packet within its flow; in an acknowledgement the next one expected, and `u32::MAX` in packets
    /// of a handshake.
    pub sequence: u32,
    /// Class of the packet, 0 (highest) to 7.
    pub traffic_class: u8,
    /// ECN codepoint: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE (RFC 3168 section 5).
    pub ecn: u8,
    /// Differentiated services code point, 0 to 63 (RFC 2474).
    pub dscp: u8,
    /// Colour: 0 green, 1 yellow, 2 red (RFC 2697).
    pub colour: u8,
    /// 1 if the limits leave no room for the arriving packet, which is then dropped whatever the verdict; else 0.
    pub full: u8,
    /// Zero, so that the record has no bytes without a value.
    pub reserved: [u8; 7],
}

/// Answer of a queue law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct QueueAnswer {
    /// Time of the next wake-up, picoseconds since the start of the run; `u64::MAX`: none. A new answer replaces it.
    pub wake_ps: u64,
    /// Decision about the packet: see [`QueueVerdict`]. It is ignored after other events than an arrival and a departure.
    pub verdict: u32,
    /// Zero.
    pub reserved: u32,
}

impl QueueAnswer {
    /// Converts the answer to a call to a verdict and the time of the next wake-up.
    ///
    /// # Errors
    /// If the verdict is none of [`QueueVerdict`], or if the wake-up is before now or, after the timer itself, not after
    /// now.
    pub fn checked(&self, call: &QueueCall) -> Result<(QueueVerdict, Time), String> {
        let verdict = match self.verdict {
            0 => QueueVerdict::Pass,
            1 => QueueVerdict::Mark,
            2 => QueueVerdict::Drop,
            other => return Err(format!("the verdict {other} is neither PASS (0) nor MARK (1) nor DROP (2)")),
        };
        let (wake, now) = (self.wake_ps, call.now_ps);
        if wake < now {
            return Err(format!("the wake-up at {} is before now, {}", Dur(wake), Dur(now)));
        }
        // A timer that expires again at the same instant would never end.
        if wake == now && call.event == QueueEvent::Timer as u32 {
            return Err(format!("the timer at {} must be followed by a later wake-up or none", Dur(now)));
        }
        Ok((verdict, Time(wake)))
    }
}

/// An instance of a queue law, for one queue.
pub trait QueueLaw: Debug + Send + Sync {
    /// Notes the name of the law and its place, as in [`crate::Fault::component`], before the first call.
    fn placed(&mut self, _name: &str) {}

    /// Answers a call. `wake_ps` is the wake-up of the previous answer, which a law returns if it does not change it. `rng` is
    /// the random stream of the port.
    ///
    /// # Errors
    /// If the law fails; the message describes the failure.
    fn answer(&mut self, call: &QueueCall, wake_ps: u64, rng: &mut Rng) -> Result<QueueAnswer, String>;

    /// Passes state variables to `f` for time series: a name, which contains the unit, and a value.
    ///
    /// # Errors
    /// If the law fails; the message describes the failure.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        Ok(())
    }

    /// Returns the size of the law's variables in bytes, as the law has declared it.
    fn state_bytes(&self) -> usize {
        0
    }
}
