//! Presets of transports: defaults of a system, added to the tree of a document before it is decoded.

use serde_json::Value;
use std::borrow::Cow;
use tailback_transport::Preset;

/// Returns the tree with the defaults of the presets that its transports name.
pub(crate) fn completed(tree: &Value) -> Cow<'_, Value> {
    let names_one = |flow: &Value| flow.pointer("/transport/preset").is_some();
    if !flows(tree).is_some_and(|flows| flows.iter().any(names_one)) {
        return Cow::Borrowed(tree);
    }
    let mut tree = tree.clone();
    for flow in tree.get_mut("flows").and_then(Value::as_array_mut).into_iter().flatten() {
        let tcp = flow.pointer("/transport/kind").and_then(Value::as_str) == Some("tcp");
        if let Some(Value::Object(transport)) = flow.get_mut("transport").filter(|_| tcp) {
            Preset::complete(transport);
        }
    }
    Cow::Owned(tree)
}

/// Returns the flow groups of a tree; `None`: there are none.
fn flows(tree: &Value) -> Option<&Vec<Value>> {
    tree.get("flows")?.as_array()
}
