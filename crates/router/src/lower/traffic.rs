//! Parser of the traffic table: comma-separated values with one row per group of flows.

use crate::ir::{Header, port_named, protocol_named};
use crate::{Place, Report};
use core::net::IpAddr;
use serde::Serialize;
use tailback_diffserv::Dscp;
use tailback_units::{parse_bytes, parse_duration, parse_rate};

/// A traffic table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// Groups of flows, with distinct names.
    pub rows: Vec<Row>,
}

/// A group of flows with the same parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Row {
    /// Name of the group.
    pub name: String,
    /// Header fields of its packets.
    pub header: Header,
    /// Name of the class that the table states instead of a DSCP; the row then gets the first DSCP of that class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Mean rate of each flow in bit/s, counted from the IP header on; 0 for TCP without a stated rate.
    pub rate: u64,
    /// Packet size in bytes from the IP header on, 1 to 65535.
    pub packet: u64,
    /// Number of flows, 1 to 100000.
    pub count: u32,
    /// Traffic model.
    pub model: Model,
    /// Round-trip time without queueing in picoseconds, at most 60 s; 0: not stated.
    pub rtt: u64,
    /// Objective for delay, variation, loss and quality, as text in lower case; `None`: that of its DSCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Place in the table.
    #[serde(skip)]
    pub at: Place,
}

/// Traffic model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Constant bit rate; each gap varies by up to 10 % to either side, so that flows do not stay in phase.
    #[default]
    Cbr,
    /// Poisson: independent exponential gaps.
    Poisson,
    /// On/off: twice the rate for half of the time. Each period lasts 100 ms on average, or the time of four packets if
    /// that is longer.
    OnOff,
    /// Bulk transfers over TCP.
    Tcp,
}

/// Columns of the traffic table.
const COLUMNS: [&str; 21] = [
    "name",
    "dscp",
    "class",
    "rate",
    "packet",
    "count",
    "model",
    "protocol",
    "source",
    "destination",
    "source-port",
    "destination-port",
    "application",
    "exp",
    "cos",
    "vlan",
    "input",
    "match",
    "target",
    "rtt",
    "mark",
];
/// Upper bound on the round-trip time in picoseconds: 60 s.
const MAX_RTT: u64 = 60_000_000_000_000;
/// Upper bound on the number of rows.
const MAX_ROWS: usize = 10_000;

impl Traffic {
    /// Parses a table of at most 10000 rows. The first line names the columns, of which `name` and `packet` are
    /// required. Every row but those of TCP needs a `rate`. Cells are separated by commas, or, if the first line has no
    /// comma, by semicolons or tabs; empty lines and lines that begin with `#` are skipped. Errors are in the report,
    /// with their lines; rows with errors are left out.
    pub fn from_csv(text: &str) -> (Traffic, Report) {
        let mut report = Report::default();
        let mut traffic = Traffic::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate().filter(|(_, line)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#')
        });
        let Some((number, heading)) = lines.next() else {
            report.error(
                Place::new(1, 1),
                "the traffic table is empty",
                "begin with: name,dscp,rate,packet,count,model",
            );
            return (traffic, report);
        };
        let separator = [';', '\t'].into_iter().find(|c| heading.contains(*c) && !heading.contains(',')).unwrap_or(',');
        let columns = headings(heading, separator, number, &mut report);
        for (number, line) in lines {
            let at = Place::new(u32::try_from(number + 1).unwrap_or(u32::MAX), 1);
            let cells = cells(line, separator);
            let fields: Vec<(&str, &str)> = columns
                .iter()
                .zip(&cells)
                .filter_map(|(column, cell)| column.zip(Some(cell.trim())))
                .filter(|(_, cell)| !cell.is_empty())
                .collect();
            match row(&fields, at) {
                Ok(row) if traffic.rows.iter().any(|other| other.name == row.name) => {
                    report.error(at, format!("there is another row `{}`", row.name), "give each row a name of its own");
                }
                Ok(_) if traffic.rows.len() == MAX_ROWS => {
                    report.error(
                        at,
                        format!("the traffic table has more than {MAX_ROWS} rows"),
                        "put equal flows into one row with a count",
                    );
                    break;
                }
                Ok(row) => traffic.rows.push(row),
                Err((message, advice)) => report.error(at, message, &advice),
            }
        }
        report.quote(text);
        (traffic, report)
    }
}

