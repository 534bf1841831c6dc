//! The receive buffer of Linux 6.1, and the window that a receiver offers with it: `net/ipv4/tcp_input.c` and
//! `tcp_output.c`.
//!
//! The application reads what is in order at the instant at which it arrives, after the acknowledgement.

use crate::params;
use crate::reassembly::Released;
use tailback_units::{Dur, Time};

/// Place for headers in a packet (`MAX_TCP_HEADER`), bytes: that of the kernel whose windows were recorded, which has no
/// wireless networks.
const HEADERS: u64 = 256;
/// Place that a packet gets besides when its payload is copied behind the headers (`__pskb_pull_tail`), bytes.
const PULLED: u64 = 128;
/// Memory for the description of a packet's parts (`struct skb_shared_info`) and of the packet (`struct sk_buff`), bytes.
const PARTS: u64 = 320;
const DESCRIPTION: u64 = 256;
/// Memory of a packet in order besides its payload (`skb->truesize`), bytes: 1 KiB for headers and parts, which is a power of
/// two, and the description.
const OVERHEAD: u64 = 1024 + DESCRIPTION;
/// Memory of an empty packet with place for the headers (`SKB_TRUESIZE(MAX_TCP_HEADER)`), bytes.
///
/// Measured in Linux (`skmem` of `ss`): buffers are multiples of 2920 B, with segments of 1448 B.
const EMPTY: u64 = HEADERS + PARTS + DESCRIPTION;
/// Step in which `tcp_rcv_space_adjust` looks for the memory of a segment.
const STEP: u64 = 128;
/// Largest window without a scale, bytes (RFC 9293 section 3.1).
const UNSCALED: u64 = 65_535;
/// Largest scale of a window (RFC 7323 section 2.3).
const MOST_SCALE: u32 = 14;
/// Segments of the first window of a sender (`TCP_INIT_CWND`).
const FIRST: u64 = 10;

/// State of a receive buffer. Positions are numbers of bytes since the opening of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveBuffer {
    /// Payload of a full segment (`advmss`), bytes.
    segment: u64,
    /// Size of the buffer, bytes (`sk_rcvbuf`).
    size: u64,
    /// Largest size of the buffer, bytes (`tcp_rmem[2]`).
    most: u64,
    /// Largest window with this buffer, bytes (`window_clamp`).
    clamp: u64,
    /// Window as far as it has grown, bytes (`rcv_ssthresh`).
    grown: u64,
    /// Unit of windows, bytes (`1 << rcv_wscale`).
    unit: u64,
    /// The last window that was offered, bytes, and the largest one (`rcv_wnd`, `max_window` of the sender).
    window: u64,
    largest: u64,
    /// End of the data in order: of all that has arrived, of what the last acknowledgement had (`rcv_wup`), and of what
    /// the application had read at the last adjustment (`rcvq_space.seq`).
    received: u64,
    acknowledged: u64,
    adjusted: u64,
    /// Time of the last adjustment (`rcvq_space.time`).
    adjusted_at: Time,
    /// Data that the application had read in the round trip before the last adjustment, bytes (`rcvq_space.space`).
    round: u64,
    /// Memory of what has arrived in order and the application has not read yet, bytes, and the time of its arrival.
    unread: u64,
    arrived: Time,
    /// End of the segment that arrived then, without those that it released.
    arrived_to: u64,
    /// End of the segment that next has the flag PSH.
    push: u64,
    /// Eight times the round-trip time, microseconds (`rcv_rtt_est.rtt_us`); zero before the first sample.
    rtt: u64,
    /// Delay from an acknowledgement to the transmission of the segment that it releases. `None`: the handshake has not
    /// ended.
    reverse: Option<Dur>,
    /// Transmission time of the last segment of which a sample was taken.
    sampled: Option<Time>,
    /// Time of the first acknowledgement of data. `None`: there has been none.
    first: Option<Time>,
}

/// Returns the window that fits into a space of the buffer (`tcp_win_from_space` with `tcp_adv_win_scale` of 1).
fn of_space(space: u64) -> u64 {
    space - space / 2
}

