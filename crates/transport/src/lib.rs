//! Transports without I/O (sans-IO), independent of the simulator: the caller passes in segments, acknowledgements and
//! the time, and transmits the segments and acknowledgements that are returned.
//!
//! Reading order: [`Segment`] and [`Ack`], then [`Sender`] and [`Receiver`]. A [`Sender`] is driven by four methods:
//! [`Sender::offer`] (the application writes), [`Sender::on_ack`], [`Sender::on_timer`] and [`Sender::poll`] (the next
//! segment to transmit). A [`Receiver`] returns acknowledgements for segments.
//!
//! The unit of windows, sequence numbers and thresholds is the segment, as in ns-2 and in Linux.
//! A congestion control is one file in `cc/` and one line in `registry.rs`.
//!
//! Modules import in one direction only; `python/tests/test_rust_layers.py` checks that there are no cycles. From the
//! lowest layer up: `seq`, `line`, `wire` and `check`; `cc`; `registry`; `params`; `rtt`, `sender` and `receiver`.

pub mod cc;
mod check;
pub mod follow;
mod line;
mod params;
mod quick;
mod reassembly;
mod receive_buffer;
mod receiver;
mod registry;
mod rtt;
mod sender;
mod seq;
mod tick;
mod wire;

pub use line::{Hop, Line};
pub use params::{
    AckClock, Acknowledgement, Clock, Delayed, DelayedAck, EcnFloor, EcnMode, Ect, Exit, Form, GoBackN, InitialWindow,
    LimitedTransmit, NewReno, Pipe, Preset, Rdma, ReceiveBuffer, Recovery, Reno, Reservation, ReservedWindow, Sack,
    SpuriousTimeout, Tahoe, Tcp, Timed, Timers, Transmission, WhenLimited, WindowRule, WindowValidation,
};
pub use receiver::Receiver;
pub use registry::{Cc, Control};
pub use sender::{Scoreboard, Sender, State, Statistics};
pub use tailback_diffserv::Ecn;
pub use wire::{Ack, Block, EcnEcho, Segment};