/// Returns the column of each cell of the heading; `None`: unknown, which is reported. `number` is the index of the
/// line, from 0.
fn headings<'a>(line: &str, separator: char, number: usize, report: &mut Report) -> Vec<Option<&'a str>> {
    let at = Place::new(u32::try_from(number + 1).unwrap_or(u32::MAX), 1);
    let found: Vec<Option<&str>> = cells(line, separator)
        .iter()
        .map(|cell| {
            let name = cell.trim().to_ascii_lowercase().replace([' ', '_'], "-");
            let name = match name.as_str() {
                "src" | "src-ip" => "source",
                "dst" | "dst-ip" => "destination",
                "sport" | "src-port" => "source-port",
                "dport" | "dst-port" => "destination-port",
                "size" | "packet-size" => "packet",
                "flows" => "count",
                "mpls-exp" => "exp",
                "input-interface" | "interface" => "input",
                other => other,
            };
            let known = COLUMNS.iter().find(|known| **known == name).copied();
            if known.is_none() {
                let advice = tailback_document::suggest(name, COLUMNS.iter().copied()).map_or_else(
                    || format!("columns are {}", COLUMNS.join(", ")),
                    |near| format!("did you mean `{near}`?"),
                );
                report.unsupported(at, format!("unknown column `{}`", cell.trim()), Some(&advice));
            }
            known
        })
        .collect();
    for needed in ["name", "packet"] {
        if !found.contains(&Some(needed)) {
            report.error(
                at,
                format!("the column `{needed}` is missing"),
                "begin with: name,dscp,rate,packet,count,model",
            );
        }
    }
    found
}

