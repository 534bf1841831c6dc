//! Schedulers: the choice of the queue that sends next.

use crate::answer::wake_up;
use core::fmt::Debug;
use tailback_random::Rng;
use tailback_units::Time;

/// Event that a scheduler is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SchedulerEvent {
    /// The run begins. Every scheduler is called once, before the first packet.
    Start = 0,
    /// A packet has been admitted to a queue.
    Arrived = 1,
    /// The link is free: the scheduler chooses a queue.
    Select = 2,
    /// A packet has been taken from the chosen queue for transmission.
    Sent = 3,
    /// The time of the wake-up has come.
    Timer = 4,
    /// The transmitter has become free and all queues are empty.
    Idle = 5,
}

impl SchedulerEvent {
    /// All events, in the order of their numbers.
    pub const ALL: [SchedulerEvent; 6] = [
        SchedulerEvent::Start,
        SchedulerEvent::Arrived,
        SchedulerEvent::Select,
        SchedulerEvent::Sent,
        SchedulerEvent::Timer,
        SchedulerEvent::Idle,
    ];
    /// Returns the bit of the event in a set of events.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
    /// Returns the name of the method that handles the event.
    pub const fn name(self) -> &'static str {
        match self {
            SchedulerEvent::Start => "start",
            SchedulerEvent::Arrived => "arrived",
            SchedulerEvent::Select => "select",
            SchedulerEvent::Sent => "sent",
            SchedulerEvent::Timer => "timer",
            SchedulerEvent::Idle => "idle",
        }
    }
}

/// State of a queue at a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct QueueState {
    /// Number of waiting packets.
    pub packets: u64,
    /// Buffer bytes of these packets.
    pub bytes: u64,
    /// 1 if the queue may be chosen: packets wait, and in this selection it has not turned out that none may leave; else
    /// 0.
    pub ready: u32,
    /// Zero, so that the record has no bytes without a value.
    pub reserved: u32,
}

/// Arguments of a call of a scheduler; the states of the queues follow them.
///
/// `queue`, `size`, `wire` and `flow` are those of the packet that has arrived or is sent; they are 0 for other events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SchedulerCall {
    /// Current time, picoseconds since the start of the run.
    pub now_ps: u64,
    /// Rate of the link, bit/s; it may change during the run.
    pub rate_bps: u64,
    /// Number of the event: see [`SchedulerEvent`].
    pub event: u32,
    /// Index of the packet's queue.
    pub queue: u32,
    /// Buffer bytes of the packet.
    pub size: u32,
    /// Bytes of the packet on the link.
    pub wire: u32,
    /// Index of the packet's flow.
    pub flow: u32,
    /// Number of queues.
    pub queues: u32,
}

/// Answer of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SchedulerAnswer {
    /// Time of the next wake-up, picoseconds since the start of the run; `u64::MAX`: none. A new answer replaces it.
    pub wake_ps: u64,
    /// Index of the chosen queue; [`SchedulerAnswer::NONE`]: no packet is sent now. It is ignored after other events than
    /// [`SchedulerEvent::Select`].
    pub queue: u32,
    /// Zero.
    pub reserved: u32,
}

impl SchedulerAnswer {
    /// Value of `queue`: no packet is sent now.
    pub const NONE: u32 = u32::MAX;

    /// Checks the answer to a call; returns the chosen queue and the time of the next wake-up. `None`: no queue.
    ///
    /// # Errors
    /// If the queue does not exist or is not ready, or if the wake-up is before now or, after the timer itself, not after
    /// now.
    pub fn checked(&self, call: &SchedulerCall, queues: &[QueueState]) -> Result<(Option<usize>, Time), String> {
        let wake = wake_up(self.wake_ps, call.now_ps, call.event == SchedulerEvent::Timer as u32)?;
        if call.event != SchedulerEvent::Select as u32 || self.queue == SchedulerAnswer::NONE {
            return Ok((None, wake));
        }
        match queues.get(self.queue as usize) {
            Some(queue) if queue.ready != 0 => Ok((Some(self.queue as usize), wake)),
            Some(queue) if queue.packets == 0 => {
                Err(format!("queue {} is chosen, but no packet waits in it", self.queue))
            }
            Some(_) => {
                Err(format!("queue {} is chosen, but it is not ready: none of its packets may leave now", self.queue))
            }
            None => Err(format!("queue {} is chosen, but the queues are 0 to {}", self.queue, queues.len() - 1)),
        }
    }
}

/// An instance of a scheduler, for one port or class.
pub trait SchedulerLaw: Debug + Send + Sync {
    /// Notes the name of the instance and its place, as in [`crate::Fault::component`], before the first call.
    fn placed(&mut self, _name: &str) {}

    /// Answers a call. `wake_ps` is the wake-up of the previous answer, which a scheduler returns if it does not change it.
    /// `rng` is the random stream of the port.
    ///
    /// # Errors
    /// If the scheduler fails; the message describes the failure.
    fn answer(
        &mut self,
        call: &SchedulerCall,
        queues: &[QueueState],
        wake_ps: u64,
        rng: &mut Rng,
    ) -> Result<SchedulerAnswer, String>;

    /// Passes state variables to `f` for time series: a name, which contains the unit, and a value.
    ///
    /// # Errors
    /// If the scheduler fails; the message describes the failure.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        Ok(())
    }

    /// Returns the size of the scheduler's variables in bytes, as the scheduler has declared it.
    fn state_bytes(&self) -> usize {
        0
    }
}
