//! `apply-groups`: inheritance of statements from groups, which explicit statements override.

use super::tree::{Id, ROOT, Tree};
use crate::Report;

/// Upper bound on the number of words inherited from groups.
const MAX_INHERITED: usize = 50_000;
/// Upper bound on the nodes of one group that match one node of the configuration.
const MAX_COUNTERPARTS: usize = 100;

/// Expands all applied groups.
pub(super) fn expand(tree: &mut Tree, report: &mut Report) {
    let mut budget = MAX_INHERITED;
    for place in 0..tree.len() {
        // Groups applied within a group are expanded at its place.
        if tree.front(place, 1) == ["groups"] {
            continue;
        }
        if let Some(except) = tree.child(place, "apply-groups-except") {
            tree.mark_all(except);
            let message = "`apply-groups-except` is not simulated: the groups that it excludes are applied";
            report.unsupported(tree.at(except), message, Some("paste `show configuration | display inheritance`"));
        }
        let Some(applied) = tree.child(place, "apply-groups") else { continue };
        tree.mark_all(applied);
        for name in tree.children(applied) {
            let (word, at) = (tree.word(name).to_owned(), tree.at(name));
            let Some(group) = tree.path(ROOT, &["groups", &word]) else {
                let advice = "paste the whole configuration, or `show configuration | display inheritance`";
                report.unsupported(at, format!("there is no group `{word}`"), Some(advice));
                continue;
            };
            let (sources, is_cut) = counterparts(tree, group, place);
            if is_cut {
                let message =
                    format!("more than {MAX_COUNTERPARTS} paths of `{word}` match one statement; the rest is left out");
                report.unsupported(at, message, Some("paste `show configuration | display inheritance`"));
            }
            for source in sources {
                merge(tree, source, place, &mut budget);
            }
        }
    }
    if budget == 0 {
        let message = format!("groups add more than {MAX_INHERITED} words to the configuration; the rest is left out");
        report.unsupported(crate::Place::default(), message, Some("paste `show configuration | display inheritance`"));
    }
    if let Some(groups) = tree.child(ROOT, "groups") {
        tree.mark_all(groups);
    }
}

/// Returns the nodes of a group whose path, with wildcards, matches that of a node of the configuration; `true`: there
/// are more than [`MAX_COUNTERPARTS`], and only some of them are returned.
fn counterparts(tree: &Tree, group: Id, place: Id) -> (Vec<Id>, bool) {
    let (mut at, mut is_cut) = (vec![group], false);
    for word in tree.front(place, usize::MAX) {
        let children = at.iter().flat_map(|id| tree.children(*id));
        at = children.filter(|id| matches_pattern(tree.word(*id), word)).collect();
        is_cut |= at.len() > MAX_COUNTERPARTS;
        at.truncate(MAX_COUNTERPARTS);
    }
    // Paths that are left out may not match further words, but that is not followed.
    (at, is_cut)
}

/// Adds the statements below `source`, a node of a group, to `target`; `budget` is the number of words that may be added.
fn merge(tree: &mut Tree, source: Id, target: Id, budget: &mut usize) {
    let mut todo = vec![(source, target)];
    while let Some((source, target)) = todo.pop() {
        if tree.node(source).ends {
            tree.end(target);
        }
        for child in tree.children(source) {
            if *budget == 0 {
                return;
            }
            *budget -= 1;
            let word = tree.word(child).to_owned();
            if word.starts_with('<') && word.ends_with('>') {
                for own in tree.children(target) {
                    if own != child && matches_pattern(&word, tree.word(own)) {
                        todo.push((child, own));
                    }
                }
            } else {
                let own = tree.inherit(target, &word, tree.at(child));
                todo.push((child, own));
            }
        }
    }
}

/// `true` if a word of a group, such as `<ge-*>`, matches a word.
fn matches_pattern(pattern: &str, word: &str) -> bool {
    match pattern.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        Some(pattern) => wildcard(pattern, word),
        None => pattern == word,
    }
}

/// `true` if a pattern matches a word; `*` matches any number of any characters.
pub(super) fn wildcard(pattern: &str, word: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = word.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            let Some(found) = rest.find(before) else { return false };
            rest = rest.get(found + before.len()..).unwrap_or_default();
        }
    }
    match last {
        None => rest.is_empty(),
        Some(part) => rest.ends_with(part),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_COUNTERPARTS, expand, wildcard};
    use crate::Report;

    #[test]
    fn matching_paths_of_a_group_that_are_left_out_are_reported() {
        let notices = |paths: usize| -> Vec<String> {
            // Each pattern matches the interface: `<g*>`, `<g**>` and so on.
            let patterns = (1..=paths).map(|n| format!("<g{}> {{ mtu {n}; }} ", "*".repeat(n)));
            let text = format!(
                "groups {{ all {{ interfaces {{ {}}} }} }}\ninterfaces {{ ge0 {{ apply-groups all; }} }}\n",
                patterns.collect::<String>()
            );
            let mut report = Report::default();
            let mut tree = crate::junos::read::read(&text, &mut report);
            expand(&mut tree, &mut report);
            report.notices().iter().map(|notice| notice.message.clone()).collect()
        };
        assert!(notices(MAX_COUNTERPARTS).is_empty());
        assert_eq!(
            notices(MAX_COUNTERPARTS + 1),
            ["more than 100 paths of `all` match one statement; the rest is left out"]
        );
    }

    #[test]
    fn a_star_matches_any_characters() {
        for (pattern, word, matches_pattern) in [
            ("*", "ge-0/0/0", true),
            ("ge-*", "ge-0/0/0", true),
            ("ge-*", "xe-0/0/0", false),
            ("ge-*/0", "ge-0/0/0", true),
            ("ge-*/1", "ge-0/0/0", false),
            ("ge-*/0/*", "ge-1/0/3", true),
            ("ge-0/0/0", "ge-0/0/0", true),
            ("ge-0/0/0", "ge-0/0/01", false),
        ] {
            assert_eq!(wildcard(pattern, word), matches_pattern, "{pattern} {word}");
        }
    }
}
