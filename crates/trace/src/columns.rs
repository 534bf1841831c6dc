//! Conversion of the rows of a trace to columns of little-endian numbers, and back.

use crate::network::Network;
use std::collections::BTreeMap;
use tailback_qdisc::congestion_notification::Tag;
use tailback_qdisc::{Colour, Ecn, Reason};
use tailback_sim::plan::{EventKind, FrameKind};
use tailback_sim::trace::{Cause, Detail, Order, Row};
use tailback_transport::Block;
use tailback_units::Time;

/// Type of a column's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 0 or 1, in one byte.
    Bool,
    /// Unsigned, one byte.
    U8,
    /// Unsigned, two bytes.
    U16,
    /// Unsigned, four bytes.
    U32,
    /// Unsigned, eight bytes.
    U64,
    /// IEEE 754, eight bytes.
    F64,
}

impl Kind {
    /// Returns the length of a number, bytes.
    pub fn width(self) -> usize {
        match self {
            Kind::Bool | Kind::U8 => 1,
            Kind::U16 => 2,
            Kind::U32 => 4,
            Kind::U64 | Kind::F64 => 8,
        }
    }

    /// Returns the name that NumPy gives the type.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::U8 => "uint8",
            Kind::U16 => "uint16",
            Kind::U32 => "uint32",
            Kind::U64 => "uint64",
            Kind::F64 => "float64",
        }
    }
}

/// Kind of the names to which the numbers of a column refer, as indices into a list of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Names {
    /// Kinds of events.
    Events,
    /// Kinds of frames.
    Frames,
    /// Output ports.
    Ports,
    /// Flows.
    Flows,
    /// Hosts and switches.
    Nodes,
    /// ECN codepoints.
    Codepoints,
    /// Drop precedences.
    Colours,
    /// Reasons of drops.
    Reasons,
    /// Kinds of additional content of rows.
    Details,
}

/// Reasons of drops, indexed by their discriminants.
const REASONS: [Reason; 8] = [
    Reason::BufferFull,
    Reason::SharedMemoryFull,
    Reason::InputBufferFull,
    Reason::LinkLoss,
    Reason::LinkDown,
    Reason::Early,
    Reason::Unresponsive,
    Reason::Policed,
];
/// ECN codepoints with their names, indexed by their discriminants.
const CODEPOINTS: [(Ecn, &str); 4] =
    [(Ecn::NotEct, "not-ect"), (Ecn::Ect1, "ect1"), (Ecn::Ect0, "ect0"), (Ecn::Ce, "ce")];
/// Drop precedences with their names, indexed by their discriminants.
const COLOURS: [(Colour, &str); 3] = [(Colour::Green, "green"), (Colour::Yellow, "yellow"), (Colour::Red, "red")];
/// Names of the variants of [`Detail`], in their order there.
const DETAILS: [&str; 5] = ["ack", "pause", "notice", "congestion", "feedback"];

impl Names {
    /// All kinds of names.
    pub const ALL: [Names; 9] = [
        Names::Events,
        Names::Frames,
        Names::Ports,
        Names::Flows,
        Names::Nodes,
        Names::Codepoints,
        Names::Colours,
        Names::Reasons,
        Names::Details,
    ];

    /// Returns the name of the list in the manifest of a trace.
    pub fn name(self) -> &'static str {
        match self {
            Names::Events => "events",
            Names::Frames => "frames",
            Names::Ports => "ports",
            Names::Flows => "flows",
            Names::Nodes => "nodes",
            Names::Codepoints => "codepoints",
            Names::Colours => "colours",
            Names::Reasons => "reasons",
            Names::Details => "details",
        }
    }

    /// Returns the list of names for a network. Names are unique: the second of equal names gets the suffix `#2`, the
    /// third `#3`.
    pub fn of(self, network: &Network) -> Vec<String> {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        match self {
            Names::Events => EventKind::ALL.iter().map(|kind| kind.name().to_owned()).collect(),
            Names::Frames => FrameKind::ALL.iter().map(|kind| kind.name().to_owned()).collect(),
            Names::Ports => unique(network.ports.iter().map(|port| port.name.clone())),
            Names::Flows => unique(network.flows.iter().map(|flow| flow.name.clone())),
            Names::Nodes => unique(network.nodes.iter().cloned()),
            Names::Codepoints => texts(&CODEPOINTS.map(|(_, name)| name)),
            Names::Colours => texts(&COLOURS.map(|(_, name)| name)),
            Names::Reasons => REASONS.iter().map(ToString::to_string).collect(),
            Names::Details => texts(&DETAILS),
        }
    }
}

