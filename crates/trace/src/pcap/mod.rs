//! Captures: rows of a packet trace as pcapng (draft-ietf-opsawg-pcapng), with frames whose headers are synthesised.
//!
//! [`Capture`] turns rows into bytes, which the caller writes. Modules import in one direction: `checksum`, `address`,
//! `block` <- `frame` <- `ethernet`, `ip` <- `tcp`, `udp`, `rdma`, `mac_control`, `feedback` <- `conversation`, `note`
//! <- `builder` <- `capture`.

mod address;
mod block;
mod builder;
mod capture;
mod checksum;
mod conversation;
mod ethernet;
mod feedback;
mod frame;
mod ip;
mod mac_control;
mod note;
mod rdma;
mod tcp;
mod udp;

pub use capture::{Capture, Options, Sides};
