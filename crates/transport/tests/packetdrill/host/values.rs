//! Values of the connection that assertions name.

use super::Host;
use crate::configuration::Role;
use crate::language::{Assertion, Failure, Operand};
use tailback_transport::{Scoreboard, State};
use tailback_units::Dur;

/// `TCP_INFINITE_SSTHRESH` of Linux: no threshold.
const INFINITE: f64 = 2_147_483_647.0;
/// States of Linux (`tcp_ca_state`).
const STATES: [&str; 5] = ["TCP_CA_Open", "TCP_CA_Disorder", "TCP_CA_CWR", "TCP_CA_Recovery", "TCP_CA_Loss"];

impl Host {
    /// Checks an assertion.
    pub(super) fn check(&mut self, assertion: &Assertion) -> Result<(), Failure> {
        self.require(Role::Sender, "an assertion about the sender")?;
        for comparison in &assertion.comparisons {
            self.place = comparison.place;
            let (left, right) = (self.value(&comparison.left)?, self.value(&comparison.right)?);
            if !comparison.relation.holds(left, right) {
                let side = |operand: &Operand, value: f64| match operand {
                    Operand::Number(_) => value.to_string(),
                    Operand::Name(name) => format!("{name} ({value})"),
                };
                let (left, right) = (side(&comparison.left, left), side(&comparison.right, right));
                return self.fail(format!("{left} {} {right} does not hold", comparison.relation.text()));
            }
        }
        Ok(())
    }

    fn value(&self, operand: &Operand) -> Result<f64, Failure> {
        let name = match operand {
            Operand::Number(number) => return Ok(*number),
            Operand::Name(name) => name.as_str(),
        };
        if let Some(state) = STATES.iter().position(|state| *state == name) {
            return Ok(state as f64);
        }
        let sender = &self.sender;
        let micros = |time: Dur| (time.as_secs() * 1e6).round();
        Ok(match name {
            // Windows are whole segments in Linux; those of the model have fractions.
            "tcpi_snd_cwnd" => sender.cwnd().floor(),
            "tcpi_snd_ssthresh" => sender.ssthresh().floor().min(INFINITE),
            "tcpi_unacked" => f64::from(sender.next().wrapping_sub(sender.una())),
            "tcpi_sacked" => f64::from(self.scoreboard(name)?.sacked),
            "tcpi_lost" => f64::from(self.scoreboard(name)?.lost),
            "tcpi_retrans" => f64::from(self.scoreboard(name)?.retransmitted),
            "tcpi_total_retrans" => sender.statistics().retransmissions as f64,
            "tcpi_rto" => micros(sender.rto()),
            "tcpi_rtt" => micros(sender.srtt()),
            "tcpi_min_rtt" => micros(sender.min_rtt()),
            "tcpi_ca_state" => self.congestion_state(),
            // Linux counts the fraction in 1/1024.
            "dctcp_alpha" => match self.variable("alpha") {
                Some(alpha) => (alpha * 1024.0).floor(),
                None => return self.fail("`dctcp_alpha`: the congestion control has no such variable"),
            },
            _ => return self.fail(format!("`{name}` is not a value of the model")),
        })
    }

    fn scoreboard(&self, name: &str) -> Result<Scoreboard, Failure> {
        match self.sender.scoreboard() {
            Some(scoreboard) => Ok(scoreboard),
            None => self.fail(format!("`{name}`: a sender without SACK has no scoreboard")),
        }
    }

    /// Returns a variable of the congestion control; `None`: it has none of that name.
    fn variable(&self, wanted: &str) -> Option<f64> {
        let mut found = None;
        self.sender.probe(&mut |name, value| found = found.or((name == wanted).then_some(value)));
        found
    }

    /// Returns Linux's number of the sender's state. The model does not distinguish Disorder: it is Open with SACKed
    /// segments.
    fn congestion_state(&self) -> f64 {
        match self.sender.state() {
            State::Open if self.sender.scoreboard().is_some_and(|board| board.sacked > 0) => 1.0,
            State::Closed | State::Opening | State::Open => 0.0,
            State::Reduced => 2.0,
            State::Recovery => 3.0,
            State::Loss => 4.0,
        }
    }
}
