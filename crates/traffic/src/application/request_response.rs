//! A client that asks, waits for the answer, thinks, and asks again.

use super::{Connections, Pages, SizeLaw, TimeLaw, check_timeout};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Checked, Invalid};
use tailback_units::Dur;

/// A closed loop: the client sends a request, the server answers it after a service time, and the
/// client sends the next one a think time after the response has arrived in full. Each flow of the group is one
/// user. A user begins by thinking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RequestResponse {
    /// Payload of a request.
    pub request: SizeLaw,
    /// Payload of a response.
    pub response: SizeLaw,
    /// Time from the arrival of a request to the response. Default none.
    #[serde(default)]
    pub service: TimeLaw,
    /// Time from the arrival of a response to the next request. Default none.
    #[serde(default)]
    pub think: TimeLaw,
    /// Whether each request has a connection of its own. Default "persistent".
    #[serde(default)]
    pub connections: Connections,
    /// A request whose response has not arrived after this time is given up, and the client thinks; above 0s and at
    /// most 13 days. Without a transport it is needed, since what is lost is not repeated. Absent, a client waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Dur>,
}

impl RequestResponse {
    /// Whether the parameters make sense together.
    pub fn check(&self) -> Result<(), Invalid> {
        self.request.check().map_err(|e| e.within("request"))?;
        self.response.check().map_err(|e| e.within("response"))?;
        self.service.check().map_err(|e| e.within("service"))?;
        self.think.check().map_err(|e| e.within("think"))?;
        check_timeout(self.timeout)
    }

    pub(super) fn pages(&self) -> Pages {
        Pages {
            request: self.request.clone(),
            first: self.response.clone(),
            objects: None,
            object: self.response.clone(),
            service: self.service.clone(),
            think: self.think.clone(),
            fresh: self.connections == Connections::Fresh,
            timeout: self.timeout,
            parallel: 1,
        }
    }
}
