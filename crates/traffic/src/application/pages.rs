//! The client of request-response and web traffic.

use super::{CountDistribution, SizeDistribution, TimeDistribution};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::Dur;

/// Lifetime of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// Connections are kept for the whole run, with their window and RTT estimate (HTTP/1.1); after an idle time
    /// `slow-start-restart` applies. An abandoned request replaces its connection by a new one.
    #[default]
    Persistent,
    /// A new connection for each request and its response, beginning in slow start (HTTP/1.0).
    Fresh,
}

/// Parameters of a client of request-response or web traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// Payload of a request, bytes.
    pub request: SizeDistribution,
    /// Payload of the first response of a page, bytes.
    pub first: SizeDistribution,
    /// Number of further responses of a page; `None`: 0.
    pub objects: Option<CountDistribution>,
    /// Payload of a further response, bytes.
    pub object: SizeDistribution,
    /// Service time: from the arrival of a request at the server to the start of its response.
    pub service: TimeDistribution,
    /// Think time: from the arrival of a page's last byte to the next page's request; also before the first page, and
    /// after a page whose last request was abandoned.
    pub think: TimeDistribution,
    /// `true` if each request has a connection of its own.
    pub fresh: bool,
    /// Time from sending a request after which it is abandoned if its response is incomplete, above 0 s and at most 13
    /// days; `None`: never.
    pub timeout: Option<Dur>,
    /// Maximum number of concurrent requests, which is the number of connections, 1 to 32.
    pub parallel: u32,
}

/// Checks that the timeout is above 0 s and at most 13 days.
///
/// # Errors
/// If the timeout is out of this range: the error names `timeout` and the range.
pub(super) fn check_timeout(timeout: Option<Dur>) -> Result<(), Invalid> {
    timeout.map_or(Ok(()), |timeout| crate::check::duration("timeout", timeout))
}
