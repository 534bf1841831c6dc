//! The world: everything that exists in a run, and the loop that moves it.

mod application;
mod arrive;
mod change;
mod condition;
mod connections;
mod deadlock;
mod early;
mod emit;
mod feedback;
mod gather;
mod inputs;
mod new;
mod notify;
mod observe;
mod respond;
mod share;
mod shared_buffer;
mod transmit;
mod transport;

use crate::conditioning::Conditioning;
use crate::control_frame::ControlFrames;
use crate::crossbar::Crossbar;
use crate::event_queue::{EventQueue, Key, Kind, Upcoming};
use crate::hints::{prefetch, prefetch_lines};
use crate::labelling::Labelling;
use crate::ledger::Ledger;
use crate::plan::{BackPressure, Plan};
use crate::port::Port;
use crate::routes::Forwarding;
use crate::shared_buffer::SharedBuffer;
use crate::telemetry::Telemetry;
pub(crate) use application::{Applications, Group, SizeBin};
pub(crate) use connections::{Base, Transports};
pub(crate) use deadlock::Deadlock;
use emit::{Flow, Writer};
pub(crate) use new::draw;
use observe::Recorder;
pub(crate) use observe::{Named, Quality};
pub use share::Messages;
pub(crate) use share::Share;
use std::sync::Arc;
use tailback_qdisc::Dropped;
use tailback_qdisc::congestion_notification::Origins;
use tailback_units::Time;

/// A run under way.
#[derive(Debug)]
pub struct World {
    pub(crate) now: Time,
    event_queue: EventQueue,
    /// Two per link: side s of link l is port 2 l + s; its way back is the port with the last bit flipped.
    pub(crate) ports: Vec<Port>,
    /// By port, its place among its node's.
    pub(crate) slots: Vec<u32>,
    pub(crate) nodes: Vec<Node>,
    /// The port to take at a switch for a destination.
    routes: Forwarding,
    /// Whether it is worth asking for memory ahead, since the near caches do not hold the whole network.
    prefetches: bool,
    /// Sources of the flows without a transport, in their order, and of the others by connection.
    flows: Vec<Flow>,
    writers: Vec<Writer>,
    /// Flows that a transport carries.
    pub(crate) transports: Transports,
    /// What sends over flows in place of sources.
    pub(crate) applications: Applications,
    /// What switches write into packets; none if no flow collects it.
    telemetry: Option<Box<Telemetry>>,
    pub(crate) ledger: Ledger,
    pub(crate) conditioning: Conditioning,
    labelling: Labelling,
    control_frames: ControlFrames,
    /// Filled by disciplines, emptied after each call.
    dropped: Vec<Dropped>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) plan: Plan,
    next_change: usize,
    /// Whether there are congestion points.
    feeds_back: bool,
    /// By flow, where its packets come from; empty where nobody asks.
    origins: Origins,
    /// Messages of congestion points that found no reaction point.
    pub(crate) unheard: u64,
    pub(crate) events: u64,
    /// The number of events at which lines give back memory that they do not need.
    shrink_at: u64,
    done: bool,
    /// In a part of a network: which part, and what leaves it.
    share: Option<Box<Share>>,
}

/// A host or a switch at work.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Node {
    /// Its output ports.
    pub ports: Vec<u32>,
    pub is_host: bool,
    /// Whether it obeys notifications: a switch always, a host by configuration.
    obeys: bool,
    /// Whether frames may leave it while their tails still arrive.
    cuts_through: bool,
    backpressure: Option<Arc<BackPressure>>,
    pub fabric: FabricState,
}

// One cache line, for each frame that comes.
const _: () = assert!(size_of::<Node>() == 64);

/// A switch's fabric at work.
#[derive(Debug)]
pub(crate) enum FabricState {
    /// Frames go to their output queue at once (a cut-through switch differs in the ports that lead
    /// to it, which announce a frame when its first bytes have arrived).
    Direct,
    /// The same, with memory shared by the output queues.
    Shared(Box<OutputMemory>),
    Crossbar(Box<Crossbar>),
    /// Output queues in memory accounted by input.
    Buffer(Box<SharedBuffer>),
}

/// Memory shared by output queues at work.
#[derive(Debug)]
pub(crate) struct OutputMemory {
    /// Buffer bytes.
    memory: u64,
    /// What a queue may have of what is free.
    alpha: f64,
    /// Buffer bytes in use.
    used: u64,
}

