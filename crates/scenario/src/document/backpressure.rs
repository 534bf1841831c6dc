//! `[backpressure]`: detection, notification and response of a switch.
//!
//! Terms and defaults are those of Tobagi, Fraleigh and Noureddine, "Congestion Control in Local Area Networks", and of
//! IEEE 802.3x (PAUSE) and 802.1Qbb (priority-based flow control).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Invalid, kinds};
use tailback_units::{Dur, Fraction};

/// Back-pressure of a switch: in addition to dropping, it notifies its neighbours to stop or slow down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BackPressure {
    /// Granularity of notifications, and so of the response to them: the port, a class or destinations.
    pub scope: Scope,
    /// Criterion for the congestion of an output queue, or of an input of a crossbar switch.
    #[serde(default)]
    pub detection: Detection,
    /// Neighbours that a congested queue notifies. An input of a crossbar switch always notifies the one neighbour
    /// behind it.
    #[serde(default)]
    pub notify: Notify,
    /// Source of the destination addresses in a notification.
    #[serde(default)]
    pub addresses: Addresses,
    /// `true` if each destination's virtual queue has the class's whole limit to itself, so that a stopped destination
    /// takes no buffer from the others. Has an effect only with the scopes that name destinations.
    #[serde(default = "default_partition")]
    pub partition: bool,
    /// Response of a notified neighbour: it stops the traffic that the notification names, or slows it down.
    #[serde(default)]
    pub response: Response,
    /// Transport of notifications: ideal on/off control frames, or PAUSE frames that expire.
    #[serde(default)]
    pub signal: Signal,
    /// Time from the full reception of a notification to its effect.
    #[serde(default)]
    pub response_time: Dur,
    /// `true` if hosts are notified too.
    #[serde(default)]
    pub end_stations: bool,
}

fn default_partition() -> bool {
    true
}

/// Granularity of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// No notifications: the switch only drops.
    None,
    /// The whole port (802.3x PAUSE).
    Plain,
    /// The class of the congested queue (802.1Qbb).
    Class,
    /// Destination addresses.
    Destination,
    /// Destination addresses within the class of the congested queue.
    ClassDestination,
}

/// Neighbours that a congested queue notifies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Notify {
    /// Every neighbour except the one behind the congested port.
    #[default]
    All,
    /// The neighbours that have sent into the congested queue since it was last empty.
    Feeding,
}

/// Source of the destination addresses in a notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Addresses {
    /// Destinations of the frames in the congested buffer, and of later arrivals while it is congested.
    #[default]
    Buffer,
    /// All destinations that are reached through the congested port (filtering database).
    FilteringDatabase,
}

kinds! {
    /// Criterion for the congestion of an output queue.
    pub enum Detection {
        "watermark" => Watermark(Watermark),
        "fill-rate" => FillRate(FillRate),
    }
}

impl Default for Detection {
    fn default() -> Detection {
        Detection::Watermark(Watermark { high: default_high(), low: default_low() })
    }
}

/// Two watermarks: congested when the queue exceeds the high one, until it falls below the low one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Watermark {
    /// High watermark, a fraction of the buffer; above `low`, at most 1.
    #[serde(default = "default_high")]
    pub high: Fraction,
    /// Low watermark, a fraction of the buffer; 0 to below `high`.
    #[serde(default = "default_low")]
    pub low: Fraction,
}

fn default_high() -> Fraction {
    Fraction(0.8)
}
fn default_low() -> Fraction {
    Fraction(0.7)
}

impl Watermark {
    /// Checks that the low watermark is below the high one.
    ///
    /// # Errors
    /// The name of the invalid parameter, and the accepted values.
    pub fn check(&self) -> Result<(), Invalid> {
        ordered(self.low, self.high)
    }
}

/// Checks that the low watermark is below the high one.
fn ordered(low: Fraction, high: Fraction) -> Result<(), Invalid> {
    if low.0 < high.0 {
        return Ok(());
    }
    let message =
        format!("`low` = {low} is not below `high` = {high}: the state would oscillate; lower `low` or raise `high`");
    Err(Invalid::new("low", message))
}

/// Forecast of the queue length from its recent growth: the queue is congested when the forecast exceeds the high
/// watermark, until the forecast falls below the low one.
///
/// forecast = q + horizon * max(0, growth rate over the last full window), with q the length of the queue. The forecast
/// is never below q, so that it acts no later than plain watermarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FillRate {
    /// High watermark of the forecast, a fraction of the buffer; above `low`, at most 1.
    #[serde(default = "default_high")]
    pub high: Fraction,
    /// Low watermark of the forecast, a fraction of the buffer; 0 to below `high`.
    #[serde(default = "default_low")]
    pub low: Fraction,
    /// Time over which growth is measured; above 0.
    #[serde(default = "default_window")]
    pub window: Dur,
    /// Time over which growth is extrapolated; above 0. Default 5ms, in which 80 Mbit/s of excess load fill the last 50
    /// kB of a buffer.
    #[serde(default = "default_horizon")]
    pub horizon: Dur,
}

