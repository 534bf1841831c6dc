//! Differences between two plans, as changes that turn a running network of the first plan into one of the second.

use super::{
    BackPressure, ChangeKind, Detection, Fabric, FlowPlan, LinkPlan, NodeId, NodeKind, NodePlan, Plan, QueuePlan,
    SharedBufferPlan, SwitchPlan, port_names,
};
use std::sync::Arc;
use tailback_qdisc::congestion_notification::LimitersSpec;
use tailback_transport::Tcp;

/// Part of a plan that differs and that cannot change while a network runs, in words, such as "routes".
pub type Fixed = String;

/// Returns the changes that turn a running network of the plan `from` into one of `to`: those of nodes, then of links,
/// then of flows, each by index. Timeline, tunable parts and trace are not compared.
///
/// # Errors
/// The first part in which the plans differ and that is fixed while a network runs: for example its structure, the
/// format of packets, the statistics that are measured, or the kind of a discipline or law.
pub fn changes(from: &Plan, to: &Plan) -> Result<Vec<ChangeKind>, Fixed> {
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
        timeline: _,
        tunable: _,
        trace: _,
        engine,
    } = from;
    let from_run = (seed, warmup, end, sample, per_flow_delay, delay_variation, engine);
    let same_run = from_run
        == (&to.seed, &to.warmup, &to.end, &to.sample, &to.per_flow_delay, &to.delay_variation, &to.engine)
        && *record == to.record;
    fixed(same_run, || "the length, the seed and the recording of the run".into())?;
    fixed((framing, classes) == (&to.framing, &to.classes), || "framing and the number of classes".into())?;
    fixed(applications == &to.applications, || "applications".into())?;
    fixed(conditioners == &to.conditioners, || "conditioners".into())?;
    fixed(labels == &to.labels, || "MPLS labels".into())?;
    fixed(nodes.len() == to.nodes.len() && links.len() == to.links.len() && flows.len() == to.flows.len(), || {
        "the number of nodes, links and flows".into()
    })?;
    fixed(routes == &to.routes, || "routes".into())?;
    let mut found = Vec::new();
    for (node, (from, to)) in (0..).zip(nodes.iter().zip(&to.nodes)) {
        node_changes(node, from, to, &mut found)?;
    }
    let names = port_names(nodes, links);
    for (link, (from, to)) in (0..).zip(links.iter().zip(&to.links)) {
        link_changes(link, from, to, &names[2 * link as usize..], &mut found)?;
    }
    for (flow, (from, to)) in (0..).zip(flows.iter().zip(&to.flows)) {
        flow_changes(flow, from, to, &mut found)?;
    }
    Ok(found)
}

/// Returns `what` as an error unless `same`.
fn fixed(same: bool, what: impl FnOnce() -> String) -> Result<(), Fixed> {
    if same { Ok(()) } else { Err(what()) }
}

/// Adds the changes of a node to `found`; an error names what is fixed.
fn node_changes(node: NodeId, from: &NodePlan, to: &NodePlan, found: &mut Vec<ChangeKind>) -> Result<(), Fixed> {
    if from == to {
        return Ok(());
    }
    let name = &from.name;
    // A difference that remains after all tunable parameters have been made equal is fixed.
    let mut retuned = from.clone();
    match (&mut retuned.kind, &to.kind) {
        (NodeKind::Host(retuned), NodeKind::Host(to)) => {
            limiters_changes(node, name, retuned.limiters.as_deref(), to.limiters.as_deref(), found)?;
            retuned.limiters.clone_from(&to.limiters);
        }
        (NodeKind::Switch(retuned), NodeKind::Switch(to)) => {
            switch_changes(node, name, retuned, to, found)?;
            retuned.limiters.clone_from(&to.limiters);
            retuned.notification.clone_from(&to.notification);
            retuned.fabric = to.fabric.clone();
            if let (Some(retuned), Some(to)) = (&mut retuned.backpressure, &to.backpressure)
                && same_kind(&retuned.detection, &to.detection)
            {
                retuned.detection = to.detection;
            }
        }
        _ => {}
    }
    fixed(retuned == *to, || format!("`{name}`, except its thresholds, its memory and its laws' parameters"))
}

/// Returns `true` if two detections differ at most in their thresholds.
fn same_kind(from: &Detection, to: &Detection) -> bool {
    match (from, to) {
        (Detection::Watermark { .. }, Detection::Watermark { .. }) => true,
        (
            Detection::FillRate { window, horizon, .. },
            Detection::FillRate { window: to_window, horizon: to_horizon, .. },
        ) => (window, horizon) == (to_window, to_horizon),
        _ => false,
    }
}

/// Returns the thresholds `high` and `low`, fractions of the limit.
fn thresholds(law: &BackPressure) -> (f64, f64) {
    let (Detection::Watermark { high, low } | Detection::FillRate { high, low, .. }) = law.detection;
    (high, low)
}

/// Adds the changes of a switch to `found`. Differences other than those of fabric, notification and limiters are left
/// to [`node_changes`], which refuses them.
fn switch_changes(
    node: NodeId,
    name: &str,
    from: &SwitchPlan,
    to: &SwitchPlan,
    found: &mut Vec<ChangeKind>,
) -> Result<(), Fixed> {
    if from.fabric != to.fabric {
        fixed(has_tunable_memory(&from.fabric, &to.fabric), || format!("the model of `{name}`, except its memory"))?;
        found.push(ChangeKind::Memory { node, fabric: to.fabric.clone() });
    }
    if let (Some(old), Some(new)) = (&from.backpressure, &to.backpressure) {
        let (high, low) = thresholds(new);
        if thresholds(old) != (high, low) {
            found.push(ChangeKind::Thresholds { node, high, low });
        }
    }
    match (from.notification.as_deref(), to.notification.as_deref()) {
        (Some(from), Some(to)) if from != to => {
            let refused = |invalid| format!("the congestion points of `{name}`: {invalid}");
            from.check_retune(to).map_err(refused)?;
            found.push(ChangeKind::CongestionPoints { node, law: Box::new(to.clone()) });
        }
        (from, to) => fixed(from == to, || format!("the kind of the congestion points of `{name}`"))?,
    }
    limiters_changes(node, name, from.limiters.as_deref(), to.limiters.as_deref(), found)
}

