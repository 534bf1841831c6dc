//! The user-defined components of a document, wherever they are named.

use crate::complaint::{Complaint, On};
use crate::disciplines::{disciplines, each_discipline_mut};
use crate::document::{Document, Transport};
use tailback_document::Path;
use tailback_traffic::Model;
use tailback_transport::Cc;
use tailback_user::{Code, Factories, Parameter, Role};

/// Loads the components that a document names; returns the complaints about those that cannot be loaded.
pub(crate) fn load(document: &mut Document, factories: &dyn Factories) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    each_discipline_mut(document, |path, spec, limited| {
        spec.each_code(path, &mut |path, role, code| {
            complaints.extend(if limited { Some(refused(path)) } else { loaded(path, role, code, factories) });
        });
    });
    for (index, flow) in document.flows.iter_mut().enumerate() {
        let flow_path = Path::root().join("flows").join(index);
        if let Some(Model::User(code)) = &mut flow.source {
            complaints.extend(loaded(&flow_path.join("source"), Role::Source, code, factories));
        }
        if let Some(code) = flow.transport.as_mut().and_then(transport_code) {
            let path = flow_path.join("transport").join("congestion-control");
            complaints.extend(loaded(&path, Role::CongestionControl, code, factories));
        }
    }
    complaints
}

/// Passes each component that a document names to `f`.
pub(crate) fn each_code(document: &Document, mut f: impl FnMut(&Code)) {
    for (_, spec) in disciplines(document) {
        spec.clone().each_code(&Path::root(), &mut |_, _, code| f(code));
    }
    for flow in &document.flows {
        if let Some(Model::User(code)) = &flow.source {
            f(code);
        }
        let control = match &flow.transport {
            Some(Transport::Tcp(tcp)) => &tcp.congestion_control,
            Some(Transport::Rdma(rdma)) => &rdma.congestion_control,
            None => continue,
        };
        if let Cc::User(code) = control {
            f(code);
        }
    }
}

/// Returns the user-defined congestion control of a transport.
fn transport_code(transport: &mut Transport) -> Option<&mut Code> {
    let control = match transport {
        Transport::Tcp(tcp) => &mut tcp.congestion_control,
        Transport::Rdma(rdma) => &mut rdma.congestion_control,
    };
    if let Cc::User(code) = control { Some(code) } else { None }
}

/// Loads a component; returns a complaint if it cannot be loaded.
fn loaded(path: &Path, role: Role, code: &mut Code, factories: &dyn Factories) -> Option<Complaint> {
    if code.check().is_err() {
        // Reported with the other parameters.
        return None;
    }
    match factories.load(role, code) {
        Ok(loaded) => {
            code.loaded = Some(loaded);
            None
        }
        Err(error) => {
            let path = path.join(error.key);
            let (path, on) = match error.parameter {
                None => (path, On::Value),
                Some(Parameter::Unknown(name)) => (path.join(name), On::Key),
                Some(Parameter::Invalid(name)) => (path.join(name), On::Value),
            };
            Some(Complaint { path, on, message: error.message, help: Some(error.help) })
        }
    }
}

/// Returns the complaint about a law in the discipline of rate limiters.
fn refused(path: &Path) -> Complaint {
    let message = "rate limiters make their queues during a run, and a user's law is made at the start".to_owned();
    let help = Some("write a discipline of another kind".to_owned());
    Complaint { path: path.join("kind"), on: On::Value, message, help }
}
