//! HPCC against a transcription of Algorithm 1 of its paper (Li and others, SIGCOMM 2019).

use tailback_random::Rng;
use tailback_transport::cc::{Acked, Build, CongestionControl, Feedback, Window, hpcc};
use tailback_transport::{Hop, Line, Rdma, Tcp};
use tailback_units::{Dur, Rate, Time};

/// `L[i]` of the paper for a link: qlen in bytes, txBytes, ts in seconds, B in bytes per second.
#[derive(Clone, Copy)]
struct Link {
    qlen: f64,
    tx_bytes: f64,
    ts: f64,
    b: f64,
}

/// State of Algorithm 1, windows in bytes. Unlike in the paper W is at most W_init and at least W_AI, as in `Hpcc`.
struct Algorithm1 {
    eta: f64,
    max_stage: u32,
    w_ai: f64,
    w_init: f64,
    t: f64,
    u: f64,
    w: f64,
    w_c: f64,
    inc_stage: u32,
    l: Vec<Link>,
}

impl Algorithm1 {
    /// MeasureInflight, lines 1 to 10; returns the utilisation U.
    fn measure_inflight(&mut self, ack: &[Link]) -> f64 {
        let (mut u, mut tau) = (0.0, 0.0);
        for (new, old) in ack.iter().zip(&self.l) {
            let tx_rate = (new.tx_bytes - old.tx_bytes) / (new.ts - old.ts);
            let u_prime = f64::min(new.qlen, old.qlen) / (new.b * self.t) + tx_rate / new.b;
            if u_prime > u {
                u = u_prime;
                tau = new.ts - old.ts;
            }
        }
        let tau = f64::min(tau, self.t);
        self.u = (1.0 - tau / self.t) * self.u + tau / self.t * u;
        self.u
    }

    /// ComputeWind, lines 11 to 21; returns the window W.
    fn compute_wind(&mut self, u: f64, update_wc: bool) -> f64 {
        let bounded = |w: f64| w.clamp(self.w_ai.min(self.w_init), self.w_init);
        if u >= self.eta || self.inc_stage >= self.max_stage {
            let w = bounded(self.w_c / (u / self.eta) + self.w_ai);
            if update_wc {
                self.inc_stage = 0;
                self.w_c = w;
            }
            w
        } else {
            let w = bounded(self.w_c + self.w_ai);
            if update_wc {
                self.inc_stage += 1;
                self.w_c = w;
            }
            w
        }
    }

    /// NewAck, lines 22 to 30. `update_wc`: ack.seq > lastUpdateSeq.
    fn new_ack(&mut self, ack: &[Link], update_wc: bool) {
        if !self.l.is_empty() {
            let u = self.measure_inflight(ack);
            self.w = self.compute_wind(u, update_wc);
        }
        self.l = ack.to_vec();
    }
}

/// Base round-trip time.
const T: Dur = Dur::from_us(13);
/// Bytes of a segment on the wire.
const WIRE: f64 = 1000.0;

/// Returns an acknowledgement of one segment.
fn acked(now: Time, round: bool) -> Acked {
    Acked {
        now,
        delivered: 1,
        advanced: 1,
        rtt: Some(T),
        srtt: T,
        min_rtt: T,
        in_flight_before: 10,
        in_flight: 9,
        window_limited: true,
        ece: false,
        recovering: false,
        round,
        lost: 0,
        rate: None,
    }
}

#[track_caller]
fn near(value: f64, expected: f64, what: &str) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{what}: {value} instead of {expected}");
}

#[test]
fn hpcc_sets_the_window_of_algorithm_1_at_each_of_20_000_acknowledgements() {
    let line = Line { rate: Rate::mbit(100_000), wire: WIRE as u32, hops: 3, base_rtt: T };
    let tcp = Tcp { line: Some(line), ..Rdma::default().connection() };
    let (params, setup) = (hpcc::Params::default(), tcp.setup());
    let mut control = params.build(&setup, Rng::named(1, "cc"));
    let mut window = Window { cwnd: params.initial_window(&setup), ssthresh: f64::INFINITY };
    let t = T.as_secs();
    let w_init = 100e9 / 8.0 * t;
    let mut paper = Algorithm1 {
        eta: 0.95,
        max_stage: 5,
        w_ai: 50e6 / 8.0 * t,
        w_init,
        t,
        u: 1.0,
        w: w_init,
        w_c: w_init,
        inc_stage: 0,
        l: Vec::new(),
    };
    let mut rng = Rng::named(1, "links");
    let rates = [100e9, 40e9, 100e9];
    let (mut now, mut busy) = (Time::ZERO, [Dur::ZERO; 3]);
    let (mut rising, mut falling, mut smallest) = (0, 0, f64::INFINITY);
    for i in 0..20_000u32 {
        let gap = Dur(1 + rng.below(3_000_000));
        now += gap;
        // The three links take turns in being loaded up to their rates; queues rise and fall by more than a
        // bandwidth-delay product.
        let loads = [0, 1, 2].map(|link| if i / 500 % 3 == link { 1.0 } else { 0.6 } * rng.uniform());
        let hops: Vec<Hop> = (0..3)
            .map(|link| {
                busy[link] = Dur(busy[link].0 + (loads[link] * gap.0 as f64) as u64);
                let queue = if i / 250 % 2 == 0 { rng.below(200_000) as u32 } else { rng.below(2_000) as u32 };
                Hop { port: link as u32, queue, at: now, busy: busy[link], rate: Rate(rates[link] as u64) }
            })
            .collect();
        let links: Vec<Link> = hops
            .iter()
            .map(|hop| {
                let b = hop.rate.0 as f64 / 8.0;
                Link { qlen: hop.queue.into(), tx_bytes: hop.busy.as_secs() * b, ts: hop.at.as_secs(), b }
            })
            .collect();
        for (new, old) in links.iter().zip(&paper.l) {
            rising += u32::from(new.qlen > old.qlen);
            falling += u32::from(new.qlen < old.qlen);
        }
        let round = rng.chance(0.1);
        let feedback = Feedback { advanced: 1, ece: false, una: i, next: i + 10, hops: Some(&hops) };
        control.on_feedback(&mut window, &feedback);
        control.on_ack(&mut window, &acked(now, round));
        paper.new_ack(&links, round);
        let rate = control.pacing().rate.expect("HPCC paces");
        near(rate * WIRE * t, paper.w, "W");
        assert_eq!(window.cwnd, (rate * t).ceil().max(1.0));
        smallest = smallest.min(paper.w / w_init);
    }
    assert!(
        rising > 20_000 && falling > 20_000,
        "queues both rise and fall between acknowledgements: {rising} {falling}"
    );
    assert!(smallest < 0.5, "the window has been reduced: {smallest}");
}