/// Returns the names, of which the second of equal ones gets the suffix `#2`, the third `#3`.
fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeMap::<String, u32>::new();
    names
        .map(|name| {
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            if *count > 1 { format!("{name}#{count}") } else { name }
        })
        .collect()
}

/// Description of a column.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Name, which ends with the unit of a quantity.
    pub name: &'static str,
    /// Type of the numbers.
    pub kind: Kind,
    /// Names into whose list the numbers are indices; `None`: the numbers are values.
    pub names: Option<Names>,
    /// Unit; empty: the column has none.
    pub unit: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// Function that reads the value from a row.
    cells: Cells,
}

/// Function that reads a column's value from a row. A real number is returned as its bits.
#[derive(Clone, Copy, Debug)]
enum Cells {
    /// Each row has a value.
    All(fn(&Row) -> u64),
    /// A row may have no value.
    Some(fn(&Row) -> Option<u64>),
    /// Appends the row's list of values to the vector; an empty list counts as no value.
    List(fn(&Row, &mut Vec<u64>)),
}

impl Spec {
    /// Returns `true` if the values are lists.
    pub fn is_list(&self) -> bool {
        matches!(self.cells, Cells::List(_))
    }
    /// Returns `true` if a row may have no value.
    pub fn is_optional(&self) -> bool {
        !matches!(self.cells, Cells::All(_))
    }
}

/// Returns the value if the row is about a packet of a flow, or if the value is not 0.
fn of_packet(row: &Row, value: u64) -> Option<u64> {
    (row.frame.is_packet() || value != 0).then_some(value)
}

/// Returns the value if the row is about a packet at a queue, or if the value is not 0.
fn of_queue(row: &Row, value: u64) -> Option<u64> {
    let at_queue = matches!(row.event, EventKind::Enqueue | EventKind::Dequeue | EventKind::Drop | EventKind::Mark);
    (row.frame.is_packet() && at_queue || value != 0).then_some(value)
}

/// Returns the congested queue that a row names; `None`: it names none.
fn cause(row: &Row) -> Option<Cause> {
    match row.detail.as_deref()? {
        Detail::Notice { cause, .. } | Detail::Congestion { cause, .. } => Some(*cause),
        Detail::Ack { .. } | Detail::Pause { .. } | Detail::Feedback { .. } => None,
    }
}

/// Returns a column of values.
const fn column(name: &'static str, kind: Kind, unit: &'static str, cells: Cells, about: &'static str) -> Spec {
    Spec { name, kind, names: None, unit, about, cells }
}

/// Returns a column of indices into a list of names.
const fn named(name: &'static str, kind: Kind, names: Names, cells: Cells, about: &'static str) -> Spec {
    Spec { name, kind, names: Some(names), unit: "", about, cells }
}

