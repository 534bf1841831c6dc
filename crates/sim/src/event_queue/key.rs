//! Kinds of events, and the order of events at one instant.

/// Kind of an event. Events at one instant are handled in the order of declaration: first transmitters become free;
/// then the warm-up ends, before the arrivals at that instant; then frames leave crossbars and arrive, notifications
/// take effect, ports try to transmit or repeat a PAUSE, timers expire and sources emit; last, the timeline is applied
/// and the time series are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// End of a transmission at a port at which further packets wait.
    TxDone,
    /// End of the warm-up.
    WarmedUp,
    /// End of a frame's transfer over a crossbar.
    Crossed,
    /// Arrival of the oldest frame on a link at the end of the link.
    Arrive,
    /// A notification takes effect at a port.
    Respond,
    /// Another attempt of a port to transmit: a pause expires, or a limiter permits the next frame.
    Wake,
    /// Repetition of the PAUSE frame of a port.
    Refresh,
    /// Expiry of a sender's timer.
    Timer,
    /// Expiry of a receiver's timer for delayed acknowledgements.
    AckTimer,
    /// Next burst of a source or write of an application.
    Emit,
    /// Next change of the timeline.
    Change,
    /// Next sample of the time series.
    Sample,
}

/// Tie-breaker among events at one instant: kind (upper 4 bits), then index of the component (lower 28 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(pub(super) u32);

impl Key {
    /// Maximum number of components of one kind.
    pub const MAX_COMPONENTS: u32 = 1 << 28;

    #[inline]
    pub fn new(kind: Kind, component: u32) -> Key {
        debug_assert!(component < Key::MAX_COMPONENTS);
        Key((kind as u32) << 28 | component)
    }
    #[inline]
    pub fn kind(self) -> Kind {
        // The numbers are those of the declaration, so that the compiler can eliminate the match.
        match self.0 >> 28 {
            0 => Kind::TxDone,
            1 => Kind::WarmedUp,
            2 => Kind::Crossed,
            3 => Kind::Arrive,
            4 => Kind::Respond,
            5 => Kind::Wake,
            6 => Kind::Refresh,
            7 => Kind::Timer,
            8 => Kind::AckTimer,
            9 => Kind::Emit,
            10 => Kind::Change,
            _ => Kind::Sample,
        }
    }
    #[inline]
    pub fn component(self) -> u32 {
        self.0 & (Key::MAX_COMPONENTS - 1)
    }
}
