//! How losses are found and repaired.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;

tailback_document::kinds! {
    /// How losses are found and repaired.
    pub enum Recovery {
        "tahoe" => Tahoe(Tahoe),
        "reno" => Reno(Reno),
        "newreno" => NewReno(NewReno),
        "sack" => Sack(Sack),
        "go-back-n" => GoBackN(GoBackN),
    }
}

impl Default for Recovery {
    fn default() -> Recovery {
        Recovery::Sack(Sack::default())
    }
}

/// The receiver keeps nothing that is out of order, and the sender goes back to the first segment that is
/// missing: what network adapters do that count on a network without losses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GoBackN {}

impl GoBackN {
    /// Nothing can be wrong.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Fast retransmit without fast recovery: a loss sets the window to one segment and sending starts
/// again at the lost one (Jacobson 1988).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tahoe {}

/// Fast recovery that ends with the first new acknowledgement (RFC 5681): several losses in a
/// window usually need the timer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Reno {
    /// Reduce once for all that was sent before a fast retransmit, so that a second loss there needs
    /// the timer, as with ns-2's `bugFix_`; false lets three more duplicates halve the window again,
    /// as RFC 5681 does. Default true.
    pub careful: bool,
}

/// Fast recovery that repairs one loss per round trip until all that was sent before it is
/// acknowledged (RFC 6582).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct NewReno {
    /// Restart the retransmission timer at the first partial acknowledgement only, so that a window
    /// with many losses ends in a timeout; false ("slow but steady") restarts it at each. Default true.
    pub impatient: bool,
    /// Shrink the window by what a partial acknowledgement acknowledges, less one segment. Default true.
    pub deflation: bool,
    /// The window when recovery ends: "flight" is min(ssthresh, FlightSize + 1), which sends no burst
    /// (RFC 6582 section 3.2 step 3, choice 1), "ssthresh" its choice 2, "open" what deflation has
    /// left, opened by this acknowledgement as by any other (ns-2). Default "flight".
    pub exit: Exit,
}

/// The window at the end of NewReno's recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// The smaller of the threshold and one segment more than is outstanding.
    #[default]
    Flight,
    /// The threshold.
    Ssthresh,
    /// As deflation has left it; the acknowledgement that ends recovery opens it (ns-2, 4.4BSD).
    Open,
}

/// Selective acknowledgements: all holes are known and repaired at once (RFC 2018, RFC 6675).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Sack {
    /// Proportional rate reduction (RFC 9937): spread the reduction over the round trip; false sets
    /// the window at once. Default true.
    pub prr: bool,
    /// Find losses by time instead of by count (RACK, RFC 8985); finds lost retransmissions, too,
    /// and tolerates reordering. Default true.
    pub rack: bool,
    /// Probe for a lost tail after two round trips (TLP, RFC 8985 section 7); needs `rack`. Default true.
    pub tlp: bool,
    /// Segments in the network during recovery: "rfc6675" leaves out those taken for lost and
    /// repairs these first; "count" falls by one with each acknowledgement (two with a partial one),
    /// rises with each transmission, and repairs every hole (Fall and Floyd 1996, ns-2's `Sack1`).
    /// "count" goes without `prr` and `rack`. Default "rfc6675".
    pub pipe: Pipe,
    /// Forget at a timeout what was selectively acknowledged, and send everything again, as RFC 2018
    /// section 8 advises and ns-2 does; false keeps it (RFC 6675 section 5.1). Default false.
    pub forget: bool,
}

/// How segments in the network are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pipe {
    /// SetPipe of RFC 6675 section 4.
    #[default]
    Rfc6675,
    /// A counter (Fall and Floyd 1996).
    Count,
}

impl Default for Reno {
    fn default() -> Reno {
        Reno { careful: true }
    }
}
impl Default for NewReno {
    fn default() -> NewReno {
        NewReno { impatient: true, deflation: true, exit: Exit::Flight }
    }
}
impl Default for Sack {
    fn default() -> Sack {
        Sack { prr: true, rack: true, tlp: true, pipe: Pipe::Rfc6675, forget: false }
    }
}

impl Tahoe {
    /// Has nothing to refuse.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}
impl Reno {
    /// Has nothing to refuse.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}
impl NewReno {
    /// Has nothing to refuse.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}
impl Sack {
    /// Whether the parameters make sense together; `tlp` without `rack` does nothing.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.pipe == Pipe::Count && (self.prr || self.rack) {
            return Err(Invalid::new(
                "pipe",
                "\"count\" needs `prr = false` and `rack = false`; write them or \"rfc6675\"",
            ));
        }
        Ok(())
    }
}