impl ReceiveBuffer {
    /// Returns the buffer of a new connection with full segments of `segment` bytes (`tcp_select_initial_window`,
    /// `tcp_init_buffer_space`).
    pub fn new(params: &params::ReceiveBuffer, segment: u64) -> ReceiveBuffer {
        let full = of_space(params.initial.0);
        let offered = if full > segment { full - full % segment } else { full };
        let window = offered.min(UNSCALED);
        let clamp = full.saturating_sub(segment).max(2 * segment).min(full);
        let grown = window.min(clamp);
        let scale = params.max.0.max(UNSCALED).ilog2().saturating_sub(15).min(MOST_SCALE);
        ReceiveBuffer {
            segment,
            size: params.initial.0,
            most: params.max.0,
            clamp,
            grown,
            unit: 1 << scale,
            window,
            largest: window,
            received: 0,
            acknowledged: 0,
            adjusted: 0,
            adjusted_at: Time::ZERO,
            round: grown.min(window).min(FIRST * segment),
            unread: 0,
            arrived: Time::ZERO,
            arrived_to: 0,
            push: (window / 2 / segment + 1) * segment,
            rtt: 0,
            reverse: None,
            sampled: None,
            first: None,
        }
    }

    /// Returns the memory of a packet out of order, bytes: its payload has been copied behind its headers, and it counts with
    /// all of its memory, which is a power of two (`skb_condense`).
    ///
    /// Measured in Linux (`skmem` of `ss`): 4352 B for 1448 B of payload.
    fn loose(&self) -> u64 {
        (HEADERS + self.segment + PULLED + PARTS).next_power_of_two() + DESCRIPTION
    }
    /// Returns the largest number of segments in a packet: further ones are copied behind the first one if there is place
    /// (`skb_try_coalesce`).
    pub fn most(&self) -> u8 {
        let place = self.loose() - DESCRIPTION - PARTS - HEADERS;
        (place / self.segment).clamp(1, u8::MAX.into()) as u8
    }
    /// Returns the window that fits while `held` packets out of order wait, and those that are unread (`tcp_space`).
    fn space(&self, held: u64) -> u64 {
        of_space(self.size.saturating_sub(held * self.loose() + self.unread))
    }

    /// Processes the end of the handshake, which took `rtt`, at the arrival of the first data, sent at `sent`. The
    /// application accepts the connection.
    pub fn open(&mut self, now: Time, rtt: Dur, sent: Time) {
        self.reverse = Some(Dur(rtt.0.saturating_sub(now.since(sent).0)));
        self.adjusted_at = now;
    }

    /// Processes the arrival of a full segment that was sent at `sent`: takes a sample of the round-trip time
    /// (`tcp_rcv_rtt_measure_ts`).
    ///
    /// Linux measures from the acknowledgement whose timestamp the segment echoes. Here a segment has no such echo, and
    /// the sample is the delay of the segment plus that of the acknowledgement of the handshake, unless the time of the
    /// acknowledgement is known (`asked`).
    pub fn measure(&mut self, now: Time, sent: Time, asked: Option<Time>) {
        let Some(reverse) = self.reverse else { return };
        // Segments with the same echo are released by the same acknowledgement, and those of the first window by the
        // SYN-ACK.
        let echo = asked.unwrap_or(sent);
        let is_first_window = asked.is_none() && self.first.is_none_or(|first| sent < first + reverse);
        if self.sampled.is_some_and(|sampled| sampled == echo || is_first_window) {
            return;
        }
        self.sampled = Some(echo);
        // Timestamps are in ms.
        let tick = Dur::from_ms(1).0;
        let ms = match asked {
            Some(asked) => now.0 / tick - asked.0 / tick,
            None => ((now.since(sent) + reverse).0 + tick / 2) / tick,
        };
        let sample = ms.max(1) * 1000;
        // `tcp_rcv_rtt_update`: a shorter time counts at once, a longer one an eighth.
        let is_shorter = self.rtt == 0 || 8 * sample < self.rtt;
        self.rtt = if is_shorter { 8 * sample } else { self.rtt - self.rtt / 8 + sample };
    }
    /// Returns the round-trip time; zero before the first sample.
    pub fn rtt(&self) -> Dur {
        Dur::from_us(self.rtt / 8)
    }

