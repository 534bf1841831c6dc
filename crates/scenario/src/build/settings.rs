//! `[run]` and `[network]`: ranges of values and their combinations.

use super::builder::Builder;
use crate::document::{FrameLength, FramingTable, VERSION, Warmup};
use tailback_document::{Checked, Path};
use tailback_qdisc::Packet;
use tailback_units::{Dur, Size};

/// Upper bound on the points of a time series; a larger number indicates a wrong interval.
const MAX_SAMPLES: u64 = 1_000_000;
/// Upper bound on the points of the time series of all ports, which take a few hundred megabytes.
const MAX_VALUES: u64 = 10_000_000;
/// Upper bound on the number of replications; a larger number indicates an error.
const MAX_REPLICATIONS: u32 = 100_000;
/// Upper bound on the rows of a record, which take a few gigabytes.
const MAX_ROWS: u32 = 100_000_000;
/// Meaningful confidence levels: an interval of a level below 0.5 rarely contains the mean, and the quantile for 1 is
/// infinite.
pub(crate) const CONFIDENCES: std::ops::RangeInclusive<f64> = 0.5..=0.999_999;
/// Longest frame on the wire in bytes, including preamble and gap: the engine stores lengths in 16 bits.
const MAX_FRAME: u64 = 65_535;

impl Builder<'_> {
    /// Checks version, `[run]` and `[network]`; returns the framing.
    pub(super) fn settings(&mut self) -> FramingTable {
        let version = self.document.tailback;
        if version != VERSION {
            self.complaints.value(
                Path::root().join("tailback"),
                format!("the document has version {version} of the format, but this program reads version {VERSION}"),
                format!("write `tailback = {VERSION}`, or use the version of Tailback that wrote the document"),
            );
        }
        self.check_run();
        self.check_precision();
        let classes = self.document.network.classes;
        let network = Path::root().join("network");
        if !(1..=8).contains(&classes) {
            self.complaints.value(
                network.join("classes"),
                format!("{classes} is not a number of classes"),
                "write a number from 1 to 8, as in 802.1Q",
            );
        }
        self.complaints.invalid(&network.join("discipline"), Checked::check(&self.document.network.discipline));
        self.framing()
    }

    /// Checks duration, warm-up, seed, replications, confidence level and sampling interval.
    fn check_run(&mut self) {
        let run = &self.document.run;
        let at = |key: &str| Path::root().join("run").join(key);
        if run.duration == Dur::ZERO {
            self.complaints.value(
                at("duration"),
                "the duration is zero",
                "write how long to simulate, such as \"60s\"",
            );
        }
        if let Warmup::At(warmup) = run.warmup
            && warmup >= run.duration
            && run.duration > Dur::ZERO
        {
            self.complaints.value(
                at("warmup"),
                format!("a warm-up of {warmup} leaves no time to measure, since the run takes {}", run.duration),
                format!("shorten the warm-up to below {0}, or lengthen `duration`, which includes it", run.duration),
            );
        }
        if i64::try_from(run.seed).is_err() {
            self.complaints.value(
                at("seed"),
                format!("the seed {} is above 2^63 - 1", run.seed),
                "choose a smaller one, such as 1",
            );
        }
        if !(1..=MAX_REPLICATIONS).contains(&run.replications) {
            self.complaints.value(
                at("replications"),
                format!("{} is not a number of replications", run.replications),
                format!("write a number from 1 to {MAX_REPLICATIONS}, such as 5"),
            );
        }
        if !CONFIDENCES.contains(&run.confidence.0) {
            self.complaints.value(
                at("confidence"),
                format!("{} is not a confidence level", run.confidence),
                "write a number from 0.5 to 0.999999, such as 0.95 or \"99%\"",
            );
        }
        if !(1..=MAX_ROWS).contains(&run.record_limit) {
            self.complaints.value(
                at("record-limit"),
                format!("{} is not a number of rows", run.record_limit),
                format!("write a number from 1 to {MAX_ROWS}, such as 1000000"),
            );
        }
        if run.sample.is_none()
            && let Some(record) = run.record.iter().find(|record| record.is_sampled())
        {
            self.complaints.value(
                at("record"),
                format!("{:?} is recorded at samples, but the run takes none", record.text()),
                "set `sample` in [run], such as \"10ms\"",
            );
        }
        if let Some(sample) = run.sample {
            if sample == Dur::ZERO {
                self.complaints.value(
                    at("sample"),
                    "the sampling interval of a time series is zero",
                    "write an interval above zero, such as \"10ms\", or remove `sample`",
                );
            } else if run.duration.0 / sample.0 > MAX_SAMPLES {
                let points = run.duration.0 / sample.0;
                let least = rounded_up(run.duration.0.div_ceil(MAX_SAMPLES));
                self.complaints.value(
                    at("sample"),
                    format!("a sample every {sample} gives {points} points in a run of {}", run.duration),
                    format!("the limit is {MAX_SAMPLES}; use an interval of {least} or more"),
                );
            }
        }
    }

    /// Checks that the time series of all ports have at most [`MAX_VALUES`] points.
    pub(super) fn check_samples(&mut self, links: usize) {
        let (Some(sample), end) = (self.document.run.sample, self.document.run.duration) else { return };
        let ports = 2 * links.max(1) as u64;
        if sample == Dur::ZERO || end.0 / sample.0 > MAX_SAMPLES {
            return;
        }
        if (end.0 / sample.0).saturating_mul(ports) > MAX_VALUES {
            let least = rounded_up(end.0.div_ceil(MAX_VALUES / ports));
            self.complaints.value(
                Path::root().join("run").join("sample"),
                format!(
                    "a sample every {sample} at each of {ports} ports gives {} points",
                    (end.0 / sample.0).saturating_mul(ports)
                ),
                format!("the limit is {MAX_VALUES}; use an interval of {least} or more"),
            );
        }
    }

    /// Checks the stopping rule of the replications.
    fn check_precision(&mut self) {
        let run = &self.document.run;
        let Some(precision) = &run.precision else { return };
        let at = |key: &str| Path::root().join("run").join("precision").join(key);
        if precision.relative.0 <= 0.0 {
            self.complaints.value(
                at("relative"),
                "a half-width of 0 is never reached",
                "write a fraction above 0, such as 0.1 for a tenth of the mean",
            );
        }
        if precision.absolute < 0.0 || !precision.absolute.is_finite() {
            self.complaints.value(
                at("absolute"),
                format!("{} is not a half-width", precision.absolute),
                "write a number of 0 or more in the metric's unit, such as 0.001",
            );
        }
        if precision.max_replications < run.replications || precision.max_replications > MAX_REPLICATIONS {
            self.complaints.value(
                at("max-replications"),
                format!(
                    "`max-replications` = {} is out of range, since at least {} are run",
                    precision.max_replications, run.replications
                ),
                format!("write a number from `replications` ({}) to {MAX_REPLICATIONS}", run.replications),
            );
        }
    }

    /// Checks the lengths of the framing, alone and in sum; returns the framing.
    fn framing(&mut self) -> FramingTable {
        let table = self.document.network.framing.table();
        let at = |key: &str| Path::root().join("network").join("framing").join(key);
        let lengths = [
            ("mtu", table.mtu, 1),
            ("header", table.header, 0),
            ("min-frame", table.min_frame, 0),
            ("overhead", table.overhead, 0),
        ];
        let mut sound = true;
        for (key, size, least) in lengths {
            if !(least..=MAX_FRAME).contains(&size.0) {
                sound = false;
                self.complaints.value(
                    at(key),
                    format!("`{key}` = \"{size}\" is out of range"),
                    format!("write a size from \"{least}B\" to \"{MAX_FRAME}B\"; Ethernet: mtu 1500B, header 18B, min-frame 64B, overhead 20B"),
                );
            }
        }
        let wire = (table.mtu.0 + table.header.0).max(table.min_frame.0) + table.overhead.0;
        if sound && wire > MAX_FRAME {
            self.complaints.value(
                at("mtu"),
                format!("a full frame takes {wire} bytes on the wire, including `header` and `overhead`"),
                format!("the limit is {MAX_FRAME} bytes; lower `mtu` by {} or more", Size(wire - MAX_FRAME)),
            );
        }
        // Number of bytes that a packet is longer on the wire than in buffers, at most: that of the shortest payload,
        // which has the most padding.
        let beyond = match table.buffer {
            FrameLength::Payload => table.header.0.max(table.min_frame.0.saturating_sub(1)) + table.overhead.0,
            FrameLength::Frame => table.overhead.0,
            FrameLength::Wire => 0,
        };
        if sound && wire <= MAX_FRAME && beyond > u64::from(Packet::MAX_BEYOND) {
            self.complaints.value(
                at("overhead"),
                format!("a packet may be {beyond} bytes longer on the wire than in buffers"),
                format!(
                    "the limit is {}; write `buffer = \"wire\"`, or a smaller header and overhead",
                    Packet::MAX_BEYOND
                ),
            );
        }
        table
    }
}

/// Rounds a time up to two significant digits.
fn rounded_up(ps: u64) -> Dur {
    let mut unit = 1;
    while ps / unit >= 100 {
        unit *= 10;
    }
    Dur(ps.div_ceil(unit) * unit)
}
