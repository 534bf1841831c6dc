//! Parameters of TCP and RDMA connections, as written in a scenario.

mod floor;
mod form;
mod limited;
mod preset;
mod rdma;
mod receive_buffer;
mod recovery;
mod reservation;
mod tcp;
mod timers;
mod window;

pub use floor::EcnFloor;
pub use form::Form;
pub use limited::{LimitedTransmit, WhenLimited};
pub use preset::Preset;
pub use rdma::Rdma;
pub use receive_buffer::ReceiveBuffer;
pub use recovery::{Exit, GoBackN, NewReno, Pipe, Recovery, Reno, Sack, Tahoe};
pub use reservation::{Acknowledgement, Delayed, Reservation, ReservedWindow, Timed, Transmission};
pub use tcp::{EcnMode, Ect, SpuriousTimeout, Tcp, WindowValidation};
pub use timers::{AckClock, Clock, DelayedAck, Timers};
pub use window::{InitialWindow, WindowRule};