/// Returns `true` if two fabrics differ at most in the size of their memory or in its thresholds.
fn has_tunable_memory(from: &Fabric, to: &Fabric) -> bool {
    match (from, to) {
        (Fabric::SharedMemory { .. }, Fabric::SharedMemory { .. }) => true,
        (Fabric::SharedBuffer(from), Fabric::SharedBuffer(to)) => {
            // Reserves and headroom are fixed: packets in them are already accounted to their inputs.
            let SharedBufferPlan { memory: _, shift: _, reserve, resume: _, headroom } = from;
            (reserve, headroom) == (&to.reserve, &to.headroom)
        }
        (Fabric::InputFifo { .. }, Fabric::InputFifo { .. }) => true,
        (
            Fabric::VirtualOutputQueues { output_buffer, speedup, .. },
            Fabric::VirtualOutputQueues { output_buffer: to_output_buffer, speedup: to_speedup, .. },
        ) => (output_buffer, speedup) == (to_output_buffer, to_speedup),
        _ => false,
    }
}

/// Adds the change of a node's rate limiters to `found`.
fn limiters_changes(
    node: NodeId,
    name: &str,
    from: Option<&LimitersSpec>,
    to: Option<&LimitersSpec>,
    found: &mut Vec<ChangeKind>,
) -> Result<(), Fixed> {
    match (from, to) {
        (Some(from), Some(to)) if from != to => {
            from.check_retune(to).map_err(|invalid| format!("the rate limiters of `{name}`: {invalid}"))?;
            found.push(ChangeKind::RateLimiters { node, limiters: Box::new(to.clone()) });
            Ok(())
        }
        (from, to) => fixed(from.is_some() == to.is_some(), || format!("the rate limiters of `{name}`")),
    }
}

/// Adds the changes of a link to `found`; `names` are the names of its two ports.
fn link_changes(
    link: u32,
    from: &LinkPlan,
    to: &LinkPlan,
    names: &[String],
    found: &mut Vec<ChangeKind>,
) -> Result<(), Fixed> {
    if from == to {
        return Ok(());
    }
    // The pattern names every field, so that a new field cannot be forgotten.
    let LinkPlan { ends, rate, delay, loss, jitter, accounting, queue } = from;
    fixed((ends, accounting) == (&to.ends, &to.accounting), || format!("the ends and the accounting of {}", names[0]))?;
    if *rate != to.rate {
        found.push(ChangeKind::LinkRates(link, to.rate));
    }
    if *delay != to.delay {
        found.push(ChangeKind::LinkDelay(link, to.delay));
    }
    if *loss != to.loss {
        found.push(ChangeKind::LinkLoss(link, to.loss));
    }
    if *jitter != to.jitter {
        found.push(ChangeKind::LinkJitter(link, to.jitter));
    }
    for (side, (from, to)) in (0..).zip(queue.iter().zip(&to.queue)) {
        if from != to {
            queue_is_tunable(from, to).map_err(|what| format!("{what} of {}", names[side as usize]))?;
            found.push(ChangeKind::Queue { port: 2 * link + side, queue: Box::new(to.clone()) });
        }
    }
    Ok(())
}

/// Returns an error if two queues differ in more than limits and parameters.
fn queue_is_tunable(from: &QueuePlan, to: &QueuePlan) -> Result<(), Fixed> {
    let QueuePlan { discipline, limits, places, ring, shaper } = from;
    fixed(limits.len() == to.limits.len() && places.len() == to.places.len(), || "the number of classes".into())?;
    fixed(*ring == to.ring, || "the transmit ring".into())?;
    let accounting = |queue: &QueuePlan| queue.shaper.map(|shaper| shaper.accounting);
    fixed(shaper.is_some() == to.shaper.is_some() && accounting(from) == accounting(to), || {
        "the presence and the accounting of the shaper".into()
    })?;
    discipline.check_retune(&to.discipline).map_err(|invalid| format!("the discipline ({invalid})"))
}

/// Adds the change of a flow's source to `found`.
fn flow_changes(flow: u32, from: &FlowPlan, to: &FlowPlan, found: &mut Vec<ChangeKind>) -> Result<(), Fixed> {
    if Arc::ptr_eq(&from.kind, &to.kind) && from == to {
        return Ok(());
    }
    let mut retuned = from.clone();
    if retuned.model != to.model {
        fixed(std::mem::discriminant(&retuned.model) == std::mem::discriminant(&to.model), || {
            format!("the kind of the source of `{}`", from.name())
        })?;
        found.push(ChangeKind::Source { flow, model: Box::new(to.model.clone()) });
        retuned.model = to.model.clone();
    }
    // A changed line rate is no difference: a sender keeps the rate for which it was configured, as an adapter does.
    if let (Some(old), Some(new)) = (&retuned.transport, &to.transport)
        && old.line != new.line
    {
        retuned.transport = Some(Arc::new(Tcp { line: new.line, ..Tcp::clone(old) }));
    }
    fixed(retuned == *to, || format!("the flow `{}`, except its source's parameters", from.name()))
}
