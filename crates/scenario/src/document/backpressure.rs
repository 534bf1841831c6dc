//! `[backpressure]`: detection, notification and response of a switch.
//!
//! Vocabulary and defaults of Tobagi, Fraleigh and Noureddine, "Congestion Control in Local Area
//! Networks", and of IEEE 802.3x (PAUSE) and 802.1Qbb (priority-based flow control).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Invalid, kinds};
use tailback_units::{Dur, Fraction};

/// What a switch does about congestion besides dropping: it tells its neighbours to stop sending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BackPressure {
    /// What a notification names, and so what stops.
    pub scope: Scope,
    /// When an output queue counts as congested, or at a crossbar switch an input.
    #[serde(default)]
    pub detection: Detection,
    /// Whom a congested queue notifies. An input of a crossbar switch always notifies the one neighbour that fills it.
    #[serde(default)]
    pub notify: Notify,
    /// Where a destination list comes from.
    #[serde(default)]
    pub addresses: Addresses,
    /// Whether each destination's virtual queue has the class's whole limit to itself, so that a stopped destination
    /// takes no room from the others. Matters with the scopes that name destinations.
    #[serde(default = "yes")]
    pub partition: bool,
    /// What a notified neighbour does with the traffic that was named.
    #[serde(default)]
    pub response: Response,
    /// How notifications travel.
    #[serde(default)]
    pub signal: Signal,
    /// From the full reception of a notification to its effect.
    #[serde(default)]
    pub response_time: Dur,
    /// Whether hosts are notified too.
    #[serde(default)]
    pub end_stations: bool,
}

fn yes() -> bool {
    true
}

/// What a notification names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// No notifications: the switch only drops.
    None,
    /// Nothing in particular: the whole port stops (802.3x).
    Plain,
    /// The class of the congested queue (802.1Qbb).
    Class,
    /// Destination addresses.
    Destination,
    /// Destination addresses within the class of the congested queue.
    ClassDestination,
}

/// Whom a congested queue notifies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Notify {
    /// Every neighbour but the one behind the congested port.
    #[default]
    All,
    /// Only those that have sent into the congested queue since it last was empty.
    Feeding,
}

/// Where a destination list comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Addresses {
    /// The frames in the congested buffer, and later arrivals while it is congested.
    #[default]
    Buffer,
    /// All addresses that are reached through the congested port.
    FilteringDatabase,
}

kinds! {
    /// When an output queue counts as congested.
    pub enum Detection {
        "watermark" => Watermark(Watermark),
        "fill-rate" => FillRate(FillRate),
    }
}

impl Default for Detection {
    fn default() -> Detection {
        Detection::Watermark(Watermark { high: high(), low: low() })
    }
}

/// Congested when the queue exceeds a high watermark, until it falls below a low one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Watermark {
    /// Fraction of the buffer above which the queue is congested; above `low`, at most 1.
    #[serde(default = "high")]
    pub high: Fraction,
    /// Fraction of the buffer below which it no longer is; 0 to below `high`.
    #[serde(default = "low")]
    pub low: Fraction,
}

fn high() -> Fraction {
    Fraction(0.8)
}
fn low() -> Fraction {
    Fraction(0.7)
}

impl Watermark {
    /// The high watermark lies above the low one.
    pub fn check(&self) -> Result<(), Invalid> {
        ordered(self.low, self.high)
    }
}

fn ordered(low: Fraction, high: Fraction) -> Result<(), Invalid> {
    if low.0 < high.0 {
        return Ok(());
    }
    let message = format!(
        "`low` = {low} is not below `high` = {high}: congestion that ends where it begins would flap; lower `low` or raise `high`"
    );
    Err(Invalid::new("low", message))
}

/// Congested when the queue, extrapolated from its recent growth, will exceed a high watermark.
///
/// Law: forecast = q + horizon * max(0, growth per time over the last full window); congested when it exceeds `high`,
/// until it falls below `low`. It is never below q, so it acts no later than a watermark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FillRate {
    /// Fraction of the buffer that the forecast must exceed; above `low`, at most 1.
    #[serde(default = "high")]
    pub high: Fraction,
    /// Fraction of the buffer below which the forecast ends the congestion; 0 to below `high`.
    #[serde(default = "low")]
    pub low: Fraction,
    /// Time over which growth is measured; above 0.
    #[serde(default = "window")]
    pub window: Dur,
    /// Time over which growth is extrapolated; above 0. The default is what it takes to fill the last 50 kB of a buffer
    /// at 80 Mbit/s of excess.
    #[serde(default = "horizon")]
    pub horizon: Dur,
}

fn window() -> Dur {
    Dur::from_ms(2)
}
fn horizon() -> Dur {
    Dur::from_ms(5)
}

impl FillRate {
    /// The watermarks are in order, and both times above zero.
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
    /// What a notified neighbour does with the traffic that was named.
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

/// Stops it until told otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Block {}

impl Block {
    /// Nothing can be wrong.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Slows it down: multiplicative decrease while congestion lasts, additive increase after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RateControl {
    /// The rate is multiplied by this at the notification, and again after each `interval` while congestion lasts;
    /// above 0 and below 1.
    #[serde(default = "decrease")]
    pub decrease: Fraction,
    /// The rate falls no lower; a fraction of the link's rate, above 0.
    #[serde(default = "floor")]
    pub floor: Fraction,
    /// Added after each `interval` once congestion is over, up to the link's rate; a fraction of it, above 0.
    #[serde(default = "increase")]
    pub increase: Fraction,
    /// Time between steps; above 0.
    #[serde(default = "interval")]
    pub interval: Dur,
}

fn decrease() -> Fraction {
    Fraction(0.5)
}
fn floor() -> Fraction {
    Fraction(0.01)
}
fn increase() -> Fraction {
    Fraction(0.05)
}
fn interval() -> Dur {
    Dur::from_ms(5)
}

impl RateControl {
    /// The law goes down when it should and up when it should.
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
            return Err(Invalid::new("interval", "steps need time between them; use an `interval` such as \"5ms\""));
        }
        Ok(())
    }
}

kinds! {
    /// How notifications travel.
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

/// One control frame says stop and one says go, remembered by the receiver in between: the idealised mechanism.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OnOff {}

impl OnOff {
    /// Nothing can be wrong.
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
    #[serde(default = "most_quanta")]
    #[schemars(range(min = 1, max = 65_535))]
    pub quanta: u16,
}

fn most_quanta() -> u16 {
    u16::MAX
}

impl Mac {
    /// A pause lasts.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.quanta == 0 {
            return Err(Invalid::new(
                "quanta",
                "a pause of 0 quanta means \"go on\"; use 1 to 65535 quanta of 512 bit times",
            ));
        }
        Ok(())
    }
}
