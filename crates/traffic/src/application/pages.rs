//! The client of request-response and web traffic.

use super::{CountLaw, SizeLaw, TimeLaw};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::Dur;

/// Lifetime of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// One connection for the whole run: window and timers are kept (HTTP/1.1).
    #[default]
    Persistent,
    /// A new connection for each request and its response, beginning in slow start (HTTP/1.0).
    Fresh,
}

/// Behaviour of a client, request by request; common to request-response and web.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// Payload of a request, bytes.
    pub request: SizeLaw,
    /// Payload of the first response of a page, bytes.
    pub first: SizeLaw,
    /// Number of further responses of a page; `None`: 0.
    pub objects: Option<CountLaw>,
    /// Payload of a further response, bytes.
    pub object: SizeLaw,
    /// Service time: from a request's arrival to its response.
    pub service: TimeLaw,
    /// Think time: from a page's last byte to the next page's request.
    pub think: TimeLaw,
    /// `true` if each request has a connection of its own.
    pub fresh: bool,
    /// Time after which a request is abandoned; `None`: never.
    pub timeout: Option<Dur>,
    /// Number of concurrent requests, at least 1.
    pub parallel: u32,
}

/// Checks that the time-out is above 0 s.
pub(super) fn check_timeout(timeout: Option<Dur>) -> Result<(), Invalid> {
    timeout.map_or(Ok(()), |timeout| crate::check::duration("timeout", timeout))
}
