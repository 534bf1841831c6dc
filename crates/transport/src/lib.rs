//! Transports, sans-IO: segments and acknowledgements in, segments and acknowledgements out, no
//! simulator in sight.
//!
//! Read in this order: [`Segment`] and [`Ack`] are what travels; a [`Sender`] is told what the
//! application has to send ([`Sender::offer`]), which acknowledgements come in and when a timer is
//! due, and is asked what to transmit ([`Sender::poll`]); a [`Receiver`] answers segments with
//! acknowledgements. The two know the time only as an argument.
//!
//! Everything is counted in segments, as in ns-2 and in Linux: the window, the sequence numbers,
//! the slow-start threshold. A congestion control is one file in `cc/` and one line in `registry.rs`.

pub mod cc;
mod line;
mod params;
mod reassembly;
mod receiver;
mod registry;
mod rtt;
mod sender;
mod seq;
mod wire;

pub use line::{Hop, Line};
pub use params::{
    AckClock, Acknowledgement, Clock, Delayed, DelayedAck, EcnEcho, EcnFloor, EcnMode, Ect, Exit, GoBackN,
    InitialWindow, LimitedTransmit, NewReno, Pipe, Rdma, Recovery, Reno, Reservation, ReservedWindow, Sack,
    SpuriousTimeout, Tahoe, Tcp, Timed, Timers, Transmission, WhenLimited, WindowRule, WindowValidation,
};
pub use receiver::Receiver;
pub use registry::{Cc, Control};
pub use sender::{Sender, State, Statistics};
pub use wire::{Ack, Block, Ecn, Segment};
