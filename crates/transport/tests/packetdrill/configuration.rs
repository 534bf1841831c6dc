//! Parameters of a script's connection.
//!
//! They are written in one place, the comments `// tailback: {…}`: keys of `transport = { kind = "tcp", … }` in JSON,
//! which replace the defaults. What the script says elsewhere must agree with them: `sysctl` commands,
//! `TCP_CONGESTION`, `sackOK`. Segment size, timestamps and handshake follow from the packets.

use crate::language::{Failure, Options, Place, Script, What};
use serde_json::{Value, json};
use tailback_transport::{EcnMode, Recovery, SpuriousTimeout, Tcp};

/// Keys that follow from the script's packets.
const DERIVED: [&str; 3] = ["segment", "timestamps", "handshake"];
/// Bytes of the timestamps option with its padding, which each segment carries (RFC 7323 appendix A).
const TIMESTAMP_BYTES: u64 = 12;

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The host sends data.
    Sender,
    /// The host receives data.
    Receiver,
}

/// A connection as the script describes it.
#[derive(Debug)]
pub struct Connection {
    pub tcp: Tcp,
    pub role: Role,
    /// `true` if the host opens the connection (`connect`), `false` if it accepts it.
    pub active: bool,
    /// Payload of the segments that arrive, bytes: that of the first one; 1 if none arrives.
    pub inbound: u64,
    /// Bytes of the first write; 1 if there is none.
    pub first_write: u64,
    /// Logarithm of the unit of the peer's window.
    pub window_scale: u64,
    /// Value of the host's timestamp in its SYN; 0 if the script does not give it.
    pub first_timestamp: u64,
}

/// Returns the connection of a script.
pub fn connection(script: &Script) -> Result<Connection, Failure> {
    let start = Place { line: 1, column: 1 };
    let called = |name: &str| {
        script.events.iter().find_map(|event| match &event.what {
            What::Call(call) if call.name == name => Some(event.place),
            _ => None,
        })
    };
    let active = match (called("connect"), called("listen")) {
        (Some(place), Some(_)) => return Err(Failure::new(place, "`connect` and `listen` in one script")),
        (None, None) => return Err(Failure::new(start, "a script opens a connection, by `connect` or `listen`")),
        (connect, _) => connect.is_some(),
    };
    let (role, inbound) = direction(script, active)?;
    let (place, peer) = script
        .events
        .iter()
        .find_map(|event| match &event.what {
            What::Arrival(packet) if packet.flags.syn => Some((event.place, packet.options.clone())),
            _ => None,
        })
        .ok_or_else(|| Failure::new(start, "no SYN or SYN-ACK arrives"))?;
    let peer = peer.ok_or_else(|| Failure::new(place, "the options of an arriving SYN must be written"))?;
    let tcp = parameters(script, active, place, &peer)?;
    let first_write = script.events.iter().find_map(|event| match &event.what {
        What::Call(call) if ["write", "send"].contains(&call.name.as_str()) => Some(call.result as u64),
        _ => None,
    });
    let first_timestamp = script.events.iter().find_map(|event| match &event.what {
        What::Transmission(packet) if packet.flags.syn => packet.options.as_ref()?.timestamp,
        _ => None,
    });
    Ok(Connection {
        tcp,
        role,
        active,
        inbound,
        first_write: first_write.unwrap_or(1),
        window_scale: peer.window_scale.unwrap_or(0),
        first_timestamp: first_timestamp.map_or(0, |(value, _)| value),
    })
}

/// Returns the direction of the data, and the payload of the first segment that arrives.
fn direction(script: &Script, active: bool) -> Result<(Role, u64), Failure> {
    let mut found: Option<(Role, u64)> = None;
    for event in &script.events {
        let next = match &event.what {
            What::Call(call) if ["write", "send"].contains(&call.name.as_str()) => (Role::Sender, 1),
            What::Arrival(packet) if packet.length() > 0 => (Role::Receiver, packet.length()),
            _ => continue,
        };
        if next.0 == Role::Receiver && active {
            return Err(Failure::new(event.place, "data for a host that called `connect`: the model's opener sends"));
        }
        match found {
            Some((role, _)) if role != next.0 => {
                return Err(Failure::new(event.place, "data in both directions: the model's data have one"));
            }
            Some(_) => {}
            None => found = Some(next),
        }
    }
    Ok(found.unwrap_or((Role::Sender, 1)))
}

