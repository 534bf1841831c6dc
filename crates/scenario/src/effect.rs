//! What a document amounts to: equal effects give equal results, however differently the documents are written.

use crate::document::Document;
use core::fmt::{self, Debug, Write};
use core::hash::Hasher;
use siphasher::sip128::{Hash128, Hasher128, SipHasher24};
use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_sim::plan::{FlowKind, FlowPlan, Plan};

/// SipHash-2-4 of a plan and of what of the document is used besides: 128 bits in hexadecimal. Settings that nothing
/// goes by, such as `network.buffer` where every switch has its own, change the document and not this.
pub(crate) fn hash(document: &Document, plan: &Plan) -> String {
    let mut text = Text(SipHasher24::new());
    // Each field by name, so that one that is added is not forgotten.
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
        conditioners,
        labels,
        timeline,
        engine,
    } = plan;
    text.add(&(nodes, links, applications, routes, framing, classes, seed, warmup, end, sample));
    text.add(&(per_flow_delay, delay_variation, conditioners, labels, timeline, engine));
    // What flows have in common is written once, or a hundred thousand of them would take long.
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

/// Takes in the debugging form of values, which tells every field, without keeping it.
struct Text(SipHasher24);

impl Text {
    fn add(&mut self, value: &impl Debug) {
        // A hasher takes any text.
        let _ = write!(self, "{value:?};");
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