/// All columns, in the order in which they are stored.
pub const COLUMNS: [Spec; 42] = [
    column("time_ps", Kind::U64, "ps", Cells::All(|row| row.time.0), "Time of the event."),
    named("event", Kind::U8, Names::Events, Cells::All(|row| row.event as u64), "Kind of the event."),
    named("frame", Kind::U8, Names::Frames, Cells::All(|row| row.frame as u64), "Kind of the frame."),
    named("port", Kind::U32, Names::Ports, Cells::All(|row| row.port.into()), "Output port, or the link behind it."),
    column(
        "class",
        Kind::U8,
        "",
        Cells::Some(|row| {
            (row.frame.is_packet() || row.frame == FrameKind::Queue || row.class != 0).then_some(row.class.into())
        }),
        "Traffic class of the packet or queue, 0 (highest) to 7.",
    ),
    named(
        "flow",
        Kind::U32,
        Names::Flows,
        Cells::Some(|row| (row.flow != Row::NO_FLOW).then_some(row.flow.into())),
        "Flow; for an acknowledgement, the flow of the data that it acknowledges.",
    ),
    column(
        "sequence",
        Kind::U32,
        "",
        Cells::Some(|row| of_packet(row, row.sequence.into())),
        "Number of the packet, or of the segment for flows with a transport; in an acknowledgement the next segment \
         expected.",
    ),
    column(
        "packet",
        Kind::U64,
        "",
        Cells::Some(|row| (row.packet != 0).then_some(row.packet)),
        "Identity of the packet: equal in all its rows, different for a retransmission.",
    ),
    column(
        "stamp_ps",
        Kind::U64,
        "ps",
        Cells::Some(|row| (row.packet != 0).then_some(row.stamp.0)),
        "Time at which the source passed the packet to the network; in an acknowledgement the time that it echoes, in a \
         control frame the start of its transmission.",
    ),
    column("payload_bytes", Kind::U16, "B", Cells::Some(|row| of_packet(row, row.payload.into())), "Payload of data."),
    column(
        "size_bytes",
        Kind::U16,
        "B",
        Cells::Some(|row| of_packet(row, row.size.into())),
        "Length of the packet in buffers.",
    ),
    column(
        "wire_bytes",
        Kind::U16,
        "B",
        Cells::Some(|row| of_packet(row, row.wire.into())),
        "Length of the frame on the wire.",
    ),
    named(
        "ecn",
        Kind::U8,
        Names::Codepoints,
        Cells::Some(|row| of_packet(row, row.ecn as u64)),
        "ECN codepoint (RFC 3168).",
    ),
    column(
        "echo",
        Kind::Bool,
        "",
        Cells::Some(|row| of_packet(row, row.echo.into())),
        "CWR on data, ECE on an acknowledgement (RFC 3168).",
    ),
    named(
        "colour",
        Kind::U8,
        Names::Colours,
        Cells::Some(|row| of_packet(row, row.colour as u64)),
        "Drop precedence (RFC 2697).",
    ),
    column("dscp", Kind::U8, "", Cells::Some(|row| of_packet(row, row.dscp.into())), "DSCP, 0 to 63."),
    column(
        "exp",
        Kind::U8,
        "",
        Cells::Some(|row| of_packet(row, row.exp.into())),
        "Traffic class field of MPLS labels, 0 to 7.",
    ),
    column(
        "tag_point",
        Kind::U16,
        "",
        Cells::Some(|row| row.tag.map(|tag| tag.point.into())),
        "Number of the congestion point in the packet's rate-limited tag; null: no tag.",
    ),
    column(
        "tag_solicit",
        Kind::Bool,
        "",
        Cells::Some(|row| row.tag.map(|tag| tag.solicit.into())),
        "Solicit bit of the packet's rate-limited tag.",
    ),
    column("measured", Kind::Bool, "", Cells::All(|row| row.measured.into()), "The packet counts in the results."),
    column(
        "queue_packets",
        Kind::U64,
        "packet",
        Cells::Some(|row| of_queue(row, row.queue_packets)),
        "Waiting packets of the class at the port, before the event.",
    ),
    column(
        "queue_bytes",
        Kind::U64,
        "B",
        Cells::Some(|row| of_queue(row, row.queue_bytes)),
        "Buffer bytes of these packets; in `congested` and `relieved` rows the occupancy that was compared with the threshold.",
    ),
    named(
        "reason",
        Kind::U8,
        Names::Reasons,
        Cells::Some(|row| row.reason.map(|reason| reason as u64)),
        "Reason of a drop.",
    ),
    column(
        "state",
        Kind::F64,
        "",
        Cells::List(|row, cells| cells.extend(row.state.iter().map(|value| value.to_bits()))),
        "State of the class's discipline after the decision; the names are in the manifest.",
    ),
    named(
        "detail",
        Kind::U8,
        Names::Details,
        Cells::Some(|row| {
            row.detail.as_deref().map(|detail| match detail {
                Detail::Ack { .. } => 0,
                Detail::Pause { .. } => 1,
                Detail::Notice { .. } => 2,
                Detail::Congestion { .. } => 3,
                Detail::Feedback { .. } => 4,
            })
        }),
        "Kind of the content in the columns below.",
    ),
    column(
        "sack",
        Kind::U32,
        "",
        Cells::List(|row, cells| {
            if let Some(Detail::Ack { sack }) = row.detail.as_deref() {
                let last = sack.iter().rposition(|block| *block != Block::default()).map_or(0, |last| last + 1);
                cells.extend(sack[..last].iter().flat_map(|block| [block.start, block.end]).map(u64::from));
            }
        }),
        "Selective acknowledgement (RFC 2018): first segment and segment after the last of each block.",
    ),
    column(
        "pause_classes",
        Kind::U8,
        "",
        Cells::Some(|row| match row.detail.as_deref()? {
            Detail::Pause { classes, .. } => Some((*classes).into()),
            _ => None,
        }),
        "Classes that a PFC frame sets, bit k for class k; 0: a PAUSE for the whole port.",
    ),
    column(
        "pause_quanta",
        Kind::U16,
        "512 bit",
        Cells::List(|row, cells| {
            if let Some(Detail::Pause { quanta, .. }) = row.detail.as_deref() {
                cells.extend(quanta.iter().copied().map(u64::from));
            }
        }),
        "Pause of each class in quanta of 512 bit times; a PAUSE for the whole port has its time in the first place.",
    ),
    named(
        "cause_port",
        Kind::U32,
        Names::Ports,
        Cells::Some(|row| cause(row).map(|cause| cause.port.into())),
        "Port of the congested queue; of an input, the port towards the neighbour behind it; of a queue at an input, the output.",
    ),
    column(
        "cause_class",
        Kind::U8,
        "",
        Cells::Some(|row| cause(row).map(|cause| cause.class.into())),
        "Class of the congested queue.",
    ),
    column(
        "cause_input",
        Kind::Bool,
        "",
        Cells::Some(|row| cause(row).map(|cause| cause.input.into())),
        "The congested queue is an input of the switch.",
    ),
    named(
        "cause_destination",
        Kind::U16,
        Names::Nodes,
        Cells::Some(|row| cause(row)?.destination.map(u64::from)),
        "Congested destination, if each destination has a limit of its own.",
    ),
    column(
        "threshold_bytes",
        Kind::U64,
        "B",
        Cells::Some(|row| match row.detail.as_deref()? {
            Detail::Congestion { threshold, .. } => *threshold,
            _ => None,
        }),
        "Threshold that the occupancy passed or fell below; null: the threshold is not fixed.",
    ),
    named(
        "destinations",
        Kind::U16,
        Names::Nodes,
        Cells::List(|row, cells| {
            if let Some(Detail::Notice { destinations, .. }) = row.detail.as_deref() {
                cells.extend(destinations.iter().copied().map(u64::from));
            }
        }),
        "Destinations that an XOFF stops or an XON resumes; null: all.",
    ),
    column(
        "point",
        Kind::U16,
        "",
        Cells::Some(|row| feedback(row).map(|(point, _, _)| point.into())),
        "Number of the congestion point that sent the message (BCN or QCN), from 1.",
    ),
    named(
        "point_flow",
        Kind::U32,
        Names::Flows,
        Cells::Some(|row| feedback(row).and_then(|(_, flow, _)| (flow != Row::NO_FLOW).then_some(flow.into()))),
        "Flow of the frame that the congestion point sampled.",
    ),
    named(
        "point_source",
        Kind::U16,
        Names::Nodes,
        Cells::Some(|row| match row.detail.as_deref()? {
            Detail::Feedback { source, .. } => Some((*source).into()),
            _ => None,
        }),
        "Host that sent the sampled frame, and to which the message goes.",
    ),
    column(
        "rate_change",
        Kind::F64,
        "",
        Cells::Some(|row| feedback(row).and_then(|(_, _, change)| change.map(f64::to_bits))),
        "Change of the rate in the law's unit; null in a message: the source stops.",
    ),
    column(
        "order_kind",
        Kind::U8,
        "",
        Cells::All(|row| row.order.kind.into()),
        "Kind of the causing event; orders rows of one time.",
    ),
    column(
        "order_component",
        Kind::U32,
        "",
        Cells::All(|row| row.order.component.into()),
        "Component at which the causing event occurs; orders rows of one time and kind.",
    ),
    column(
        "order_port",
        Kind::U32,
        "",
        Cells::Some(|row| (row.order.port != 0).then_some(row.order.port.into())),
        "Port at which a change of the timeline acts; orders the rows of one change.",
    ),
    column(
        "turn",
        Kind::U64,
        "",
        Cells::Some(|row| (row.turn != 0).then_some(row.turn)),
        "Number of the event among the arrivals, departures and drops at its port's queue, from 1: their causal order, also \
         within an instant.",
    ),
];

