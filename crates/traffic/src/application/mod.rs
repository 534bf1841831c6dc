//! Applications: what is sent next depends on what has arrived.
//!
//! A [`crate::Model`] sends whatever the network does. An application has two ends: a client asks,
//! a server answers, and the client goes on when the answer is there. Transfers on connections of
//! their own belong here too, since each needs a connection that is free.

mod distribution;
mod empirical;
mod request_response;
mod transfers;
mod web;

pub use distribution::{CountLaw, SizeLaw, TimeLaw};
pub use request_response::RequestResponse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::Dur;
pub use transfers::Transfers;
pub use web::Web;

tailback_document::kinds! {
    /// What both ends of a flow do.
    pub enum Application {
        "request-response" => RequestResponse(RequestResponse),
        "web" => Web(Web),
        "transfers" => Transfers(Transfers),
    }
}

/// How long a connection lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// As long as the run: windows and timers stay (HTTP/1.1).
    #[default]
    Persistent,
    /// For one request and its response: each begins in slow start (HTTP/1.0).
    Fresh,
}

/// What a client does, request by request: what request-response and web have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// Bytes of a request.
    pub request: SizeLaw,
    /// Bytes of the first response of a page.
    pub first: SizeLaw,
    /// How many more responses a page has; none without.
    pub objects: Option<CountLaw>,
    /// Bytes of these.
    pub object: SizeLaw,
    /// From a request's arrival to its response.
    pub service: TimeLaw,
    /// From a page's last byte to the next page's request.
    pub think: TimeLaw,
    /// Whether each request has a connection of its own.
    pub fresh: bool,
    /// After which a request is given up; none never gives up.
    pub timeout: Option<Dur>,
    /// Requests under way at a time, at least 1.
    pub parallel: u32,
}

impl Application {
    /// The client's behaviour; none of transfers, which have no client.
    pub fn pages(&self) -> Option<Pages> {
        match self {
            Application::RequestResponse(exchange) => Some(exchange.pages()),
            Application::Web(web) => Some(web.pages()),
            Application::Transfers(_) => None,
        }
    }
}

/// A time-out above 0 s.
fn check_timeout(timeout: Option<Dur>) -> Result<(), Invalid> {
    timeout.map_or(Ok(()), |timeout| crate::check::duration("timeout", timeout))
}
