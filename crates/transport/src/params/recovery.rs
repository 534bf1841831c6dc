//! Parameters of loss detection and recovery.

use super::form::Form;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;

tailback_document::kinds! {
    /// Loss detection and recovery.
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

/// Go-back-N: the receiver discards segments out of order, and the sender resumes at the first segment that is
/// missing, as network adapters for lossless networks do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GoBackN {}

impl GoBackN {
    /// Accepts: there are no parameters.
    ///
    /// # Errors
    /// Never: the type excludes invalid values.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Fast retransmit without fast recovery: after a loss the window is one segment, and the sender resumes at the lost
/// segment (Jacobson 1988).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tahoe {}

/// Fast recovery that ends with the first new acknowledgement (RFC 5681): several losses per
/// window usually end in a timeout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Reno {
    /// `true` if the window is reduced once for all segments sent before a fast retransmit, so that a second loss
    /// among them ends in a timeout, as with ns-2's `bugFix_`; `false` if three more duplicates halve the window
    /// again, as in RFC 5681. Default true.
    pub careful: bool,
}

/// Fast recovery that repairs one loss per round trip until all segments sent before it are
/// acknowledged (RFC 6582).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct NewReno {
    /// `true` if only the first partial acknowledgement restarts the retransmission timer, so that a
    /// window with many losses ends in a timeout ("impatient"); `false` if each one restarts it ("slow
    /// but steady"). Default true.
    pub impatient: bool,
    /// `true` if a partial acknowledgement shrinks the window by the number of segments that it acknowledges minus
    /// one. Default true.
    pub deflation: bool,
    /// Window at the end of recovery: "flight": min(ssthresh, FlightSize + 1), which avoids a burst
    /// (RFC 6582 section 3.2 step 3, choice 1); "ssthresh": the threshold (choice 2 there); "open":
    /// the window after deflation, which this acknowledgement opens like any other (ns-2). Default
    /// "flight".
    pub exit: Exit,
}

/// Window at the end of NewReno's recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// min(ssthresh, segments outstanding + 1).
    #[default]
    Flight,
    /// The slow-start threshold.
    Ssthresh,
    /// The window after deflation, which the acknowledgement that ends recovery opens (ns-2, 4.4BSD).
    Open,
}

/// Selective acknowledgements: all losses of a window are known and repaired in one round trip (RFC 2018, RFC 6675).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Sack {
    /// `true` if the reduction is spread over a round trip (proportional rate reduction, RFC 9937);
    /// `false` if the window is reduced at once. Default true.
    pub prr: bool,
    /// `true` if losses are detected by time instead of by count (RACK, RFC 8985), which detects lost
    /// retransmissions, too, and tolerates reordering. Default true.
    pub rack: bool,
    /// `true` if a probe is sent after two round trips without an acknowledgement (tail loss probe,
    /// RFC 8985 section 7); requires `rack`. Default true.
    pub tlp: bool,
    /// Estimate of the segments in the network during recovery: "rfc6675" excludes those considered lost and
    /// repairs these first; "count" falls by one with each acknowledgement (two with a partial one),
    /// rises with each transmission, and repairs every hole (Fall and Floyd 1996, ns-2's `Sack1`).
    /// "count" needs `prr = false` and `rack = false`. Default "rfc6675".
    pub pipe: Pipe,
    /// `true` if selective acknowledgements are discarded at a timeout and all outstanding segments sent
    /// again, as RFC 2018 section 8 advises and ns-2 does; `false` if they are kept (RFC 6675 section 5.1).
    /// Default false.
    pub forget: bool,
    /// "rfc": the RFCs; "linux": rules of Linux 6.1 where they differ: an echo, too, reduces the window in proportion to
    /// the acknowledgements of a round trip, during which the window does not grow; the reduction is measured from the
    /// window, not from FlightSize; an expiry of the timer within the window of a reduction does not reduce the threshold
    /// again, and leaves a window of one segment more than those in the network; one timer waits for acknowledgements,
    /// probes and reordered segments. Needs `prr`, `rack` and the defaults of `pipe` and `forget`. Default "rfc".
    pub form: Form,
}

/// Estimate of the number of segments in the network during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pipe {
    /// SetPipe of RFC 6675 section 4.
    #[default]
    Rfc6675,
    /// A counter, decremented by acknowledgements and incremented by transmissions (Fall and Floyd 1996).
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
        Sack { prr: true, rack: true, tlp: true, pipe: Pipe::Rfc6675, forget: false, form: Form::Rfc }
    }
}

impl Tahoe {
    /// Accepts all values.
    ///
    /// # Errors
    /// Never: the type excludes invalid values.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}
impl Reno {
    /// Accepts all values.
    ///
    /// # Errors
    /// Never: the type excludes invalid values.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}
impl NewReno {
    /// Accepts all values.
    ///
    /// # Errors
    /// Never: the type excludes invalid values.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}
impl Sack {
    /// Checks combinations of parameters; `tlp` without `rack` has no effect.
    ///
    /// # Errors
    /// If `pipe` is "count" and `prr` or `rack` is `true`, or if `form` is "linux" and another parameter contradicts it.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.pipe == Pipe::Count && (self.prr || self.rack) {
            return Err(Invalid::new(
                "pipe",
                "\"count\" needs `prr = false` and `rack = false`; write them or \"rfc6675\"",
            ));
        }
        let as_linux = self.prr && self.rack && self.pipe == Pipe::Rfc6675 && !self.forget;
        if self.form == Form::Linux && !as_linux {
            let message = "\"linux\" needs `prr` and `rack`, and the defaults of `pipe` and `forget`; remove those keys, or write `form = \"rfc\"`";
            return Err(Invalid::new("form", message));
        }
        Ok(())
    }
}