/// Returns number of the congestion point, flow and change of the rate of a message; `None`: the row has no message.
fn feedback(row: &Row) -> Option<(u16, u32, Option<f64>)> {
    match row.detail.as_deref()? {
        Detail::Feedback { point, flow, change, .. } => Some((*point, *flow, *change)),
        _ => None,
    }
}

/// Numbers of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The numbers, little-endian; 0 in rows without a value.
    pub numbers: Vec<u8>,
    /// For lists the length in each row, `u32` little-endian; otherwise for each row a byte that is 1 if it has a
    /// value. Empty if each row has a value.
    pub extent: Vec<u8>,
}

/// Rows of a trace as columns.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Number of rows.
    pub rows: usize,
    /// The columns, in the order of [`COLUMNS`].
    pub columns: Vec<Column>,
}

impl Columns {
    /// Returns the rows as columns, in the order of the rows.
    pub fn of(rows: &[Row]) -> Columns {
        Columns { rows: rows.len(), columns: COLUMNS.iter().map(|spec| write(spec, rows)).collect() }
    }
}

/// Returns the column `spec` of the rows.
fn write(spec: &Spec, rows: &[Row]) -> Column {
    let width = spec.kind.width();
    let mut column = Column { numbers: Vec::with_capacity(rows.len() * width), extent: Vec::new() };
    let mut list = Vec::new();
    for row in rows {
        match spec.cells {
            Cells::All(cell) => column.numbers.extend_from_slice(&cell(row).to_le_bytes()[..width]),
            Cells::Some(cell) => {
                let found = cell(row);
                column.numbers.extend_from_slice(&found.unwrap_or(0).to_le_bytes()[..width]);
                column.extent.push(found.is_some().into());
            }
            Cells::List(cells) => {
                list.clear();
                cells(row, &mut list);
                column.extent.extend_from_slice(&(list.len() as u32).to_le_bytes());
                for value in &list {
                    column.numbers.extend_from_slice(&value.to_le_bytes()[..width]);
                }
            }
        }
    }
    column
}

