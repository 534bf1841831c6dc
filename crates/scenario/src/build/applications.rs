//! Applications: their flows become client-server sessions with additional flows for responses, or connections that
//! carry one transfer after another.

use super::builder::Builder;
use super::flows::MAX_FLOWS;
use crate::document::FlowGroup;
use std::sync::Arc;
use tailback_document::{Checked, Path};
use tailback_sim::plan::{ApplicationPlan, FlowKind, FlowName, FlowPlan};
use tailback_transport::Tcp;

impl Builder<'_> {
    /// Checks the requirements of an application beyond its own parameters.
    pub(super) fn check_application(&mut self, path: &Path, group: &FlowGroup) {
        let Some(application) = &group.application else { return };
        let responses = response_group(&group.name);
        if application.pages().is_some() && self.document.flows.iter().any(|other| other.name == responses) {
            self.complaints.value(
                path.join("name"),
                format!(
                    "the responses of `{}` are reported under the name `{responses}`, which is also the name of another group",
                    group.name
                ),
                "rename one of the two",
            );
        }
        let path = path.join("application");
        self.complaints.invalid(&path, application.check());
        if group.transport.is_some() {
            return;
        }
        match application.pages() {
            None => self.complaints.value(
                path,
                "the application opens a connection for each transfer, but these flows have no transport",
                "add `transport = { kind = \"tcp\" }`, or use the source \"poisson\" to send datagrams",
            ),
            Some(pages) if pages.timeout.is_none() => self.complaints.value(
                path,
                "without a transport losses are not retransmitted, and the client would wait for ever",
                "add a `timeout`, such as `timeout = \"1s\"`, or `transport = { kind = \"tcp\" }`",
            ),
            Some(_) => {}
        }
    }

    /// Returns the plans of all applications. Appends to `flows` the flows that carry responses, and those of a client's
    /// further connections, so that the numbers of the existing flows do not change.
    pub(super) fn applications(&mut self, flows: &mut Vec<FlowPlan>) -> Vec<ApplicationPlan> {
        let mut applications = Vec::new();
        let existing = flows.len();
        for group in &self.document.flows {
            let Some(application) = group.application.as_ref().filter(|application| application.check().is_ok()) else {
                // There is no application, or it was refused.
                continue;
            };
            let law = Arc::new(application.clone());
            let group_flows: Vec<u32> =
                (0..existing as u32).filter(|flow| flows[*flow as usize].group == group.name).collect();
            if group_flows.is_empty() {
                // The group's hosts were refused.
                continue;
            }
            let Some(pages) = application.pages() else {
                applications.push(ApplicationPlan::Transfers { law, flows: group_flows });
                continue;
            };
            let additional = group_flows.len() * (2 * pages.parallel as usize - 1);
            if flows.len() + additional > MAX_FLOWS {
                self.complaints.value(
                    Path::root().join("flows"),
                    format!(
                        "`{}` requires {additional} additional flows for its responses and connections",
                        group.name
                    ),
                    format!("the limit is {MAX_FLOWS} flows; lower the number of users or of their connections"),
                );
                continue;
            }
            // Equal requests share one description of their responses: the last one is reused.
            let mut last_kinds: Option<[Arc<FlowKind>; 2]> = None;
            for user in group_flows {
                let mut channels = Vec::new();
                for connection in 0..pages.parallel {
                    let plan = flows[user as usize].clone();
                    let name = if pages.parallel == 1 {
                        plan.name().to_string()
                    } else {
                        format!("{} connection {}", plan.name(), connection + 1)
                    };
                    let own_name = |name: String| FlowName::Own(Arc::new(name));
                    let request = if connection == 0 {
                        user
                    } else {
                        flows.push(FlowPlan { name: own_name(name.clone()), ..plan.clone() });
                        (flows.len() - 1) as u32
                    };
                    let kind = match &last_kinds {
                        Some([requests, kind]) if Arc::ptr_eq(requests, &plan.kind) => kind.clone(),
                        _ => Arc::new(response_kind(&plan.kind)),
                    };
                    last_kinds = Some([plan.kind.clone(), kind.clone()]);
                    let name = own_name(format!("{name} response"));
                    flows.push(FlowPlan { name, from: plan.to, to: plan.from, start: plan.start, kind });
                    channels.push([request, (flows.len() - 1) as u32]);
                }
                applications.push(ApplicationPlan::Session { law: law.clone(), channels });
            }
        }
        applications
    }
}

/// Returns the parameters that the responses to these requests share.
fn response_kind(requests: &FlowKind) -> FlowKind {
    // The handshake of the requests opens the connection in both directions.
    let opened = |tcp: &Arc<Tcp>| Arc::new(Tcp { handshake: false, ..(**tcp).clone() });
    FlowKind {
        group: response_group(&requests.group),
        among: None,
        transport: requests.transport.as_ref().map(opened),
        ..requests.clone()
    }
}

/// Returns the name of the group of the responses.
fn response_group(group: &str) -> String {
    format!("{group} response")
}