/// Splits a line into cells; a cell in double quotes may contain the separator.
fn cells(line: &str, separator: char) -> Vec<String> {
    let (mut found, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            c if c == separator && !quoted => found.push(core::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    found.push(cell);
    found
}

/// Message and advice.
type CellError = (String, String);

/// Parses the non-empty cells of a row, each with the name of its column.
fn row(fields: &[(&str, &str)], at: Place) -> Result<Row, CellError> {
    let get = |name: &str| fields.iter().find(|(column, _)| *column == name).map(|(_, cell)| *cell);
    let need =
        |name: &str| get(name).ok_or_else(|| (format!("the column `{name}` is empty"), "write a value".to_owned()));
    let name = need("name")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.chars().all(plain) {
        return Err((format!("`{name}` is not a name"), "use letters, digits, `-`, `_` and `.`".to_owned()));
    }
    let dscp = get("dscp")
        .map(str::parse::<Dscp>)
        .transpose()
        .map_err(|e| (e, "write a number from 0 to 63, or a name such as ef or af41".to_owned()))?;
    let model = match get("model").unwrap_or("cbr").to_ascii_lowercase().as_str() {
        "cbr" | "udp" => Model::Cbr,
        "poisson" => Model::Poisson,
        "onoff" | "on-off" => Model::OnOff,
        "tcp" | "bulk" => Model::Tcp,
        other => return Err((format!("there is no model `{other}`"), "write cbr, poisson, onoff or tcp".to_owned())),
    };
    let rate = match (get("rate"), model) {
        (None, Model::Tcp) => 0,
        (Some(text), _) => rate(text)?,
        (None, _) => return Err(("the column `rate` is empty".to_owned(), "write a rate such as 64kbit/s".to_owned())),
    };
    let packet = need("packet")?;
    let packet = packet.parse::<u64>().ok().or_else(|| parse_bytes(packet).ok());
    let packet = packet.filter(|bytes| (1..=65_535).contains(bytes)).ok_or_else(|| {
        ("`packet` is not a packet size".to_owned(), "write a number of bytes from 1 to 65535, such as 200".to_owned())
    })?;
    let count = get("count").map_or(Ok(1), str::parse::<u32>).ok().filter(|n| (1..=100_000).contains(n));
    let count = count.ok_or_else(|| {
        ("`count` is not a number of flows".to_owned(), "write a whole number from 1 to 100000".to_owned())
    })?;
    let small = |name: &str| -> Result<Option<u8>, CellError> {
        let wrong = || (format!("`{name}` is not a number from 0 to 7"), "write a whole number from 0 to 7".to_owned());
        get(name).map(|text| text.parse().ok().filter(|n| *n < 8).ok_or_else(wrong)).transpose()
    };
    let address = |name: &str| -> Result<Option<IpAddr>, CellError> {
        let wrong = || {
            (format!("`{name}` is not an IP address"), "write an address such as 10.0.0.1 or 2001:db8::1".to_owned())
        };
        get(name).map(|text| text.parse::<IpAddr>().map_err(|_| wrong())).transpose()
    };
    let (source, destination) = (address("source")?, address("destination")?);
    if let (Some(source), Some(destination)) = (source, destination)
        && source.is_ipv4() != destination.is_ipv4()
    {
        return Err((
            "`source` and `destination` are of different IP versions".to_owned(),
            "write two IPv4 or two IPv6 addresses".to_owned(),
        ));
    }
    let ipv4 = |address: Option<IpAddr>| if let Some(IpAddr::V4(own)) = address { Some(u32::from(own)) } else { None };
    let ipv6 = |address: Option<IpAddr>| if let Some(IpAddr::V6(own)) = address { Some(u128::from(own)) } else { None };
    let wrong =
        || ("`vlan` is not a number from 0 to 4094".to_owned(), "write a whole number from 0 to 4094".to_owned());
    let vlan = get("vlan").map(|text| text.parse().ok().filter(|n| *n < 4095).ok_or_else(wrong)).transpose()?;
    let port = |name: &str| -> Result<Option<u16>, CellError> {
        let wrong =
            || (format!("`{name}` is not a port"), "write a number from 0 to 65535, or a name such as www".to_owned());
        get(name).map(|text| port_named(text).ok_or_else(wrong)).transpose()
    };
    let wrong =
        || ("`protocol` is not an IP protocol".to_owned(), "write tcp, udp, icmp or a number from 0 to 255".to_owned());
    let protocol = get("protocol").map(|text| protocol_named(text).ok_or_else(wrong)).transpose()?;
    let header = Header {
        dscp: dscp.map_or(0, Dscp::codepoint),
        experimental: small("exp")?,
        cos: small("cos")?,
        protocol: protocol.or((model == Model::Tcp).then_some(6)),
        source: ipv4(source),
        destination: ipv4(destination),
        source6: ipv6(source),
        destination6: ipv6(destination),
        vlan,
        qos_group: None,
        traffic_class: None,
        input: get("input").map(str::to_owned),
        mark: get("mark").map(|text| mark(text).ok_or_else(wrong_mark)).transpose()?,
        source_port: port("source-port")?,
        destination_port: port("destination-port")?,
        application: get("application").map(str::to_ascii_lowercase),
        names: get("match")
            .map(|text| text.split([';', '|']).map(|name| name.trim().to_ascii_lowercase()).collect())
            .unwrap_or_default(),
    };
    let class = get("class").filter(|_| dscp.is_none()).map(str::to_owned);
    let rtt = get("rtt").map_or(Ok(0), round_trip)?;
    let target = get("target").map(str::to_ascii_lowercase);
    Ok(Row { name: name.to_owned(), header, class, rate, packet, count, model, rtt, target, at })
}

/// Parses a round-trip time of at most [`MAX_RTT`] into picoseconds.
fn round_trip(text: &str) -> Result<u64, CellError> {
    let found = parse_duration(text).ok().map(|rtt| rtt.0).filter(|ps| *ps <= MAX_RTT);
    found.ok_or_else(|| {
        (format!("`{text}` is not a round-trip time"), "write a time of at most 60 s, such as 40ms".to_owned())
    })
}

/// Parses a firewall mark, a number of 32 bits: decimal, or hexadecimal after `0x`.
fn mark(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn wrong_mark() -> CellError {
    ("`mark` is not a firewall mark".to_owned(), "write a number of 32 bits such as 10 or 0x10".to_owned())
}

/// Parses a rate above 0 into bit/s; a number without a unit is in bit/s.
fn rate(text: &str) -> Result<u64, CellError> {
    let found = text.parse::<u64>().ok().or_else(|| parse_rate(text).ok().map(|rate| rate.0));
    found.filter(|rate| *rate > 0).ok_or_else(|| {
        (format!("`{text}` is not a rate"), "write a rate above 0 such as 64kbit/s, or a number of bit/s".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_may_come_in_any_order_under_usual_names_and_empty_cells_take_defaults() {
        let (traffic, report) = Traffic::from_csv(
            "# who\nname;dport;rate;Packet Size;dscp\nvoice;5060;64kbit/s;200;ef\nweb;www;1000000;1500;\n",
        );
        assert!(report.notices().is_empty(), "{report:?}");
        let [voice, web] = traffic.rows.as_slice() else { panic!("two rows") };
        assert_eq!((voice.rate, voice.packet, voice.count, voice.header.dscp), (64_000, 200, 1, 46));
        assert_eq!((web.header.destination_port, web.header.dscp), (Some(80), 0));
    }

    #[test]
    fn each_bad_row_is_reported_with_its_line() {
        let text = "name,dscp,rate,packet,colour\na,ef,1x,200,\na b,ef,1Mbit/s,200,\nc,ef,1Mbit/s,0,\nd,af99,1Mbit/s,9,\nd,0,1Mbit/s,9,\nd,0,1Mbit/s,9,\n";
        let (traffic, report) = Traffic::from_csv(text);
        assert_eq!(traffic.rows.len(), 1);
        assert_eq!(report.notices().iter().map(|notice| notice.line).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 7]);
    }
}