/// Asks for the memory that an event will touch.
#[inline]
fn prefetch_for(
    upcoming: Upcoming,
    key: Key,
    ports: &[Port],
    routes: &Forwarding,
    ledger: &Ledger,
    transports: &Transports,
) {
    let component = key.component() as usize;
    match (key.kind(), upcoming) {
        (Kind::Arrive, Upcoming::Later) => prefetch_lines::<_, 2>(&raw const ports[component]),
        (Kind::Arrive, Upcoming::Soon) => {
            if let Some(packet) = ports[component].line.front() {
                prefetch(packet);
            }
        }
        (Kind::Arrive, Upcoming::Next) => {
            let port = &ports[component];
            let Some(packet) = port.line.front() else { return };
            if packet.dst == port.to {
                ledger.prefetch_account(packet.flow());
                transports.prefetch_end(packet.flow());
                // An answer leaves by the same link.
                prefetch_lines::<_, 2>(&raw const ports[component ^ 1]);
            } else if let Some(output) = routes.single(port.to, packet.dst) {
                prefetch_lines::<_, 2>(ports.as_ptr().wrapping_add(output as usize));
            }
        }
        (Kind::Timer, Upcoming::Soon) => transports.prefetch_sender(component),
        _ => {}
    }
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Events remain before the end.
    Running,
    /// The end has been reached.
    Done,
}

impl World {
    /// Handles at most `budget` events.
    pub fn run(&mut self, budget: u64) -> Status {
        let end = self.plan.end;
        let status = self.run_until(end, budget);
        if status == Status::Done {
            self.now = end;
            self.done = true;
        }
        status
    }

    /// Handles at most `budget` events that are not after `last`; done when there are no more of them.
    fn run_until(&mut self, last: Time, budget: u64) -> Status {
        if self.events >= self.shrink_at {
            self.shrink_rings();
        }
        for handled in 0..budget {
            let World { event_queue, ports, routes, ledger, transports, .. } = self;
            let next = if self.prefetches {
                event_queue.pop_until(
                    last,
                    Some(|upcoming, key| prefetch_for(upcoming, key, ports, routes, ledger, transports)),
                )
            } else {
                event_queue.pop_until(last, None::<fn(Upcoming, Key)>)
            };
            let Some((time, key)) = next else {
                self.events += handled;
                return Status::Done;
            };
            self.step(time, key);
        }
        self.events += budget;
        Status::Running
    }

    /// What bursts have taken for themselves serves others from now on.
    #[cold]
    fn shrink_rings(&mut self) {
        self.ports.iter_mut().for_each(|port| port.line.shrink());
        // So rarely that the look at each port is not seen in the time of a run.
        self.shrink_at = self.events + (64 * self.ports.len() as u64).max(1 << 16);
    }

    /// Runs to the end.
    pub fn run_to_end(&mut self) {
        while self.run(1 << 20) == Status::Running {}
    }

    #[inline(always)]
    fn step(&mut self, time: Time, key: Key) {
        debug_assert!(time >= self.now, "time runs forwards");
        self.now = time;
        match key.kind() {
            Kind::Arrive => self.arrive(key.component()),
            Kind::Emit => self.emit(key.component()),
            kind => self.step_rare(kind, key.component()),
        }
    }

    /// An event that is not one of every hop: apart, so that those need not save what these use.
    #[inline(never)]
    fn step_rare(&mut self, kind: Kind, component: u32) {
        match kind {
            Kind::TxDone => self.tx_done(component),
            Kind::Crossed => self.crossed(component),
            Kind::Respond => self.respond(component),
            Kind::Wake => self.wake(component),
            Kind::Refresh => self.refresh(component),
            Kind::Timer => self.timer(component),
            Kind::AckTimer => self.ack_timer(component),
            Kind::Change => self.change(),
            Kind::WarmedUp => self.end_warmup(),
            Kind::Sample => self.sample(),
            Kind::Arrive | Kind::Emit => unreachable!("these do not come here"),
        }
    }

    /// The instant of the last event, or the end.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How much of the simulated time has passed, 0 to 1.
    pub fn progress(&self) -> f64 {
        if self.done { 1.0 } else { self.now.0 as f64 / self.plan.end.0.max(1) as f64 }
    }

    #[inline]
    fn schedule(&mut self, time: Time, kind: Kind, component: u32) {
        self.event_queue.push(time, Key::new(kind, component));
    }

    /// Lets go of what only a run that goes on would need.
    pub(crate) fn drop_pending_state(&mut self) {
        self.event_queue = EventQueue::new(false);
        (self.flows, self.writers) = (Vec::new(), Vec::new());
    }

    fn end_warmup(&mut self) {
        let now = self.now;
        self.ports.iter_mut().for_each(|p| p.end_warmup(now));
        for node in &mut self.nodes {
            if let FabricState::Crossbar(crossbar) = &mut node.fabric {
                crossbar.end_warmup();
            }
        }
        self.ledger.end_warmup();
        if now > Time::ZERO {
            self.transports.end_warmup();
        }
    }
}