/// A column that is read row by row.
struct Reader<'a> {
    spec: &'static Spec,
    numbers: &'a [u8],
    extent: &'a [u8],
    /// Index of the next element of a list; lists are read in the order of the rows.
    at: usize,
}

impl Reader<'_> {
    /// Returns the number with this index.
    fn number(&self, at: usize) -> u64 {
        let width = self.spec.kind.width();
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(&self.numbers[at * width..(at + 1) * width]);
        u64::from_le_bytes(bytes)
    }

    /// Returns the value in a row; `None`: the row has none.
    fn value(&self, row: usize) -> Option<u64> {
        (self.extent.is_empty() || self.extent[row] != 0).then(|| self.number(row))
    }

    /// Returns the list in a row; to be called once for each row, in order.
    fn list(&mut self, row: usize) -> Vec<u64> {
        let length = &self.extent[4 * row..4 * row + 4];
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        let from = self.at;
        self.at += length;
        (from..self.at).map(|at| self.number(at)).collect()
    }

    /// Returns `true` if the lengths of the byte arrays fit the number of rows.
    fn fits(&self, rows: usize) -> bool {
        let width = self.spec.kind.width();
        if !self.spec.is_list() {
            return self.numbers.len() == rows * width && (self.extent.is_empty() || self.extent.len() == rows);
        }
        let lengths = self.extent.chunks_exact(4);
        let length = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes) as usize;
        self.extent.len() == 4 * rows && lengths.map(length).sum::<usize>() * width == self.numbers.len()
    }
}

/// Returns the rows of columns. `count`: number of rows; `columns`: for each name of a column its numbers and its
/// extent, as in [`Column`].
///
/// # Errors
/// A message if a column is missing, if its length does not match `count`, or if a number is not valid in its column.
pub fn rows(count: usize, columns: &BTreeMap<&str, (&[u8], &[u8])>) -> Result<Vec<Row>, String> {
    let mut readers = BTreeMap::new();
    for spec in &COLUMNS {
        let (numbers, extent) = columns.get(spec.name).ok_or_else(|| format!("the column {} is missing", spec.name))?;
        let reader = Reader { spec, numbers, extent, at: 0 };
        if !reader.fits(count) {
            return Err(format!("the lengths of column {} do not match {count} rows", spec.name));
        }
        readers.insert(spec.name, reader);
    }
    (0..count)
        .map(|at| row(at, &mut readers).ok_or_else(|| format!("row {at} has a number that is not valid in its column")))
        .collect()
}

