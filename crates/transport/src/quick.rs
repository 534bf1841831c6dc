//! Linux's rules about when a receiver acknowledges (`delayed-ack.form = "linux"`): Linux 6.1, `net/ipv4/tcp_input.c`
//! and `tcp_output.c`.

use tailback_diffserv::Ecn;
use tailback_units::{Dur, Time};

/// Number of segments that are acknowledged one by one at the start, after a pause, and after a segment that had been
/// received before (`TCP_MAX_QUICKACKS`).
const MOST: u32 = 16;
/// Number of segments that are acknowledged one by one from the first mark on, and from a retransmission that is not
/// ECN-capable (`__tcp_ecn_check_ce`).
const MARKED: u32 = 2;
/// Minimum of the delay of an acknowledgement (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
const LEAST: Dur = Dur::from_ms(40);
/// Maximum of the delay of an acknowledgement (`TCP_DELACK_MAX`).
const LONGEST: Dur = Dur::from_ms(200);
/// Minimum of the variation in the retransmission timeout (`TCP_RTO_MIN`).
const VARIATION: Dur = Dur::from_ms(200);
/// Retransmission timeout without a round-trip time (`TCP_TIMEOUT_INIT`).
const INITIAL: Dur = Dur::from_secs(1);
/// Number of acknowledgements of segments out of order that are sent at once after each advance
/// (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u32 = 3;
/// Number of acknowledgements that are combined into one at most (`tcp_comp_sack_nr`).
const COMBINED: u32 = 44;
/// Maximum delay of a combined acknowledgement (`tcp_comp_sack_delay_ns`).
const COMBINES: Dur = Dur::from_ms(1);
/// Half of the largest window that a receiver advertises with Linux's default buffer, 128 KiB: an endless transfer sets
/// the flag PSH when it has written more (`forced_push`), and a receiver acknowledges a full segment with PSH at once
/// (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`).
const PUSH: u32 = 65_535 / 2;
/// Time by which an idle system's timer of a combined acknowledgement is late (`tcp_comp_sack_slack_ns`).
const SLACK: Dur = Dur::from_us(100);

/// State of a receiver with Linux's rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quick {
    /// Number of acknowledgements still to be sent without a delay (`icsk_ack.quick`).
    at_once: u32,
    /// Estimate of the time between segments, the delay of acknowledgements (`icsk_ack.ato`); zero before the first
    /// segment.
    delay: Dur,
    /// Arrival of the last segment in order (`icsk_ack.lrcvtime`).
    last: Time,
    /// Arrival of the SYN. `None`: there was none, or data has arrived.
    opened: Option<Time>,
    /// Round-trip time of the handshake, the only one that a receiver measures; zero without a handshake.
    rtt: Dur,
    /// Retransmission timeout (`icsk_rto`), by which a pause is long.
    rto: Dur,
    /// `true` from a mark until the sender confirms its response (`TCP_ECN_DEMAND_CWR`).
    demands: bool,
    /// `true` if a segment was ECN-capable (`TCP_ECN_SEEN`).
    capable: bool,
    /// Number of acknowledgements of segments out of order since the last advance, up to [`AT_ONCE`]
    /// (`dup_ack_counter`).
    repeated: u32,
    /// Number of acknowledgements that are combined into the next one (`compressed_ack`).
    combined: u32,
    /// Largest number of segments that are acknowledged one by one, which the receive window gives (`tcp_incr_quickack`).
    most: u32,
    /// Length of a tick of the timers; `None`: times are exact.
    tick: Option<Dur>,
    /// Time at which the timer of a delayed acknowledgement expires (`icsk_delack_timer`), also if the acknowledgement has been
    /// sent before.
    armed: Time,
}

impl Quick {
    /// Returns the state before the handshake.
    pub fn new(tick: Option<Dur>) -> Quick {
        Quick {
            at_once: 0,
            delay: Dur::ZERO,
            last: Time::ZERO,
            opened: None,
            rtt: Dur::ZERO,
            rto: INITIAL,
            demands: false,
            capable: false,
            repeated: 0,
            combined: 0,
            most: MOST,
            tick,
            armed: Time::ZERO,
        }
    }

    /// Returns the length of a tick; `None`: times are exact.
    pub fn tick(&self) -> Option<Dur> {
        self.tick
    }

    /// Returns a time in whole ticks, rounded down (`tcp_jiffies32`).
    fn whole(&self, time: Dur) -> Dur {
        self.tick.map_or(time, |tick| Dur(time.0 - time.0 % tick.0))
    }

    /// Processes the arrival of the SYN.
    pub fn open(&mut self, now: Time) {
        self.opened = Some(now);
    }

