//! A person who reads pages made of several objects.

use super::distribution::{Fixed, ParetoCount, ParetoTime, Surge};
use super::{Connections, CountLaw, Pages, SizeLaw, TimeLaw, check_timeout};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Checked, Invalid};
use tailback_units::{Dur, Size};

/// Pages: a main object, then those embedded in it, requested over several connections at once, then
/// a time for reading. Each flow of the group is one user, who begins by reading. Sizes, numbers and times are by
/// default those of SURGE (P. Barford and M. Crovella, ACM SIGMETRICS 1998), whose gaps inside a page are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Web {
    /// Payload of a request. Default 300 B.
    pub request: SizeLaw,
    /// Payload of a page's main object. Default: "surge".
    pub main: SizeLaw,
    /// How many objects are embedded in a page. Default: Pareto of least value 1 and shape 2.43, less 1.
    pub objects: CountLaw,
    /// Payload of an embedded object. Default: "surge".
    pub object: SizeLaw,
    /// Time from the arrival of a request to the response. Default none.
    pub service: TimeLaw,
    /// Time from the arrival of a page to the next page's request. Default: Pareto of mean 3 s and shape 1.5.
    pub think: TimeLaw,
    /// Connections of a user, so many requests at a time, 1 to 32. Default 4.
    #[schemars(range(min = 1, max = 32))]
    pub parallel: u32,
    /// Whether each request has a connection of its own. Default "persistent".
    pub connections: Connections,
    /// A request whose response has not arrived after this time is given up; above 0s and at most 13 days. Without a
    /// transport it is needed, since what is lost is not repeated. Absent, a client waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Dur>,
}

impl Default for Web {
    fn default() -> Web {
        Web {
            request: SizeLaw::Fixed(Fixed { size: Size(300) }),
            main: SizeLaw::Surge(Surge::default()),
            objects: CountLaw::Pareto(ParetoCount { shape: 2.43 }),
            object: SizeLaw::Surge(Surge::default()),
            service: TimeLaw::default(),
            think: TimeLaw::Pareto(ParetoTime { mean: Dur::from_secs(3), shape: 1.5 }),
            parallel: 4,
            connections: Connections::default(),
            timeout: None,
        }
    }
}

impl Web {
    /// Whether the parameters make sense together.
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
