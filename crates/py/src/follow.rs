//! Comparison of senders and receivers with recorded ones of another TCP, for `validation/linux/segments.py`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use tailback_transport::follow::{
    Arrival, Difference, Event, Followed, Said, follow_phases, follow_receiver, follow_sender,
};
use tailback_transport::{Ack, Block, Ecn, Tcp};
use tailback_units::{Dur, Time};

/// Flag of an acknowledgement or of a segment that is a SYN.
const SYN: u64 = 1;
/// Flag ECE of an acknowledgement.
const ECE: u64 = 2;
/// Flag PSH of a segment.
const PSH: u64 = 4;
/// Flag of a segment that is marked as congestion experienced.
const CE: u64 = 8;
/// Flag CWR of a segment.
const CWR: u64 = 16;
/// Flag of a segment that is ECN-capable (ECT) and not marked.
const ECT: u64 = 32;
/// First number of an event in which something arrives; 0 begins a transmission.
const ARRIVES: u64 = 1;

/// Compares a sender of an endless transfer with a recorded one; returns `equal`, `late_ps`, `first` and `phases` as JSON:
/// the phases of BBR with which most transmissions are equal, without other congestion controls an empty list.
///
/// `transport` is the table of a scenario as JSON. An event is `[0, time_ps, segment]` for a transmission, and
/// `[1, time_ps, next, flags, echo_ps, window, start, end, ...]` for an acknowledgement that arrives; a window of 2^32 - 1
/// is not recorded, and does not limit the sender. Raises `ValueError` for other events and for a transport that cannot be.
#[pyfunction]
#[pyo3(name = "follow_sender")]
pub fn sender(transport: &str, events: Vec<Vec<u64>>) -> PyResult<String> {
    let events = each(&events, |event| match *event {
        [0, at, seq] => Some(Event::Sent(Time(at), number(seq)?)),
        [ARRIVES, at, next, flags, echo, window, ref blocks @ ..] => {
            let ack = Ack {
                next: number(next)?,
                ece: flags & ECE != 0,
                syn: flags & SYN != 0,
                echo: Time(echo),
                delay: Dur::ZERO,
                window: number(window)?,
                sack: sack(blocks)?,
            };
            Some(Event::Arrived(Time(at), ack))
        }
        _ => None,
    })?;
    let tcp = parameters(transport)?;
    let (phases, found) = if tcp.congestion_control.kind() == "bbr" {
        follow_phases(&tcp, &events)
    } else {
        follow_sender(&tcp, 1, &events).map(|found| (Vec::new(), found))
    }
    .map_err(PyValueError::new_err)?;
    let mut text = text(&found, |seq| json!(seq));
    text["phases"] = json!(phases);
    Ok(text.to_string())
}

/// Compares a receiver with a recorded one; returns `equal`, `late_ps` and `first` as JSON.
///
/// An event is `[1, time_ps, segment, flags, asked_ps]` for a segment that arrives, and `[0, time_ps, next, flags, window,
/// start, end, ...]` for an acknowledgement that is transmitted; a window of 2^32 - 1 is not recorded. Raises as [`sender`].
#[pyfunction]
#[pyo3(name = "follow_receiver")]
pub fn receiver(transport: &str, events: Vec<Vec<u64>>) -> PyResult<String> {
    let events = each(&events, |event| match *event {
        [0, at, next, flags, window, ref blocks @ ..] => {
            let window = Some(number(window)?).filter(|window| *window != Ack::UNLIMITED);
            let said = Said { next: number(next)?, ece: flags & ECE != 0, window, sack: sack(blocks)? };
            Some(Event::Sent(Time(at), said))
        }
        [ARRIVES, at, seq, flags, asked] => {
            let [pushed, cwr] = [PSH, CWR].map(|flag| flags & flag != 0);
            let ecn = match flags & (CE | ECT) {
                0 => Ecn::NotEct,
                ECT => Ecn::Ect0,
                CE => Ecn::Ce,
                _ => return None,
            };
            let seq = if flags & SYN != 0 { u32::MAX } else { number(seq)? };
            Some(Event::Arrived(Time(at), Arrival { seq, pushed, asked: Time(asked), ecn, cwr }))
        }
        _ => None,
    })?;
    let found = follow_receiver(&parameters(transport)?, &events).map_err(PyValueError::new_err)?;
    let text = text(&found, |said| {
        let blocks = said.sack.iter().filter(|block| block.start != block.end);
        let blocks: Vec<Value> = blocks.map(|block| json!([block.start, block.end])).collect();
        json!({"next": said.next, "ece": said.ece, "window": said.window, "sack": blocks})
    });
    Ok(text.to_string())
}

/// Returns the parameters of a transport.
fn parameters(transport: &str) -> PyResult<Tcp> {
    let value: Value = serde_json::from_str(transport).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let tcp: Tcp = tailback_document::decode(value).map_err(|error| PyValueError::new_err(error.to_string()))?;
    tcp.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(tcp)
}

/// Returns all events.
fn each<T>(events: &[Vec<u64>], read: impl Fn(&[u64]) -> Option<T>) -> PyResult<Vec<T>> {
    let one = |(i, event): (usize, &Vec<u64>)| {
        read(event).ok_or_else(|| PyValueError::new_err(format!("event {i} has another form: {event:?}")))
    };
    events.iter().enumerate().map(one).collect()
}

/// Returns a segment number.
fn number(value: u64) -> Option<u32> {
    value.try_into().ok()
}

/// Returns the first three blocks, whose limits follow each other.
fn sack(limits: &[u64]) -> Option<[Block; 3]> {
    let mut blocks = [Block::default(); 3];
    let pairs = limits.chunks(2).take(blocks.len());
    for (block, pair) in blocks.iter_mut().zip(pairs) {
        let [start, end] = *pair else { return None };
        *block = Block { start: number(start)?, end: number(end)? };
    }
    Some(blocks)
}

/// Returns a result as JSON; `show` shows a transmission.
fn text<T: Copy>(found: &Followed<T>, show: impl Fn(T) -> Value) -> Value {
    let first = found.first.map(|Difference { at, theirs, ours, timer, sender }| {
        json!({
            "at_ps": at.0,
            "theirs": theirs.map(&show),
            "ours": ours.map(|(time, one)| json!([time.0, show(one)])),
            "timer_ps": (timer < Time::NEVER).then_some(timer.0),
            "sender": sender.map(|window| json!({
                "cwnd": window.cwnd,
                // JSON has no infinity.
                "ssthresh": window.ssthresh.is_finite().then_some(window.ssthresh),
                "in_flight": window.in_flight,
                "state": window.state.name(),
            })),
        })
    });
    json!({"equal": found.equal, "late_ps": found.late.0, "first": first})
}