    /// Processes the arrival of data. The first data ends the handshake, whose round-trip time gives the timeout
    /// (`tcp_synack_rtt_meas`, `tcp_rtt_estimator`), and is returned.
    pub fn measure(&mut self, now: Time) -> Option<Dur> {
        let opened = self.opened.take()?;
        self.rtt = now.since(opened);
        let rto = self.rtt + (self.rtt * 2).max(VARIATION);
        self.rto = self.tick.map_or(rto, |tick| Dur(rto.0.div_ceil(tick.0) * tick.0));
        Some(self.rtt)
    }

    /// Acknowledges the next segment at once, since the receive window has grown (`tcp_grow_window`).
    pub fn grown(&mut self) {
        self.at_once |= 1;
    }
    /// Acknowledges no more segments at once, since the receive buffer is half full (`__tcp_select_window`).
    pub fn filled(&mut self) {
        self.at_once = 0;
    }

    /// Processes the arrival of the next segment in order (`tcp_event_data_recv`). `ecn`: its code point;
    /// `cwr`: the sender confirms its response; `changed`: with accurate echoes, the mark differs from that of the segment
    /// before; `None`: the echo is classic. Returns `true` if it is acknowledged at once.
    pub fn in_order(&mut self, now: Time, ecn: Ecn, cwr: bool, changed: Option<bool>) -> bool {
        let pause = self.whole(now.since(Time::ZERO)) - self.whole(self.last.since(Time::ZERO));
        if self.delay == Dur::ZERO {
            self.increase(MOST);
            self.delay = LEAST;
        } else if pause <= LEAST / 2 {
            self.delay = self.whole(self.delay / 2) + LEAST / 2;
        } else if pause < self.delay {
            self.delay = (self.whole(self.delay / 2) + pause).min(self.rto);
        } else if pause > self.rto {
            self.increase(MOST);
        }
        self.last = now;
        self.repeated = 0;
        self.mark(ecn, cwr, changed);
        // `dctcp_ece_ack_update`, `tcp_ecn_accept_cwr`.
        changed == Some(true) || cwr || self.at_once > 0
    }

    /// Processes the code point and the flag CWR of a segment (`tcp_ecn_accept_cwr`, `__tcp_ecn_check_ce`), `changed` as
    /// in [`Quick::in_order`].
    pub fn mark(&mut self, ecn: Ecn, cwr: bool, changed: Option<bool>) {
        self.demands &= !cwr;
        // After a segment that is ECN-capable, one that is not is probably a retransmission. Accurate echoes set
        // `TCP_ECN_DEMAND_CWR` themselves (`dctcp_ece_ack_update`).
        let first_mark = ecn == Ecn::Ce && changed.is_none() && !self.demands;
        if first_mark || (ecn == Ecn::NotEct && self.capable) {
            self.hurry(MARKED);
        }
        self.demands |= first_mark;
        self.capable |= ecn != Ecn::NotEct;
    }

    /// Processes an acknowledgement of a segment in order while later ones are held, and less than two segments have arrived or
    /// the window has become smaller: it is sent at once, and counts among those out of order (`__tcp_ack_snd_check`).
    pub fn fills_partly(&mut self) {
        if self.at_once == 0 {
            self.repeated = 1;
        }
    }

    /// Returns `true` if segment `seq` with `payload` bytes has the flag PSH, and is acknowledged at once.
    pub fn is_pushed(seq: u32, payload: u16) -> bool {
        let period = PUSH / u32::from(payload.max(1)) + 1;
        seq % period == period - 1
    }

    /// Acknowledges at least the next `count` segments at once, if the window allows (`tcp_incr_quickack`).
    fn increase(&mut self, count: u32) {
        self.at_once = self.at_once.max(count.min(self.most));
    }
    /// Acknowledges the next `count` segments at once (`tcp_enter_quickack_mode`).
    fn hurry(&mut self, count: u32) {
        self.increase(count);
        self.delay = LEAST;
    }
    /// Notes that a window of `segments` full segments is offered (`tcp_incr_quickack`).
    pub fn offered(&mut self, segments: u32) {
        /// Number of segments with a window of less than two segments.
        const LEAST_COUNT: u32 = 2;
        self.most = if segments < 2 { LEAST_COUNT } else { segments / 2 };
    }

    /// Processes a segment that had been received before (`tcp_data_queue`).
    pub fn again(&mut self) {
        self.hurry(MOST);
    }

    /// Returns `true` if the combined acknowledgement, if there is one, is sent when a segment comes to the block with `place`
    /// others before it, or begins another one: later acknowledgements might not carry the blocks that are the first ones
    /// now (`tcp_sack_new_ofo_skb`, `tcp_sack_compress_send_ack`).
    pub fn is_pressed(&self, place: usize) -> bool {
        /// Number of blocks that acknowledgements are certain to carry (`TCP_SACK_BLOCKS_EXPECTED`).
        const CARRIED: usize = 2;
        self.combined > 0 && place >= CARRIED
    }

