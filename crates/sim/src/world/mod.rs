//! The world: the state of a run, and its event loop.

mod application;
mod arrive;
mod change;
mod condition;
mod connections;
pub(crate) mod deadlock;
mod early;
mod emit;
mod exchange;
mod feedback;
mod gather;
mod inputs;
pub(crate) mod new;
mod note;
mod notify;
mod observe;
mod ports;
mod recorder;
mod records;
mod respond;
mod retune;
mod share;
mod shared_buffer;
mod source;
mod status;
mod stepping;
mod trace;
mod transmit;
mod transport;
mod user;
mod view;

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
use crate::trace::Tracer;
pub(crate) use application::{Applications, Group, SizeBin};
pub(crate) use connections::{Base, Transports};
use recorder::Recorder;
pub(crate) use recorder::{Named, Quality, Waits};
pub(crate) use records::{Change, Changes, Completion, Records, Transfers};
pub use share::Messages;
pub(crate) use share::Share;
use source::{Flow, Writer};
pub use status::{Status, Untimely};
use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_qdisc::Dropped;
use tailback_qdisc::congestion_notification::Origins;
use tailback_units::Time;
use tailback_user::Faults;

/// A run in progress: the whole network, or in a parallel run the part of one partition.
#[derive(Debug)]
pub struct World {
    /// Time of the last event or, between steps, the instant up to which events were handled.
    pub(crate) now: Time,
    event_queue: EventQueue,
    /// Output ports, two per link: direction s of link l is port 2 l + s; flipping the last bit gives the reverse
    /// direction.
    pub(crate) ports: Vec<Port>,
    /// By port: its index in its node's list of ports.
    pub(crate) slots: Vec<u32>,
    pub(crate) nodes: Vec<Node>,
    /// Forwarding tables.
    routes: Forwarding,
    /// `true` if state is prefetched: the state that packets touch is larger than the processor's first cache levels.
    prefetches: bool,
    /// Sources of the flows without a transport, in the order of the flows.
    flows: Vec<Flow>,
    /// Sources of the flows with a transport, by connection.
    writers: Vec<Writer>,
    /// Connections of the flows with a transport.
    pub(crate) transports: Transports,
    /// Applications, which drive flows in place of sources.
    pub(crate) applications: Applications,
    /// In-band telemetry; `None`: no flow collects it.
    telemetry: Option<Box<Telemetry>>,
    pub(crate) ledger: Ledger,
    pub(crate) conditioning: Conditioning,
    labelling: Labelling,
    control_frames: ControlFrames,
    /// Packets that a discipline dropped in the last call; emptied after each call.
    dropped: Vec<Dropped>,
    /// Time series; `None`: the run records none.
    pub(crate) recorder: Option<Recorder>,
    /// Records of transfers and senders; `None`: the run keeps none.
    pub(crate) records: Option<Box<Records>>,
    pub(crate) plan: Plan,
    /// Index of the next change in the timeline.
    next_change: usize,
    /// `true` if there are congestion points.
    feeds_back: bool,
    /// Source host and protocol by flow number of packets; empty if no congestion point or rate limiter needs them.
    origins: Origins,
    /// Number of messages of congestion points that reached a host without rate limiters for the sampled frame.
    pub(crate) undelivered_messages: u64,
    /// Number of events handled.
    pub(crate) events: u64,
    /// Value of `events` at which links next release unused memory.
    shrink_at: u64,
    /// `true` if the end of the run has been reached.
    done: bool,
    /// `true` if a change was scheduled between steps.
    pub(crate) touched: bool,
    /// Packet trace; `None`: the run writes none.
    trace: Option<Box<Tracer>>,
    /// Partition that the world simulates, and its messages to other partitions; `None`: the world is undivided.
    share: Option<Box<Share>>,
    /// Faults of user-defined components; the partitions of a run share them.
    faults: Faults,
    /// User-defined sources by flow.
    user_sources: BTreeMap<u32, source::UserSource>,
}