    /// Processes the arrival of a segment in order with `payload` bytes.
    pub fn advance(&mut self, now: Time, payload: u64) {
        self.received += payload;
        self.unread += payload + OVERHEAD;
        self.arrived = now;
        self.arrived_to = self.received;
    }
    /// Processes the release of a run by the segment in order before it, whose packet takes the first packet of the run if
    /// both have place in one (`tcp_ofo_queue`).
    pub fn release(&mut self, run: &Released) {
        self.received += run.bytes;
        let joins = run.packets > 0 && run.first < self.most();
        if joins {
            self.arrived_to += u64::from(run.first) * self.segment;
        }
        self.unread += (u64::from(run.packets) - u64::from(joins)) * self.loose();
    }

    /// Opens the window further at the arrival of a segment with `payload` bytes while `held` packets out of order
    /// wait (`tcp_grow_window`). Returns `true` if it has, and the segment is to be acknowledged at once.
    pub fn grow(&mut self, payload: u64, held: u64) -> bool {
        /// Shorter segments do not open the window (`tcp_event_data_recv`).
        const SHORTEST: u64 = 128;
        let room = self.clamp.min(self.space(held)).saturating_sub(self.grown);
        if room == 0 || payload < SHORTEST {
            return false;
        }
        let memory = payload + OVERHEAD;
        let step = if of_space(memory) <= payload { 2 * self.segment } else { self.small_step(memory, payload) };
        if step == 0 {
            return false;
        }
        self.grown += room.min(step.max(2 * payload));
        true
    }
    /// Returns by how much a segment opens the window that takes more than twice its payload (`__tcp_grow_window`).
    fn small_step(&self, memory: u64, payload: u64) -> u64 {
        let (mut memory, mut window) = (of_space(memory) / 2, of_space(self.most) / 2);
        while self.grown <= window {
            if memory <= payload {
                return 2 * self.segment;
            }
            (memory, window) = (memory / 2, window / 2);
        }
        0
    }

    /// Lets the application read what is in order, at the time of its arrival, and enlarges the buffer for the data of a
    /// round trip (`tcp_rcv_space_adjust`).
    pub fn read(&mut self) {
        if self.unread == 0 {
            return;
        }
        self.unread = 0;
        let since = self.arrived.since(self.adjusted_at).0 / Dur::from_us(1).0;
        if self.rtt == 0 || since < self.rtt / 8 {
            return;
        }
        // After each packet that it has read: the packets behind the first one are read at the same instant, and thus belong
        // to the next round trip.
        let copied = self.arrived_to - self.adjusted;
        if copied > self.round {
            let mut window = 2 * copied + 16 * self.segment;
            window += 2 * (window * (copied - self.round) / self.round.max(1));
            let size = (window / self.segment * self.memory_of_segment()).min(self.most);
            if size > self.size {
                self.size = size;
                self.clamp = of_space(size);
            }
            self.round = copied;
        }
        self.adjusted = self.arrived_to;
        self.adjusted_at = self.arrived;
    }
    /// Returns the memory with which `tcp_rcv_space_adjust` reckons for a segment.
    fn memory_of_segment(&self) -> u64 {
        let mut memory = EMPTY + self.segment;
        while of_space(memory) < self.segment {
            memory += STEP;
        }
        memory
    }

    /// Returns the window of an acknowledgement while `held` packets out of order wait, and whether the buffer is so
    /// full that the following segments are not acknowledged at once (`__tcp_select_window`).
    fn selected(&self, held: u64) -> (u64, bool) {
        let allowed = of_space(self.size);
        let full = self.clamp.min(allowed);
        let mut space = self.space(held);
        let is_full = space < full / 2;
        if is_full {
            space -= space % self.unit;
            if space < allowed / 16 || space < self.segment.min(full) {
                return (0, true);
            }
        }
        (space.min(self.grown).next_multiple_of(self.unit), is_full)
    }
    /// Returns what is left of the last window that was offered, bytes (`tcp_receive_window`).
    fn left(&self) -> u64 {
        (self.acknowledged + self.window).saturating_sub(self.received)
    }
    /// Offers a window with an acknowledgement while `held` packets out of order wait (`tcp_select_window`). Returns the
    /// window in full segments, and `true` if the following segments are not acknowledged at once.
    pub fn offer(&mut self, now: Time, held: u64) -> (u32, bool) {
        let (selected, is_full) = self.selected(held);
        // An offered window is never taken back.
        let left = self.left();
        self.window = if selected < left { left.next_multiple_of(self.unit) } else { selected };
        self.largest = self.largest.max(self.window);
        self.acknowledged = self.received;
        if self.received > 0 {
            self.first.get_or_insert(now);
        }
        (self.segments(), is_full)
    }
    /// Returns `true` if the next window is smaller than the last one, so that two segments do not release an
    /// acknowledgement (`__tcp_ack_snd_check`), and `true` if the buffer is so full that the following segments are not
    /// acknowledged at once.
    pub fn is_shrinking(&self, held: u64) -> (bool, bool) {
        let (window, is_full) = self.selected(held);
        (window < self.window, is_full)
    }
    /// Returns the last window that was offered, in full segments.
    pub fn segments(&self) -> u32 {
        (self.window / self.segment).try_into().unwrap_or(u32::MAX - 1)
    }
    /// Returns `true` if the window has become so much larger by what the application has read that it is offered at once
    /// (`tcp_cleanup_rbuf`).
    pub fn has_opened(&self, held: u64) -> bool {
        let left = self.left();
        2 * left <= self.clamp && {
            let (window, _) = self.selected(held);
            window > 0 && window >= 2 * left
        }
    }