/// Returns row `at` of the columns; `None`: a number is not valid in its column.
fn row(at: usize, readers: &mut BTreeMap<&'static str, Reader<'_>>) -> Option<Row> {
    let state = readers.get_mut("state")?.list(at).into_iter().map(f64::from_bits).collect();
    let sack = readers.get_mut("sack")?.list(at);
    let quanta = readers.get_mut("pause_quanta")?.list(at);
    let destinations = readers.get_mut("destinations")?.list(at);
    let optional = |name: &str| readers[name].value(at);
    let number = |name: &str| optional(name).unwrap_or(0);
    let cause = || {
        Some(Cause {
            port: optional("cause_port")? as u32,
            class: number("cause_class") as u8,
            input: number("cause_input") != 0,
            destination: optional("cause_destination").map(|node| node as u16),
        })
    };
    let detail = match optional("detail") {
        None => None,
        Some(0) => {
            let mut blocks = [Block::default(); 3];
            for (block, pair) in blocks.iter_mut().zip(sack.chunks(2)) {
                *block = Block { start: pair[0] as u32, end: *pair.get(1)? as u32 };
            }
            Some(Detail::Ack { sack: blocks })
        }
        Some(1) => {
            let quanta = quanta.into_iter().map(|time| time as u16).collect::<Vec<_>>();
            Some(Detail::Pause { classes: number("pause_classes") as u8, quanta: quanta.try_into().ok()? })
        }
        Some(2) => {
            let destinations = destinations.into_iter().map(|node| node as u16).collect();
            Some(Detail::Notice { cause: cause()?, destinations })
        }
        Some(3) => Some(Detail::Congestion { cause: cause()?, threshold: optional("threshold_bytes") }),
        Some(4) => Some(Detail::Feedback {
            point: number("point") as u16,
            flow: optional("point_flow").map_or(Row::NO_FLOW, |flow| flow as u32),
            source: number("point_source") as u16,
            change: optional("rate_change").map(f64::from_bits),
        }),
        Some(_) => return None,
    };
    let time = Time(number("time_ps"));
    let order = Order {
        kind: number("order_kind") as u8,
        component: number("order_component") as u32,
        port: number("order_port") as u32,
    };
    Some(Row {
        time,
        order,
        turn: number("turn"),
        event: *EventKind::ALL.get(number("event") as usize)?,
        frame: *FrameKind::ALL.get(number("frame") as usize)?,
        port: number("port") as u32,
        class: number("class") as u8,
        flow: optional("flow").map_or(Row::NO_FLOW, |flow| flow as u32),
        sequence: number("sequence") as u32,
        packet: number("packet"),
        stamp: optional("stamp_ps").map_or(time, Time),
        payload: number("payload_bytes") as u16,
        size: number("size_bytes") as u16,
        wire: number("wire_bytes") as u16,
        ecn: CODEPOINTS.get(number("ecn") as usize)?.0,
        echo: number("echo") != 0,
        colour: COLOURS.get(number("colour") as usize)?.0,
        dscp: number("dscp") as u8,
        exp: number("exp") as u8,
        tag: optional("tag_point").map(|point| Tag { point: point as u16, solicit: number("tag_solicit") != 0 }),
        measured: number("measured") != 0,
        queue_packets: number("queue_packets"),
        queue_bytes: number("queue_bytes"),
        reason: match optional("reason") {
            None => None,
            Some(reason) => Some(*REASONS.get(reason as usize)?),
        },
        state,
        detail: detail.map(Box::new),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_discriminants_of_kinds_are_the_indices_of_their_names() {
        assert!(REASONS.iter().enumerate().all(|(index, reason)| *reason as usize == index));
        assert!(CODEPOINTS.iter().enumerate().all(|(index, (ecn, _))| *ecn as usize == index));
        assert!(COLOURS.iter().enumerate().all(|(index, (colour, _))| *colour as usize == index));
        assert!(EventKind::ALL.iter().enumerate().all(|(index, kind)| *kind as usize == index));
        assert!(FrameKind::ALL.iter().enumerate().all(|(index, kind)| *kind as usize == index));
    }

    #[test]
    fn the_second_and_third_of_equal_names_get_a_suffix() {
        let names = ["a", "b", "a", "a"].map(str::to_owned);
        assert_eq!(unique(names.into_iter()), ["a", "b", "a#2", "a#3"]);
    }

    #[test]
    fn missing_columns_and_columns_of_another_length_are_refused() {
        let empty = Columns::of(&[]);
        let mut columns: BTreeMap<&str, (&[u8], &[u8])> = BTreeMap::new();
        for (spec, column) in COLUMNS.iter().zip(&empty.columns) {
            columns.insert(spec.name, (&column.numbers, &column.extent));
        }
        assert_eq!(rows(0, &columns), Ok(Vec::new()));
        assert!(rows(1, &columns).is_err_and(|message| message.contains("time_ps")));
        columns.remove("flow");
        assert!(rows(0, &columns).is_err_and(|message| message.contains("flow is missing")));
    }
}