/// A host or a switch.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Node {
    /// Indices of the node's output ports.
    pub ports: Vec<u32>,
    pub is_host: bool,
    /// `true` if the node obeys notifications: always for a switch; configured for a host.
    obeys: bool,
    /// `true` if frames may leave the node before their tails have arrived.
    cuts_through: bool,
    /// Back-pressure of a switch; of a host, that of its switch, with which it sends a storm of PAUSE frames. `None`:
    /// the node sends no notifications.
    backpressure: Option<Arc<BackPressure>>,
    pub fabric: FabricState,
}

// An arriving frame touches one cache line of the node.
const _: () = assert!(size_of::<Node>() == 64);

/// State of a switch's fabric.
#[derive(Debug)]
pub(crate) enum FabricState {
    /// Frames go to their output queue at once. At a cut-through switch, a frame arrives when its header has been
    /// received.
    Direct,
    /// Frames go to their output queue at once; the queues share a memory under dynamic thresholds.
    Shared(Box<OutputMemory>),
    Crossbar(Box<Crossbar>),
    /// Output queues in memory accounted by input.
    Buffer(Box<SharedBuffer>),
}

/// Memory shared by output queues.
#[derive(Debug)]
pub(crate) struct OutputMemory {
    /// Capacity, buffer bytes.
    memory: u64,
    /// Limit of a queue divided by the free memory.
    alpha: f64,
    /// Buffer bytes in use.
    used: u64,
}

/// Prefetches memory that an upcoming event will touch: the port first, then the packet, then the state at its next
/// hop.
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
                // An acknowledgement or a response leaves over the same link.
                prefetch_lines::<_, 2>(&raw const ports[component ^ 1]);
            } else if let Some(output) = routes.single(port.to, packet.dst) {
                prefetch_lines::<_, 2>(ports.as_ptr().wrapping_add(output as usize));
            }
        }
        (Kind::Timer, Upcoming::Soon) => transports.prefetch_sender(component),
        _ => {}
    }
}

impl World {
    /// Handles at most `budget` events at or before `last`. Returns [`Status::Running`] if `budget` events were
    /// handled, [`Status::Done`] if fewer remained.
    fn handle_events(&mut self, last: Time, budget: u64) -> Status {
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

    /// Releases memory that links do not need any more after past bursts.
    #[cold]
    fn shrink_rings(&mut self) {
        self.ports.iter_mut().for_each(|port| port.line.shrink());
        // With at least 64 events per port between two calls, the cost per event is negligible.
        self.shrink_at = self.events + (64 * self.ports.len() as u64).max(1 << 16);
    }

    /// Handles an event.
    #[inline(always)]
    fn step(&mut self, time: Time, key: Key) {
        debug_assert!(time >= self.now, "an event is in the past");
        self.now = time;
        match key.kind() {
            Kind::Arrive => self.arrive(key.component()),
            Kind::Emit => self.emit(key.component()),
            _ => self.step_rare(key),
        }
    }

    /// Handles the kinds of events that do not occur at every hop. The function is not inlined, so that the frequent
    /// kinds need fewer registers.
    #[inline(never)]
    fn step_rare(&mut self, key: Key) {
        let component = key.component();
        match key.kind() {
            Kind::TxDone => self.tx_done(component),
            Kind::Crossed => self.crossed(component),
            Kind::Respond => self.respond(component),
            Kind::Wake => self.wake(component),
            Kind::Refresh => self.refresh(component),
            Kind::Timer => self.timer(component),
            Kind::AckTimer => self.ack_timer(component),
            Kind::Change => self.apply_due_changes(),
            Kind::WarmedUp => self.end_warmup(),
            Kind::Sample => self.sample(),
            Kind::Arrive | Kind::Emit => unreachable!("handled by `step`"),
        }
    }

    /// Schedules an event.
    #[inline]
    fn schedule(&mut self, time: Time, kind: Kind, component: u32) {
        self.event_queue.push(time, Key::new(kind, component));
    }

    /// Frees the state that is used only by further events.
    pub(crate) fn drop_pending_state(&mut self) {
        self.event_queue = EventQueue::new(false);
        (self.flows, self.writers) = (Vec::new(), Vec::new());
    }

    /// Ends the warm-up: resets maxima, and stores the present counters, which are later subtracted from the final
    /// ones.
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
