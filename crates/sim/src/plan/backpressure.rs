//! Back-pressure of switches: detection, notification and response.

use tailback_units::Dur;

/// Detection, notification and response of a switch (Tobagi, Fraleigh and Noureddine). Congestion is detected in output
/// queues; in a crossbar switch it is detected at the inputs, and each input notifies only the neighbour behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct BackPressure {
    /// Traffic that a notification names and that its receiver stops or slows.
    pub scope: Scope,
    /// Detection of congestion in a queue.
    pub detection: Detection,
    /// Neighbours that a congested queue notifies.
    pub notify: Notify,
    /// Source of the destination addresses in notifications.
    pub addresses: Addresses,
    /// `true`: occupancy is counted for each destination, which may occupy the whole limit of the class.
    pub partition: bool,
    /// Response of a notified neighbour.
    pub response: Response,
    /// Format and repetition of notifications.
    pub signal: Signal,
    /// Time from the full reception of a notification to its effect.
    pub response_time: Dur,
    /// `true` if hosts are notified too.
    pub end_stations: bool,
}

/// Traffic that a notification names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All traffic of the port (IEEE 802.3 PAUSE).
    Plain,
    /// The class of the congested queue.
    Class,
    /// Traffic to the named destination addresses, in all classes.
    Destination,
    /// Destination addresses within the class of the congested queue.
    ClassDestination,
}

impl Scope {
    /// Returns `true` if notifications name destination addresses.
    pub fn by_address(self) -> bool {
        matches!(self, Scope::Destination | Scope::ClassDestination)
    }
}

/// Detection of congestion in a queue: an output queue, or the memory or a queue of a crossbar's input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detection {
    /// Congestion begins when the occupancy exceeds `high`, and ends when it is below `low`, both as fractions of the
    /// limit.
    Watermark {
        /// Upper threshold, 0 to 1.
        high: f64,
        /// Lower threshold, 0 to `high`.
        low: f64,
    },
    /// Congestion begins when the forecast of the occupancy exceeds `high`, and ends when the forecast is below `low`,
    /// both as fractions of the limit. The forecast extrapolates the growth over the last `window` to `horizon`, and is
    /// never below the occupancy itself.
    FillRate {
        /// Upper threshold, 0 to 1.
        high: f64,
        /// Lower threshold, 0 to `high`.
        low: f64,
        /// Time over which growth is measured.
        window: Dur,
        /// Time over which growth is extrapolated.
        horizon: Dur,
    },
}

/// Neighbours that a congested queue notifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// Every neighbour except the one behind the congested port.
    All,
    /// Only neighbours that sent into the congested queue since it was last empty.
    Feeding,
}

/// Source of the destination addresses in notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Destinations of the frames in the congested buffer, and of later arrivals while it is congested.
    Buffer,
    /// All destinations reached through the congested port.
    FilteringDatabase,
}

/// Response of a notified neighbour to the traffic in scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Response {
    /// Stops the traffic.
    Block,
    /// Slows the traffic: the rate is multiplied by `decrease` at the notification and after each `interval` until the
    /// notification is withdrawn or expires, but is not lowered below `floor`; afterwards the rate grows by `increase`
    /// every `interval`. Rates are fractions of the link's rate.
    Rate {
        /// Factor of each decrease, above 0 and below 1.
        decrease: f64,
        /// Minimum rate as a fraction of the link's rate, above 0 and at most 1.
        floor: f64,
        /// Amount of each increase as a fraction of the link's rate, above 0 and at most 1.
        increase: f64,
        /// Time between steps.
        interval: Dur,
    },
}

/// Format and repetition of notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// One control frame (XOFF) when a queue becomes congested and one (XON) when its congestion ends; the receiver
    /// keeps the state in between: the idealised mechanism of Tobagi, Fraleigh and Noureddine.
    OnOff,
    /// PAUSE (IEEE 802.3 annex 31B) or PFC (IEEE 802.1Qbb) frames with quanta, repeated while congestion lasts.
    Mac {
        /// Quanta of 512 bit times in each XOFF, 1 to 65535.
        quanta: u16,
    },
}
