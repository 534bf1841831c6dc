//! Hash of a document's effect: documents with equal hashes give equal results, even if they differ.

use crate::document::Document;
use core::fmt::{self, Debug, Write};
use core::hash::Hasher;
use siphasher::sip128::{Hash128, Hasher128, SipHasher24};
use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_sim::plan::{FlowKind, FlowPlan, Plan};

/// Returns the SipHash-2-4 of the plan, of title and description, and of the settings of replications: 128 bits in
/// hexadecimal. Unused settings, such as `network.buffer` if every switch has a buffer of its own, do not change this
/// hash.
pub(crate) fn hash(document: &Document, plan: &Plan) -> String {
    let mut text = DebugHasher(SipHasher24::new());
    // The pattern names every field, so that a new field cannot be forgotten.
    let Plan {
        nodes,
        links,
        flows,
        applications,
        routes,
        framing,
        classes,
        seed,
        warmup,
        end,
        sample,
        per_flow_delay,
        delay_variation,
        record,
        conditioners,
        labels,
        timeline,
        // A tunable key has no effect until it is changed, and a trace changes no result.
        tunable: _,
        trace: _,
        engine,
    } = plan;
    text.add(&(nodes, links, applications, routes, framing, classes, seed, warmup, end, sample));
    text.add(&(per_flow_delay, delay_variation, record, conditioners, labels, timeline, engine));
    // A description that several flows share is hashed once, since there may be 100,000 flows.
    let mut kinds: BTreeMap<*const FlowKind, usize> = BTreeMap::new();
    for FlowPlan { name, from, to, start, kind } in flows {
        let next = kinds.len();
        let number = *kinds.entry(Arc::as_ptr(kind)).or_insert(next);
        text.add(&(name, from, to, start, number));
        if number == next {
            text.add(kind);
        }
    }
    let run = &document.run;
    text.add(&(&document.title, &document.description, run.warmup, run.replications, run.confidence, &run.precision));
    let Hash128 { h1, h2 } = text.0.finish128();
    format!("{h1:016x}{h2:016x}")
}

/// Hashes the `Debug` form of values, which includes every field, without storing the text.
struct DebugHasher(SipHasher24);

impl DebugHasher {
    fn add(&mut self, value: &impl Debug) {
        // Writing to a hasher does not fail.
        let _ = write!(self, "{value:?};");
    }
}

impl fmt::Write for DebugHasher {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