    /// Notes that the timer of a delayed acknowledgement is set to `due`. It is not stopped when the acknowledgement is sent
    /// earlier (`inet_csk_clear_xmit_timer`).
    pub fn arm(&mut self, due: Time) {
        self.armed = due;
    }

    /// Processes a segment out of order. Returns the delay of its acknowledgement (`__tcp_ack_snd_check`): zero for the
    /// first three since the last advance; then acknowledgements are combined for 5 % of the round-trip time, at most 1
    /// ms, plus [`SLACK`], or until the timer of a delayed acknowledgement expires (`tcp_delack_timer_handler`). `rtt`: the
    /// round-trip time that the receive buffer has measured, if there is one.
    pub fn out_of_order(&mut self, now: Time, rtt: Option<Dur>) -> Dur {
        if self.at_once > 0 || self.combined >= COMBINED {
            return Dur::ZERO;
        }
        if self.repeated < AT_ONCE {
            self.repeated += 1;
            return Dur::ZERO;
        }
        self.combined += 1;
        // Without a round-trip time of its own the receiver takes the upper bound.
        let own = (self.rtt > Dur::ZERO).then_some(self.rtt);
        let shortest = own.into_iter().chain(rtt).min();
        let delay = SLACK + shortest.map_or(COMBINES, |rtt| COMBINES.min(rtt / 20));
        if now < self.armed { delay.min(self.armed.since(now)) } else { delay }
    }

    /// Processes the transmission of an acknowledgement (`tcp_event_ack_sent`, `tcp_dec_quickack_mode`).
    pub fn sent(&mut self) {
        self.combined = 0;
        if self.at_once > 0 {
            self.at_once -= 1;
            if self.at_once == 0 {
                self.delay = LEAST;
            }
        }
    }

    /// Processes an acknowledgement that the timer sends: a delay that expired was too short
    /// (`tcp_delack_timer_handler`).
    pub fn expired(&mut self) {
        if self.combined == 0 {
            self.delay = (self.delay * 2).min(self.rto);
        }
    }

