//! Applications: closed-loop clients, and transfers on fresh connections.
//!
//! A *session* is a client and its server. Each of its channels is a pair of flows, one for requests and one for
//! responses. A page consists of a request with its response, followed by the requests and responses of its objects
//! over idle channels. With request-response, a page is a single exchange.
//!
//! ```text
//! think ─▶ request ─arrives─▶ service time ─▶ response ─arrives─▶ next request, or think
//!            └────────timeout: the exchange is abandoned──────────────▲
//! ```
//!
//! An application is driven by events of kind [`Kind::Emit`](crate::event_queue::Kind::Emit) of its flows, and by the
//! arrival of the last byte that was sent over one of them.

mod events;
mod session;
mod state;
mod transfers;

pub(crate) use state::{Applications, Group, SizeBin};