/// Returns the parameters of a script whose peer sends a SYN with the options `peer` at `place`.
fn parameters(script: &Script, active: bool, place: Place, peer: &Options) -> Result<Tcp, Failure> {
    let mss = peer.mss.ok_or_else(|| Failure::new(place, "the arriving SYN needs `mss`"))?;
    let timestamps = peer.timestamp.is_some();
    let segment = mss.saturating_sub(if timestamps { TIMESTAMP_BYTES } else { 0 });
    let mut document = json!({ "segment": format!("{segment}B"), "timestamps": timestamps, "handshake": active });
    let mut written = place;
    for (at, text) in &script.parameters {
        let more: Value = serde_json::from_str(text).map_err(|error| Failure::new(*at, error.to_string()))?;
        let Value::Object(more) = more else { return Err(Failure::new(*at, "the parameters are a table {…}")) };
        for (key, value) in more {
            if DERIVED.contains(&key.as_str()) {
                return Err(Failure::new(*at, format!("`{key}` follows from the packets of the script; remove it")));
            }
            document[key] = value;
        }
        written = *at;
    }
    let tcp: Tcp = tailback_document::decode(document).map_err(|error| Failure::new(written, error.to_string()))?;
    tcp.check().map_err(|error| Failure::new(written, error.to_string()))?;
    if tcp.reservation.is_some() {
        return Err(Failure::new(written, "a reservation is not part of TCP's language"));
    }
    if matches!(tcp.recovery, Recovery::Sack(_)) != peer.sack_ok {
        let message = format!("`sackOK` is {}, and recovery is \"{}\"", peer.sack_ok, tcp.recovery.kind());
        return Err(Failure::new(place, message));
    }
    for (at, command) in &script.commands {
        check_command(&tcp, *at, command)?;
    }
    Ok(tcp)
}

/// Checks a command of the host, which may only set variables of the kernel to the values that the model has.
fn check_command(tcp: &Tcp, place: Place, command: &str) -> Result<(), Failure> {
    for line in command.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        if words.next() != Some("sysctl") {
            return Err(Failure::new(place, format!("`{line}`: of the host's commands only `sysctl` has a meaning")));
        }
        for word in words.filter(|word| !["-q", "-w", "-wq", "-qw"].contains(word)) {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let Some(actual) = variable(tcp, name) else {
                return Err(Failure::new(place, format!("`{name}` has no meaning for a model of TCP")));
            };
            if !actual.is_empty() && actual != value {
                return Err(Failure::new(place, format!("`{word}`, and the model's parameters mean {name}={actual}")));
            }
        }
    }
    Ok(())
}

/// Returns the value of a variable of Linux that corresponds to the parameters; empty: any value is without effect in the
/// model. `None`: the variable is not known.
fn variable(tcp: &Tcp, name: &str) -> Option<String> {
    let flag = |on: bool| u8::from(on).to_string();
    let sack = match &tcp.recovery {
        Recovery::Sack(sack) => Some(sack),
        _ => None,
    };
    Some(match name.strip_prefix("net.ipv4.")? {
        "tcp_congestion_control" => tcp.congestion_control.kind().into(),
        "tcp_sack" => flag(sack.is_some()),
        "tcp_timestamps" => flag(tcp.timestamps),
        "tcp_ecn" => flag(tcp.ecn == EcnMode::Classic),
        "tcp_recovery" => flag(sack.is_some_and(|sack| sack.rack)),
        "tcp_early_retrans" => if sack.is_some_and(|sack| sack.rack && sack.tlp) { "3" } else { "0" }.into(),
        "tcp_frto" => if tcp.spurious_timeout == SpuriousTimeout::FRto { "2" } else { "0" }.into(),
        "tcp_slow_start_after_idle" => flag(tcp.slow_start_restart),
        "tcp_reordering" => tcp.dup_thresh.to_string(),
        // The model has no metrics of routes, and no segmentation offload that could delay segments.
        "tcp_no_metrics_save" | "tcp_tso_win_divisor" => String::new(),
        _ => return None,
    })
}

/// Checks the argument of `TCP_CONGESTION`.
pub fn check_congestion(tcp: &Tcp, place: Place, name: &str) -> Result<(), Failure> {
    let kind = tcp.congestion_control.kind();
    if kind == name {
        return Ok(());
    }
    Err(Failure::new(place, format!("TCP_CONGESTION is \"{name}\", and congestion-control is \"{kind}\"")))
}