    /// Returns the delay of an acknowledgement (`tcp_send_delayed_ack`).
    pub fn delay(&self) -> Dur {
        if self.delay <= LEAST {
            return self.delay.max(Dur(1));
        }
        let bound = if self.rtt == Dur::ZERO { Dur::from_ms(500) } else { self.rtt.clamp(LEAST, Dur::from_ms(500)) };
        self.delay.min(bound).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Dur = Dur::from_ms;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    /// Returns a receiver with a handshake of 60 ms, which has acknowledged the first 16 segments, one each ms from 60
    /// ms on.
    fn settled() -> Quick {
        let mut quick = Quick::new(None);
        quick.open(at(0));
        assert_eq!(quick.measure(at(60)), Some(MS(60)));
        for i in 0..16 {
            assert!(quick.in_order(at(60 + i), Ecn::Ect0, false, None), "segment {i}");
            quick.sent();
        }
        quick
    }

    /// `tcp_event_data_recv`: 16 quick acknowledgements at the start, and again after a pause longer than the timeout,
    /// which is 60 ms + max(2·60 ms, 200 ms) = 260 ms.
    #[test]
    fn sixteen_segments_are_acknowledged_at_once_at_the_start_and_after_a_long_pause() {
        let mut quick = settled();
        assert!(!quick.in_order(at(80), Ecn::Ect0, false, None));
        assert!(!quick.in_order(at(80 + 260), Ecn::Ect0, false, None));
        assert!(quick.in_order(at(340 + 261), Ecn::Ect0, false, None));
        for i in 0..15 {
            quick.sent();
            assert!(quick.in_order(at(602 + i), Ecn::Ect0, false, None), "segment {i}");
        }
        quick.sent();
        assert!(!quick.in_order(at(620), Ecn::Ect0, false, None));
    }

    /// `tcp_event_data_recv`: the delay follows the time between segments: 40 ms, then 40/2 + 30 = 50 ms, then
    /// 50/2 + 45 = 70 ms, which the round-trip time of 60 ms limits; `tcp_delack_timer_handler`: an expired delay is
    /// doubled.
    #[test]
    fn the_delay_follows_the_time_between_segments_up_to_the_round_trip_time() {
        let mut quick = settled();
        assert_eq!(quick.delay(), MS(40));
        quick.in_order(at(75 + 30), Ecn::Ect0, false, None);
        assert_eq!(quick.delay(), MS(50));
        quick.in_order(at(105 + 45), Ecn::Ect0, false, None);
        assert_eq!(quick.delay(), MS(60));
        let mut late = settled();
        late.expired();
        late.rtt = MS(150);
        assert_eq!(late.delay(), MS(80));
        late.expired();
        assert_eq!(late.delay(), MS(150));
        late.rtt = Dur::ZERO;
        late.expired();
        assert_eq!(late.delay(), MS(200));
    }

    /// `__tcp_ecn_check_ce`: the first mark, and the first after a confirmation, lead to two quick acknowledgements;
    /// `tcp_ecn_accept_cwr`: a segment with CWR is acknowledged at once.
    #[test]
    fn the_first_mark_and_each_confirmation_are_acknowledged_at_once() {
        let mut quick = settled();
        assert!(quick.in_order(at(80), Ecn::Ce, false, None));
        quick.sent();
        assert!(quick.in_order(at(81), Ecn::Ce, false, None));
        quick.sent();
        assert!(!quick.in_order(at(82), Ecn::Ce, false, None));
        assert!(quick.in_order(at(83), Ecn::Ect0, true, None));
        quick.sent();
        assert!(!quick.in_order(at(84), Ecn::Ect0, false, None));
        assert!(quick.in_order(at(85), Ecn::Ce, false, None));
    }

    /// `__tcp_ack_snd_check`: three acknowledgements of segments out of order are sent at once, later ones wait for 5 %
    /// of the round-trip time, at most 1 ms; 44 are combined at most.
    #[test]
    fn acknowledgements_of_segments_out_of_order_are_combined_after_the_third() {
        let mut quick = settled();
        for _ in 0..3 {
            assert_eq!(quick.out_of_order(at(100), None), Dur::ZERO);
            quick.sent();
        }
        for _ in 0..44 {
            assert_eq!(quick.out_of_order(at(100), None), MS(1) + SLACK);
        }
        assert_eq!(quick.out_of_order(at(100), None), Dur::ZERO);
        quick.sent();
        assert_eq!(quick.out_of_order(at(100), None), MS(1) + SLACK);
        quick.in_order(at(83), Ecn::Ect0, false, None);
        assert_eq!(quick.out_of_order(at(100), None), Dur::ZERO);
        quick.rtt = MS(10);
        quick.repeated = 3;
        assert_eq!(quick.out_of_order(at(100), None), Dur::from_us(500) + SLACK);
    }

    /// In ticks of 10 ms (`tcp_jiffies32`): from 75 ms to 114 ms are 4 ticks, so that the delay is 2 + 4 = 6 ticks, and a
    /// timeout of 260 ms is not exceeded by 26 ticks, from 119 ms to 379 ms.
    #[test]
    fn times_between_segments_are_whole_ticks() {
        let mut quick = Quick { rtt: MS(60), rto: MS(260), delay: MS(50), last: at(75), ..Quick::new(Some(MS(10))) };
        assert!(!quick.in_order(at(114), Ecn::Ect0, false, None));
        assert_eq!(quick.delay, MS(20 + 40));
        quick.last = at(119);
        assert!(!quick.in_order(at(379), Ecn::Ect0, false, None));
        assert!(quick.in_order(at(379 + 271), Ecn::Ect0, false, None));
    }

    /// `forced_push`, `tcp_measure_rcv_mss`: 22 segments of 1448 B are less than 32 767 B, so that the 23rd has PSH.
    #[test]
    fn each_23rd_segment_is_acknowledged_at_once() {
        let pushed: Vec<u32> = (0..70).filter(|seq| Quick::is_pushed(*seq, 1448)).collect();
        assert_eq!(pushed, [22, 45, 68]);
    }

    /// `__tcp_ack_snd_check`: the acknowledgement of a segment that fills a part of a gap counts among the three that are
    /// sent at once.
    #[test]
    fn a_segment_that_fills_a_part_of_a_gap_counts_among_those_out_of_order() {
        let mut quick = settled();
        quick.fills_partly();
        let at_once = [(); 3].map(|()| quick.out_of_order(at(100), None) == Dur::ZERO);
        assert_eq!(at_once, [true, true, false]);
    }

    /// `tcp_data_queue`: a segment that had been received leads to 16 quick acknowledgements.
    #[test]
    fn a_segment_received_twice_leads_to_quick_acknowledgements() {
        let mut quick = settled();
        quick.again();
        for i in 0..16 {
            assert!(quick.in_order(at(81 + i), Ecn::Ect0, false, None), "segment {i}");
            quick.sent();
        }
        assert!(!quick.in_order(at(99), Ecn::Ect0, false, None));
    }
}
