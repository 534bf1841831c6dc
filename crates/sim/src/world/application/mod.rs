//! Applications: closed-loop clients, and transfers on fresh connections.
//!
//! A *session* is a client and its server. It has channels, each of which is a pair of flows: one for requests and one
//! for responses. An *exchange* is a request and its response. A *page* is an exchange, followed by an exchange for
//! each of its objects, over idle channels. A page of a request-response application has no objects.
//!
//! ```text
//! think ─▶ request ─arrives─▶ service time ─▶ response ─arrives─▶ next request, or think
//!            └────────timeout: the exchange is abandoned──────────────▲
//! ```
//!
//! An application is driven by events of kind [`Kind::Emit`](crate::event_queue::Kind::Emit) of its flows, and by the
//! arrival of the last byte that was sent over one of its flows.

mod events;
mod session;
mod state;
mod transfers;

pub(crate) use state::{Applications, Group, SizeBin};
