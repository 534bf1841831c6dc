//! Applications: closed-loop traffic, in which the next message depends on what has arrived.
//!
//! A [`crate::Model`] sends independently of the network. An application has two ends: a client sends a request, a
//! server responds, and the client continues when the response has arrived. Transfers on connections of their own
//! belong here too, since each needs a free connection.

mod distribution;
#[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "every distribution has the same methods")]
mod empirical;
mod pages;
mod request_response;
mod transfers;
mod web;

pub use distribution::{CountDistribution, SizeDistribution, TimeDistribution};
use pages::check_timeout;
pub use pages::{Connections, Pages};
pub use request_response::RequestResponse;
pub use transfers::Transfers;
pub use web::Web;

tailback_document::kinds! {
    /// Behaviour of both ends of a flow.
    pub enum Application {
        "request-response" => RequestResponse(RequestResponse),
        "web" => Web(Web),
        "transfers" => Transfers(Transfers),
    }
}

impl Application {
    /// Returns the client's behaviour; `None`: transfers, which have no client.
    pub fn pages(&self) -> Option<Pages> {
        match self {
            Application::RequestResponse(exchange) => Some(exchange.pages()),
            Application::Web(web) => Some(web.pages()),
            Application::Transfers(_) => None,
        }
    }
}
