//! Compilation of a document into a plan: names become indices and patterns become lists; invalid combinations are
//! refused with advice.
//!
//! The stages are, in this order: settings, nodes, switches, links, queues, congestion notification, routes, samples,
//! flows, class maps, conditioners, labels, applications, timeline. After an error, a stage continues as long as its
//! later checks are still meaningful, so that a user gets all independent errors at once, without those that merely
//! follow from another.

mod applications;
mod builder;
mod class_maps;
mod conditioners;
mod fabric;
mod flows;
mod labels;
mod lines;
mod links;
mod nodes;
mod notification;
mod paths;
mod places;
mod queues;
mod routes;
mod settings;
mod switches;
mod timeline;

pub(crate) use places::{ExpandedDocument, Places};
pub(crate) use settings::CONFIDENCES;

use crate::complaint::{Complaint, Complaints};
use crate::document::{self, Document, Engine, RecordName, Warmup};
use builder::Builder;
use tailback_document::Path;
use tailback_sim::plan::{self, Plan};
use tailback_units::{Dur, Size, Time};

/// Returns the plan of a document, with the document's own seed and engine; otherwise all errors.
pub(crate) fn plan(document: &Document) -> Result<Plan, Vec<Complaint>> {
    let mut complaints = Complaints::default();
    let document = &*fabric::expand(document, &mut complaints);
    if !complaints.is_empty() {
        return Err(complaints.into_vec());
    }
    let mut builder = Builder { document, complaints };
    let framing = builder.settings();
    let before = builder.complaints.count();
    let nodes = builder.nodes();
    let nodes_sound = builder.complaints.count() == before;
    let switches = builder.switches(&nodes, &framing);
    if !nodes_sound {
        // Later stages would only report consequences of the errors found so far.
        return Err(builder.complaints.into_vec());
    }
    let before = builder.complaints.count();
    let links = builder.links(&nodes);
    let mut queues = builder.queues(&nodes, &links, &framing);
    builder.check_notification(&nodes, &links, &framing);
    let links_sound = builder.complaints.count() == before;
    let routes = if links_sound { builder.routes(&nodes, &links) } else { None };
    builder.check_samples(links.len());
    let before = builder.complaints.count();
    let mut flows = builder.flows(&nodes, &links, routes.as_ref());
    let flows_sound = builder.complaints.count() == before;
    let mut node_plans = nodes.plans(switches);
    if flows_sound {
        builder.class_maps(&flows, &mut queues, &mut node_plans);
    }
    let conditioners = builder.conditioners(&nodes, &links, &flows);
    let labels = builder.labels(&nodes, &links, &framing);
    let applications = builder.applications(&mut flows);
    let timeline = builder.timeline(&nodes, &links, &flows, flows_sound);
    if !builder.complaints.is_empty() {
        return Err(builder.complaints.into_vec());
    }
    let places: Vec<Path> = nodes.list.iter().map(nodes::Node::path).collect();
    let plan = Plan {
        nodes: node_plans,
        links: links.into_iter().zip(queues).map(|(link, queue)| link.plan(queue)).collect(),
        flows,
        applications,
        routes: routes.unwrap_or_default(),
        framing: framing.plan(),
        classes: document.network.classes,
        seed: document.run.seed,
        warmup: match document.run.warmup {
            Warmup::Auto => Time::ZERO,
            Warmup::At(Dur(ps)) => Time(ps),
        },
        end: Time(document.run.duration.0),
        sample: document.run.sample,
        per_flow_delay: document.run.per_flow_delay,
        delay_variation: document.run.delay_variation,
        record: record(&document.run),
        conditioners,
        labels,
        timeline,
        tunable: plan::Tunable::default(),
        trace: None,
        engine: match document.run.engine {
            Engine::Merged => plan::Engine::Merged,
            Engine::Plain => plan::Engine::Plain,
        },
    };
    let complaints = set_aside(&plan, &places);
    if complaints.is_empty() { Ok(plan) } else { Err(complaints.into_vec()) }
}

/// Returns the plan of the records that `[run]` selects.
fn record(run: &document::Run) -> plan::Record {
    let kind = |name: &RecordName| match name {
        RecordName::Transfers => plan::RecordKind::Transfers,
        RecordName::TransportChanges => plan::RecordKind::TransportChanges,
        RecordName::ThroughputByFlow => plan::RecordKind::ThroughputByFlow,
        RecordName::QueueByFlow => plan::RecordKind::QueueByFlow,
        RecordName::QueueExtremes => plan::RecordKind::QueueExtremes,
        RecordName::DelayDistribution => plan::RecordKind::DelayDistribution,
    };
    plan::Record::of(run.record.iter().map(kind), run.record_limit as usize)
}

/// Checks that memory accounted by ingress holds the reserves and the headroom of all inputs. The check needs the whole
/// plan, since the headroom depends on the links. `places` has the paths of the nodes, by number.
fn set_aside(plan: &Plan, places: &[Path]) -> Complaints {
    let mut complaints = Complaints::default();
    for (node, place) in (0..).zip(places) {
        if let Some((memory, aside)) = tailback_sim::set_aside(plan, node)
            && aside > memory
        {
            complaints.value(
                place.join("model").join("memory"),
                format!(
                    "the reserves and headroom of all inputs and classes need {}, more than the memory",
                    Size(aside)
                ),
                format!("write \"{}\" or more, or lower `reserve` or `headroom`", Size(aside)),
            );
        }
    }
    complaints
}
