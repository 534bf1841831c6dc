//! Table of classes that is compiled from matches.

use super::Match;
use super::conditions::Fields;
use crate::Packet;
use std::collections::BTreeMap;

/// Assigns packets to classes: the class of the first match that holds, else the default class.
///
/// Cost per packet: a look-up of the flow's set, and one in a table by code point, label, priority class and colour.
#[derive(Clone, Debug)]
pub struct Classifier {
    /// One table after the other for each set of flows; a table has the class for each [`index`].
    tables: Vec<u8>,
    /// Number of entries of one table: [`LABELLED`] if a match reads labels, else [`TABLE`], both powers of two.
    entries: usize,
    /// Index of each flow's set; flows beyond the end are in set 0, that of the flows that no match names.
    sets: Vec<u16>,
}

/// Number of combinations of code point, priority class and colour (two bits).
const TABLE: usize = 64 * 8 * 4;
/// The same with the XOR of the label's traffic class and the IP precedence, which is 0 in packets without a label.
const LABELLED: usize = TABLE * 8;

/// Returns the index of a packet's entry in a table of [`LABELLED`] entries.
#[inline]
fn index(packet: &Packet) -> usize {
    let difference = packet.exp() ^ packet.precedence();
    usize::from(packet.dscp())
        | usize::from(packet.class()) << 6
        | (packet.colour() as usize) << 9
        | usize::from(difference) << 11
}

/// Returns the packet fields at an index of the table.
fn fields_at(place: usize) -> Fields {
    let dscp = place as u8 & 0x3f;
    let (class, colour) = ((place >> 6) as u8 & 7, (place >> 9) as u8 & 3);
    Fields { dscp, exp: (place >> 11) as u8 ^ dscp >> 3, class, colour }
}

impl Classifier {
    /// Compiles resolved matches, each with its class, in order of precedence; packets that no match selects belong to
    /// the class `default`.
    ///
    /// # Panics
    /// If a match contains the name of a class map or flow group; [`Match::resolved`] replaces them.
    pub fn new<'a>(matches: impl IntoIterator<Item = (&'a Match, u8)>, default: u8) -> Classifier {
        let matches: Vec<(&Match, u8)> = matches.into_iter().collect();
        let mut lists: Vec<&[u32]> = Vec::new();
        // Number of each list by its address, so that `among` need not compare long lists for each entry.
        let mut list_numbers: BTreeMap<*const u32, u16> = BTreeMap::new();
        for (one, _) in &matches {
            one.each_flows(&mut |flows| {
                let number = lists.iter().position(|list| *list == flows).unwrap_or_else(|| {
                    lists.push(flows);
                    lists.len() - 1
                });
                list_numbers.insert(flows.as_ptr(), number as u16);
            });
        }
        // For each flow the numbers of the lists that contain it; flows in the same lists form a set.
        let mut members: BTreeMap<u32, Vec<u16>> = BTreeMap::new();
        for (number, list) in lists.iter().enumerate() {
            for flow in *list {
                members.entry(*flow).or_default().push(number as u16);
            }
        }
        let mut numbers: BTreeMap<&[u16], u16> = BTreeMap::from([(&[][..], 0)]);
        let mut sets = vec![0; members.last_key_value().map_or(0, |(flow, _)| *flow as usize + 1)];
        for (flow, within) in &members {
            let next = numbers.len() as u16;
            sets[*flow as usize] = *numbers.entry(within).or_insert(next);
        }
        let labelled = matches.iter().any(|(one, _)| one.reads_labels());
        let entries = if labelled { LABELLED } else { TABLE };
        let mut tables = vec![default; entries * numbers.len()];
        for (within, set) in &numbers {
            let among = |flows: &[u32]| list_numbers.get(&flows.as_ptr()).is_some_and(|list| within.contains(list));
            for place in 0..entries {
                let fields = fields_at(place);
                if let Some((_, class)) = matches.iter().find(|(one, _)| one.holds(&fields, &among)) {
                    tables[usize::from(*set) * entries + place] = *class;
                }
            }
        }
        Classifier { tables, entries, sets }
    }
    /// Returns the class of a packet, as given to [`Classifier::new`].
    #[inline]
    pub fn class(&self, packet: &Packet) -> usize {
        let set = match self.sets.get(packet.flow() as usize) {
            Some(set) => usize::from(*set) * self.entries,
            None => 0,
        };
        usize::from(self.tables[set + (index(packet) & (self.entries - 1))])
    }
}