fn default_window() -> Dur {
    Dur::from_ms(2)
}
fn default_horizon() -> Dur {
    Dur::from_ms(5)
}

impl FillRate {
    /// Checks the order of the watermarks, and that both times are above zero.
    ///
    /// # Errors
    /// The name of the invalid parameter, and the accepted values.
    pub fn check(&self) -> Result<(), Invalid> {
        ordered(self.low, self.high)?;
        if self.window == Dur::ZERO {
            return Err(Invalid::new(
                "window",
                "growth over no time is undefined; use a few frame times, such as \"2ms\"",
            ));
        }
        if self.horizon == Dur::ZERO {
            return Err(Invalid::new(
                "horizon",
                "a forecast over no time is the queue itself; use `kind = \"watermark\"` or a horizon such as \"5ms\"",
            ));
        }
        Ok(())
    }
}

kinds! {
    /// Response of a notified neighbour to the traffic that the notification names.
    pub enum Response {
        "block" => Block(Block),
        "rate" => Rate(RateControl),
    }
}

impl Default for Response {
    fn default() -> Response {
        Response::Block(Block {})
    }
}

/// Stops the traffic until the congestion is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Block {}

impl Block {
    /// Always `Ok`: there are no parameters.
    ///
    /// # Errors
    /// Never.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Slows the traffic down: multiplicative decrease while congestion lasts, additive increase after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RateControl {
    /// Factor applied to the rate at the notification, and again after each `interval` while congestion lasts; above 0
    /// and below 1.
    #[serde(default = "default_decrease")]
    pub decrease: Fraction,
    /// Lower bound of the rate, a fraction of the link's rate, above 0.
    #[serde(default = "default_floor")]
    pub floor: Fraction,
    /// Increase of the rate after each `interval` without congestion, up to the link's rate; a fraction of the link's
    /// rate, above 0.
    #[serde(default = "default_increase")]
    pub increase: Fraction,
    /// Time between steps; above 0.
    #[serde(default = "default_interval")]
    pub interval: Dur,
}

fn default_decrease() -> Fraction {
    Fraction(0.5)
}
fn default_floor() -> Fraction {
    Fraction(0.01)
}
fn default_increase() -> Fraction {
    Fraction(0.05)
}
fn default_interval() -> Dur {
    Dur::from_ms(5)
}

impl RateControl {
    /// Checks that `decrease` is between 0 and 1, and that `floor`, `increase` and `interval` are above 0.
    ///
    /// # Errors
    /// The name of the invalid parameter, and the accepted values.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.decrease.0 <= 0.0 || self.decrease.0 >= 1.0 {
            return Err(Invalid::new(
                "decrease",
                format!(
                    "`decrease` = {} does not slow anything down; use a factor between 0 and 1, such as 0.5",
                    self.decrease
                ),
            ));
        }
        for (field, value) in [("floor", self.floor), ("increase", self.increase)] {
            if value.0 <= 0.0 {
                return Err(Invalid::new(
                    field,
                    format!(
                        "`{field}` = 0 would keep the traffic stopped for ever; use a fraction of the link's rate above 0, such as 0.05"
                    ),
                ));
            }
        }
        if self.interval == Dur::ZERO {
            return Err(Invalid::new(
                "interval",
                "the rate cannot change in steps of zero time; use an `interval` such as \"5ms\"",
            ));
        }
        Ok(())
    }
}

kinds! {
    /// Transport of notifications.
    pub enum Signal {
        "on-off" => OnOff(OnOff),
        "mac" => Mac(Mac),
    }
}

impl Default for Signal {
    fn default() -> Signal {
        Signal::OnOff(OnOff {})
    }
}

/// An ideal signal: one control frame stops, one resumes, and the receiver keeps the state in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OnOff {}

impl OnOff {
    /// Always `Ok`: there are no parameters.
    ///
    /// # Errors
    /// Never.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// PAUSE frames of 802.3x Annex 31B, or of 802.1Qbb with scope "class": they expire, and are refreshed while congestion
/// lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mac {
    /// Pause time in each XOFF, in quanta of 512 bit times; 1 to 65535.
    #[serde(default = "default_quanta")]
    #[schemars(range(min = 1, max = 65_535))]
    pub quanta: u16,
}

fn default_quanta() -> u16 {
    u16::MAX
}

impl Mac {
    /// Checks that the pause time is above 0.
    ///
    /// # Errors
    /// The name of the invalid parameter, and the accepted values.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.quanta == 0 {
            return Err(Invalid::new(
                "quanta",
                "a pause of 0 quanta means \"resume\"; use 1 to 65535 quanta of 512 bit times",
            ));
        }
        Ok(())
    }
}
