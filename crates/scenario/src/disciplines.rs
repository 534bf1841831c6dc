//! The queue disciplines of a document, wherever they are written.

use crate::document::{Document, RateLimiters};
use tailback_document::Path;
use tailback_qdisc::Spec;

/// Returns every discipline of the document with its path.
pub(crate) fn disciplines<'a>(document: &'a Document) -> impl Iterator<Item = (Path, &'a Spec)> {
    let network = (Path::root().join("network").join("discipline"), &document.network.discipline);
    let switches = document.switches.iter().flat_map(|(name, switch)| {
        let path = Path::root().join("switches").join(name.as_str());
        let own = switch.discipline.iter().map({
            let path = path.join("discipline");
            move |spec| (path.clone(), spec)
        });
        let ports = switch.ports.iter().filter_map(move |(neighbour, port)| {
            let path = path.join("ports").join(neighbour.as_str()).join("discipline");
            Some((path, port.discipline.as_ref()?))
        });
        own.chain(ports)
    });
    let limited = |node: Path, limiters: &'a Option<RateLimiters>| {
        Some((node.join("rate-limiters").join("discipline"), &limiters.as_ref()?.discipline))
    };
    let at_switches = document.switches.iter().filter_map(move |(name, switch)| {
        limited(Path::root().join("switches").join(name.as_str()), &switch.rate_limiters)
    });
    let at_hosts = document
        .hosts
        .iter()
        .filter_map(move |(name, host)| limited(Path::root().join("hosts").join(name.as_str()), &host.rate_limiters));
    [network].into_iter().chain(switches).chain(at_switches).chain(at_hosts)
}

/// Passes every discipline of the document to `f` with its path, those of rate limiters last. The last argument is `true` for
/// a discipline of rate limiters.
pub(crate) fn each_discipline_mut(document: &mut Document, mut f: impl FnMut(&Path, &mut Spec, bool)) {
    let root = Path::root();
    f(&root.join("network").join("discipline"), &mut document.network.discipline, false);
    for (name, switch) in &mut document.switches {
        let path = root.join("switches").join(name.as_str());
        if let Some(spec) = &mut switch.discipline {
            f(&path.join("discipline"), spec, false);
        }
        for (neighbour, port) in &mut switch.ports {
            if let Some(spec) = &mut port.discipline {
                f(&path.join("ports").join(neighbour.as_str()).join("discipline"), spec, false);
            }
        }
    }
    let switches = document.switches.iter_mut().map(|(name, switch)| ("switches", name, &mut switch.rate_limiters));
    let hosts = document.hosts.iter_mut().map(|(name, host)| ("hosts", name, &mut host.rate_limiters));
    for (section, name, limiters) in switches.chain(hosts) {
        if let Some(limiters) = limiters {
            let path = root.join(section).join(name.as_str()).join("rate-limiters").join("discipline");
            f(&path, &mut limiters.discipline, true);
        }
    }
}
