//! Reno after RFC 5681, with byte counting of two segments (RFC 3465).

mod tailback_law;
use tailback_law::*;

struct Reno {
    /// Segments by which an acknowledgement in slow start increases the window at most.
    limit: u32,
    after_timeout: bool,
}

impl Component for Reno {
    type Role = congestion::Role;
    const EVENTS: u32 =
        bit(congestion::ACKNOWLEDGED) | bit(congestion::LOST) | bit(congestion::MARKED) | bit(congestion::TIMEOUT);

    fn new(host: &Host) -> Result<Reno, String> {
        Ok(Reno { limit: host.number("limit", 2.0) as u32, after_timeout: false })
    }

    fn answer(&mut self, call: &congestion::Call, answer: &mut congestion::Answer, _: &Host) -> Result<(), String> {
        match call.event {
            congestion::ACKNOWLEDGED => self.acknowledged(call, answer),
            congestion::MARKED => {
                // RFC 3168, section 6.1.2.
                answer.ssthresh = (call.cwnd * 0.5).max(2.0);
                answer.cwnd = (call.cwnd * 0.5).max(1.0);
            }
            event => {
                // RFC 5681, equation 4; the sender sets the window.
                self.after_timeout |= event == congestion::TIMEOUT;
                answer.ssthresh = (f64::from(call.in_flight) * 0.5).max(2.0);
            }
        }
        Ok(())
    }
}

impl Reno {
    /// RFC 5681, section 3.1; RFC 3465, sections 2.1 to 2.3.
    fn acknowledged(&mut self, call: &congestion::Call, answer: &mut congestion::Answer) {
        if call.window_limited == 0 || call.advanced == 0 {
            return;
        }
        if call.cwnd < call.ssthresh {
            let limit = if self.after_timeout { 1 } else { self.limit };
            answer.cwnd += f64::from(call.advanced.min(limit));
            self.after_timeout &= answer.cwnd < call.ssthresh;
        } else {
            let counted = if self.limit == 1 { 1 } else { call.advanced };
            answer.cwnd += f64::from(counted) / call.cwnd;
        }
    }
}

component!(Reno);