    /// Returns `true` if the next segment in order, of `payload` bytes, has the flag PSH: an endless transfer sets it when it
    /// has written more than half of the largest window since the last one (`forced_push`).
    ///
    /// Linux takes the largest window at the time of the write, which is earlier.
    pub fn is_pushed(&mut self, payload: u64) -> bool {
        let end = self.received + payload;
        let pushed = self.received < self.push && self.push <= end;
        let step = (self.largest / 2 / self.segment + 1) * self.segment;
        while self.push <= end {
            self.push += step;
        }
        pushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_units::Size;

    const SEGMENT: u64 = 1448;

    fn at(us: u64) -> Time {
        Time::ZERO + Dur::from_us(us)
    }

    fn buffer(max: u64) -> ReceiveBuffer {
        ReceiveBuffer::new(&params::ReceiveBuffer { max: Size(max), ..params::ReceiveBuffer::default() }, SEGMENT)
    }

    /// Processes a segment in order that echoes an acknowledgement of `asked`; returns the window of the acknowledgement.
    fn arrive(buffer: &mut ReceiveBuffer, now: Time, asked: Time) -> u32 {
        buffer.read();
        buffer.measure(now, now, Some(asked));
        buffer.advance(now, SEGMENT);
        buffer.grow(SEGMENT, 0);
        buffer.offer(now, 0).0
    }

    /// `tcp_select_initial_window`: 64 KiB in whole segments, 45 of 1448 B; `tcp_init_buffer_space`: then a segment of 1448 B
    /// less than 64 KiB, 64 088 B, which is 44 segments also in units of 1 KiB, with a buffer of at most 64 MB.
    #[test]
    fn the_first_windows_are_45_and_44_segments() {
        for max in [6_291_456, 64_000_000] {
            let mut buffer = buffer(max);
            assert_eq!(buffer.segments(), 45);
            buffer.open(at(0), Dur::from_ms(65), at(0));
            assert_eq!(arrive(&mut buffer, at(0), at(0)), 44);
        }
    }

    /// Times, echoes and windows of a receiver of Linux 6.1 (8 DCTCP flows, 17.6 Mbit/s, the first flow): ten segments each
    /// 0.682 ms, which echo the SYN-ACK, and from 65.6 ms on more. After two round trips the window opens by two segments
    /// for each segment: 46, 48, 50, 53, 54, 56, 58.
    #[test]
    fn the_window_opens_as_that_of_linux() {
        let mut buffer = buffer(64_000_000);
        let start = 5_333_857;
        let syn_ack = 5_268_000;
        buffer.open(at(start), Dur::from_us(65_000), at(start));
        for i in 0..10 {
            assert_eq!(arrive(&mut buffer, at(start + i * 682), at(syn_ack)), 44, "segment {i}");
        }
        for i in 0..20 {
            // Two segments for each of the acknowledgements of the first ten.
            let now = start + 65_631 + i * 682;
            assert_eq!(arrive(&mut buffer, at(now), at(start + i / 2 * 682)), 44, "segment {}", 10 + i);
        }
        let second = 5_465_120;
        let windows: Vec<u32> =
            (0..9).map(|i| arrive(&mut buffer, at(second + i * 682), at(second - 66_000 + i / 2 * 682))).collect();
        let linux = [44, 44, 46, 48, 50, 53, 54, 56, 58];
        assert!(windows.iter().zip(linux).all(|(window, linux)| window.abs_diff(linux) <= 1), "{windows:?}");
    }

    /// `tcp_rcv_rtt_update`: a shorter time counts at once, a longer one an eighth.
    #[test]
    fn a_shorter_round_trip_counts_at_once() {
        let mut buffer = buffer(64_000_000);
        buffer.open(at(0), Dur::from_ms(50), at(0));
        for (now, asked, rtt) in [(100, 50, 50_000), (180, 122, 51_000), (200, 160, 40_000)] {
            buffer.measure(at(now * 1000), at(now * 1000), Some(at(asked * 1000)));
            assert_eq!(buffer.rtt(), Dur::from_us(rtt), "at {now} ms");
        }
    }

    /// Without echoes: the delay of the segment, 30 ms, and of the acknowledgement of the handshake, 20 ms. A segment that was
    /// sent before the first acknowledgement had arrived is not measured.
    #[test]
    fn without_an_echo_the_delays_of_both_directions_are_added() {
        let mut buffer = buffer(64_000_000);
        let us = |ms: u64| at(1000 * ms);
        buffer.open(us(50), Dur::from_ms(50), us(20));
        buffer.measure(us(50), us(20), None);
        assert_eq!(buffer.rtt(), Dur::from_ms(50));
        buffer.advance(us(50), SEGMENT);
        buffer.offer(us(50), 0);
        buffer.measure(us(62), us(22), None);
        assert_eq!(buffer.rtt(), Dur::from_ms(50));
        buffer.measure(us(110), us(71), None);
        assert_eq!(buffer.rtt(), Dur::from_us(51_125));
    }

    /// `tcp_select_window`: what has been offered stays offered while segments out of order fill the buffer, and the window is
    /// only what is left of it.
    #[test]
    fn an_offered_window_is_never_taken_back() {
        let mut buffer = buffer(6_291_456);
        buffer.open(at(0), Dur::from_ms(50), at(0));
        assert_eq!(buffer.offer(at(0), 0).0, 45);
        // The buffer has room for (131072 - 13 * 4352) / 2 = 37248 B, 25 segments.
        let held = 13;
        for i in 1..=19 {
            buffer.advance(at(i), SEGMENT);
            buffer.read();
            let (window, is_full) = buffer.offer(at(i), held);
            assert_eq!((window, is_full), (45 - i as u32, false));
            assert_eq!(buffer.is_shrinking(held), (true, false));
        }
        for i in [20, 21] {
            buffer.advance(at(i), SEGMENT);
            buffer.read();
            assert_eq!(buffer.offer(at(i), held).0, 25);
        }
        // 24 packets leave (131072 - 24 * 4352) / 2 = 13312 B, less than half of the window, and more than a sixteenth.
        assert!(buffer.offer(at(22), 24).1);
    }

    /// `forced_push`: 22 segments of 1448 B are less than half of the first window, 65 160 B, so that the 23rd has PSH.
    #[test]
    fn each_23rd_segment_has_psh_with_the_first_window() {
        let mut buffer = buffer(6_291_456);
        let pushed: Vec<u64> = (0..70)
            .filter(|i| {
                let pushed = buffer.is_pushed(SEGMENT);
                buffer.advance(at(*i), SEGMENT);
                pushed
            })
            .collect();
        assert_eq!(pushed, [22, 45, 68]);
    }

    /// `tcp_cleanup_rbuf`: the window is offered again at once when what has been read at least doubles it.
    #[test]
    fn a_window_that_doubles_is_offered_at_once() {
        let mut buffer = buffer(6_291_456);
        buffer.open(at(0), Dur::from_ms(50), at(0));
        buffer.offer(at(0), 0);
        assert!(!buffer.has_opened(15));
        // A segment fills the gap before 30 others in 15 packets: (131072 - 2728 - 15 * 4352) / 2 = 31532 B remain, less than
        // half. In units of 128 B those are 31488 B.
        buffer.advance(at(1), SEGMENT);
        buffer.release(&Released { next: 31, bytes: 30 * SEGMENT, packets: 15, first: 2 });
        assert_eq!(buffer.offer(at(1), 0), (21, true));
        assert!(!buffer.has_opened(0));
        buffer.read();
        assert!(buffer.has_opened(0));
    }
}
