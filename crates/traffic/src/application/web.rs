//! Users who read web pages of several objects.

use super::distribution::{Fixed, ParetoCount, ParetoTime, Surge};
use super::{Connections, CountDistribution, Pages, SizeDistribution, TimeDistribution, check_timeout};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Checked, Invalid};
use tailback_units::{Dur, Size};

/// Web pages: a main object, then its embedded objects, requested over several connections in parallel, then a think
/// time. Each flow of the group is one user, who begins with a think time. Default sizes, numbers and times are those
/// of SURGE (P. Barford and M. Crovella, ACM SIGMETRICS 1998), without its gaps inside a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Web {
    /// Payload of a request. Default 300 B.
    pub request: SizeDistribution,
    /// Payload of a page's main object. Default "surge".
    pub main: SizeDistribution,
    /// Number of objects embedded in a page. Default: Pareto with minimum 1 and shape 2.43, minus 1.
    pub objects: CountDistribution,
    /// Payload of an embedded object. Default "surge".
    pub object: SizeDistribution,
    /// Service time: from the arrival of a request to the response. Default 0s.
    pub service: TimeDistribution,
    /// Think time: from the arrival of a page to the next page's request. Default: Pareto with mean 3 s and shape 1.5.
    pub think: TimeDistribution,
    /// Number of connections of a user, and so of concurrent requests, 1 to 32. Default 4.
    #[schemars(range(min = 1, max = 32))]
    pub parallel: u32,
    /// "persistent": the connections are kept for all requests; "fresh": each request has one of its own. Default
    /// "persistent".
    pub connections: Connections,
    /// Time after which a request without a complete response is abandoned; above 0s and at most 13 days. Required
    /// without a transport, since lost packets are then not retransmitted. Default: the client waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Dur>,
}

impl Default for Web {
    fn default() -> Web {
        Web {
            request: SizeDistribution::Fixed(Fixed { size: Size(300) }),
            main: SizeDistribution::Surge(Surge::default()),
            objects: CountDistribution::Pareto(ParetoCount { shape: 2.43 }),
            object: SizeDistribution::Surge(Surge::default()),
            service: TimeDistribution::default(),
            think: TimeDistribution::Pareto(ParetoTime { mean: Dur::from_secs(3), shape: 1.5 }),
            parallel: 4,
            connections: Connections::default(),
            timeout: None,
        }
    }
}

impl Web {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.request.check().map_err(|e| e.within("request"))?;
        self.main.check().map_err(|e| e.within("main"))?;
        self.objects.check().map_err(|e| e.within("objects"))?;
        self.object.check().map_err(|e| e.within("object"))?;
        self.service.check().map_err(|e| e.within("service"))?;
        self.think.check().map_err(|e| e.within("think"))?;
        if !(1..=32).contains(&self.parallel) {
            return Err(Invalid::new("parallel", format!("{} is out of range; write 1 to 32", self.parallel)));
        }
        check_timeout(self.timeout)
    }

    pub(super) fn pages(&self) -> Pages {
        Pages {
            request: self.request.clone(),
            first: self.main.clone(),
            objects: Some(self.objects.clone()),
            object: self.object.clone(),
            service: self.service.clone(),
            think: self.think.clone(),
            fresh: self.connections == Connections::Fresh,
            timeout: self.timeout,
            parallel: self.parallel,
        }
    }
}
