//! Imports between the modules of the crate go in one direction.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Modules, as paths such as `cc::bbr3::state`, and the modules that each imports.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Adds all source files below `folder`, with their text up to the unit tests; `prefix` is the module of the folder.
fn read(folder: &Path, prefix: &str, sources: &mut BTreeMap<String, String>) {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    for entry in entries.map(|entry| entry.expect("the entry can be read").path()) {
        let name = entry.file_stem().and_then(|stem| stem.to_str()).expect("names are UTF-8").to_owned();
        let module = if prefix.is_empty() { name.clone() } else { format!("{prefix}::{name}") };
        if entry.is_dir() {
            read(&entry, &module, sources);
        } else if !["lib", "tests"].contains(&name.as_str()) {
            let text = fs::read_to_string(&entry).expect("the source can be read");
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
            sources.insert(if name == "mod" { prefix.to_owned() } else { module }, code);
        }
    }
}

/// Expands a tree of imports such as `a::{b, c::d}` to its paths.
fn expand(tree: &str, before: &str, paths: &mut Vec<String>) {
    let Some((head, rest)) = tree.split_once('{') else {
        return paths.push(format!("{before}{tree}"));
    };
    let inner = rest.strip_suffix('}').expect("braces are balanced");
    let (mut depth, mut start) = (0, 0);
    for (i, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if start < i {
                    expand(&inner[start..i], &format!("{before}{head}"), paths);
                }
                start = i + 1;
            }
            _ => {}
        }
    }
}

/// Returns the imports of a source, as paths without white space.
fn imports(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    for statement in lines.join("\n").split(';') {
        let Some(at) = statement.rfind("use ") else { continue };
        let line = statement[..at].rsplit('\n').next().unwrap_or_default().trim();
        if line.is_empty() || line == "pub" || line == "pub(crate)" {
            let tree: String = statement[at + 4..].split_whitespace().collect();
            expand(&tree, "", &mut paths);
        }
    }
    paths
}

/// Returns the module that a path names from within `module`. `None`: one of another crate, or the root.
fn target(path: &str, module: &str, sources: &BTreeMap<String, String>) -> Option<String> {
    let mut parts: Vec<&str> = path.split("::").collect();
    let mut base: Vec<&str> = module.split("::").collect();
    let is_child = sources.contains_key(&format!("{module}::{}", parts[0]));
    match parts[0] {
        "crate" => base.clear(),
        "super" => {}
        _ if is_child => parts.insert(0, ""),
        _ => return None,
    }
    while parts.first() == Some(&"super") {
        base.pop();
        parts.remove(0);
        parts.insert(0, if parts.first() == Some(&"super") { "super" } else { "" });
        if parts[0] == "super" {
            parts.remove(0);
        }
    }
    let full: Vec<&str> = base.into_iter().chain(parts.into_iter().skip(1)).collect();
    (1..=full.len()).rev().map(|n| full[..n].join("::")).find(|name| sources.contains_key(name))
}

fn graph() -> Graph {
    let mut sources = BTreeMap::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut sources);
    let arrows = |(module, code): (&String, &String)| {
        let found = imports(code).into_iter().filter_map(|path| target(&path, module, &sources));
        (module.clone(), found.filter(|other| other != module).collect())
    };
    sources.iter().map(arrows).collect()
}

/// Returns a circle of imports that is reached from `module`.
fn circle(graph: &Graph, module: &str, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
    if let Some(at) = way.iter().position(|earlier| earlier == module) {
        return Some(way[at..].to_vec());
    }
    if !done.insert(module.to_owned()) {
        return None;
    }
    way.push(module.to_owned());
    let found = graph[module].iter().find_map(|next| circle(graph, next, way, done));
    way.pop();
    found
}

#[test]
fn no_circle_of_imports() {
    let graph = graph();
    let imports = |module: &str, other: &str| graph[module].contains(other);
    assert!(graph.len() > 45, "{} modules", graph.len());
    assert!(imports("params::tcp", "registry") && imports("registry", "cc::bbr3") && imports("cc::bbr3", "cc"));
    assert!(
        imports("sender::send", "sender") && imports("sender", "sender::board") && imports("params", "params::tcp")
    );
    let mut done = BTreeSet::new();
    for module in graph.keys() {
        assert_eq!(circle(&graph, module, &mut Vec::new(), &mut done), None);
    }
}
