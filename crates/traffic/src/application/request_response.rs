//! Request-response clients with think times.

use super::{Connections, Pages, SizeDistribution, TimeDistribution, check_timeout};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Checked, Invalid};
use tailback_units::Dur;

/// Closed loop: the client sends a request, the server responds after a service time, and the client sends the next
/// request a think time after the response has arrived in full. Each flow of the group is one user, who begins with a
/// think time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RequestResponse {
    /// Payload of a request.
    pub request: SizeDistribution,
    /// Payload of a response.
    pub response: SizeDistribution,
    /// Service time: from the arrival of a request to the response. Default 0s.
    #[serde(default)]
    pub service: TimeDistribution,
    /// Think time: from the arrival of a response to the next request. Default 0s.
    #[serde(default)]
    pub think: TimeDistribution,
    /// "persistent": one connection for all requests of a user; "fresh": one for each request. Default "persistent".
    #[serde(default)]
    pub connections: Connections,
    /// Time after which a request without a complete response is abandoned and the client thinks; above 0s and at most
    /// 13 days. Required without a transport, since lost packets are then not retransmitted. Default: the client
    /// waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Dur>,
}

impl RequestResponse {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
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
