//! The statements of a configuration as a tree of words.
//!
//! `a b { c d; }` and `set a b c d` are the same path a, b, c, d, so that both notations, and mixtures of them, give
//! the same tree. Readers mark the nodes that they support; unmarked ones are reported (`rest.rs`).

use crate::Place;
use std::collections::BTreeMap;

/// Index of a node in the tree.
pub(super) type Id = usize;
/// Index of the root.
pub(super) const ROOT: Id = 0;

/// A word of a statement.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Word.
    pub word: String,
    /// First place in the text.
    pub at: Place,
    /// Parent node.
    pub parent: Id,
    children: Vec<Id>,
    /// `true` if a statement ends here.
    pub ends: bool,
    /// `true` if it was deactivated.
    pub inactive: bool,
    /// `true` if a reader supports it.
    pub used: bool,
    /// Position of the last occurrence, counted in words; 0: inherited from a group. The last value of an option
    /// applies.
    touched: u32,
}

/// An option and the words after it.
#[derive(Debug)]
pub(super) struct Clause {
    pub key: Id,
    pub words: Vec<Id>,
}

/// In place of the number of words after a keyword: its reader parses the subtree itself.
pub(super) const OPAQUE: usize = usize::MAX;

/// The tree.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Nodes by parent and word.
    index: BTreeMap<(Id, String), Id>,
    /// Number of words entered so far.
    clock: u32,
}

impl Tree {
    pub fn new() -> Tree {
        Tree { nodes: vec![Node::default()], index: BTreeMap::new(), clock: 0 }
    }
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    pub fn node(&self, id: Id) -> &Node {
        self.nodes.get(id).unwrap_or(&NOTHING)
    }
    pub fn word(&self, id: Id) -> &str {
        &self.node(id).word
    }
    pub fn at(&self, id: Id) -> Place {
        self.node(id).at
    }
    /// Returns the child node of a word, which is added if missing. Words of a drop profile's lists may repeat: each
    /// occurrence is a node of its own.
    pub fn enter(&mut self, parent: Id, word: &str, at: Place) -> Id {
        self.clock = self.clock.saturating_add(1);
        let repeats = matches!(self.word(parent), "fill-level" | "drop-probability")
            && self.word(self.node(parent).parent) == "interpolate";
        let key = (parent, word.to_owned());
        if !repeats && let Some(known) = self.index.get(&key).copied() {
            let clock = self.clock;
            if let Some(node) = self.nodes.get_mut(known) {
                node.touched = clock;
            }
            return known;
        }
        let id = self.nodes.len();
        self.nodes.push(Node { word: word.to_owned(), at, parent, touched: self.clock, ..Node::default() });
        if let Some(node) = self.nodes.get_mut(parent) {
            node.children.push(id);
        }
        let _ = self.index.insert(key, id);
        id
    }
    /// Records that a statement ends at a node.
    pub fn end(&mut self, id: Id) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.ends = true;
        }
    }
    /// Deactivates or activates the statement at a node.
    pub fn set_inactive(&mut self, id: Id, inactive: bool) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.inactive = inactive;
        }
    }
    /// Removes a node and its subtree.
    pub fn remove(&mut self, id: Id) {
        let parent = self.node(id).parent;
        if let Some(node) = self.nodes.get_mut(parent) {
            node.children.retain(|child| *child != id);
        }
        let key = (parent, self.word(id).to_owned());
        if self.index.get(&key) == Some(&id) {
            let _ = self.index.remove(&key);
        }
        self.mark_all(id);
    }
    /// Returns the child node of a word from a group, which is added if missing; values of explicit statements override
    /// it.
    pub fn inherit(&mut self, parent: Id, word: &str, at: Place) -> Id {
        let known = self.nodes.len();
        let id = self.enter(parent, word, at);
        if id >= known
            && let Some(node) = self.nodes.get_mut(id)
        {
            node.touched = 0;
        }
        id
    }
    /// Returns the children of a node that are not deactivated.
    pub fn children(&self, id: Id) -> Vec<Id> {
        self.node(id).children.iter().copied().filter(|child| !self.node(*child).inactive).collect()
    }
    /// Returns all children of a node, including deactivated ones.
    pub fn all_children(&self, id: Id) -> &[Id] {
        &self.node(id).children
    }
    /// Returns the child node of a word; `None`: missing or deactivated.
    pub fn child(&self, id: Id, word: &str) -> Option<Id> {
        let found = self.index.get(&(id, word.to_owned())).copied()?;
        (!self.node(found).inactive).then_some(found)
    }
    /// Returns the node at the end of a path; `None`: missing, or deactivated at any level.
    pub fn path(&self, from: Id, words: &[&str]) -> Option<Id> {
        words.iter().try_fold(from, |at, word| self.child(at, word))
    }
    /// Marks a node as supported.
    pub fn mark(&mut self, id: Id) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.used = true;
        }
    }
    /// Marks a node and its subtree as supported.
    pub fn mark_all(&mut self, id: Id) {
        let mut todo = vec![id];
        while let Some(next) = todo.pop() {
            self.mark(next);
            todo.extend(self.node(next).children.iter().copied());
        }
    }
    /// Returns the last value of an option, and marks all its values as supported.
    pub fn value(&mut self, id: Id) -> Option<Id> {
        let children = self.children(id);
        for child in &children {
            self.mark(*child);
        }
        children.into_iter().max_by_key(|child| self.node(*child).touched)
    }
    /// Returns the options of a container, each with the words after it, the last value of an option at the end. A line
    /// may hold several options (`set … bandwidth-limit 1m burst-size-limit 15k`), so a keyword after a value is an
    /// option of the same container. `keywords` gives the minimum number of values of each keyword. Options and their
    /// words are marked as supported; words that are not keywords are not.
    pub fn clauses(&mut self, container: Id, keywords: &[(&str, usize)]) -> Vec<Clause> {
        let takes = |word: &str| keywords.iter().find(|(own, _)| *own == word).map(|(_, takes)| *takes);
        let mut found = Vec::new();
        let mut todo: Vec<Id> = self.children(container);
        todo.reverse();
        while let Some(key) = todo.pop() {
            let Some(least) = takes(self.word(key)) else { continue };
            let mut clause = Clause { key, words: Vec::new() };
            if least != OPAQUE {
                self.mark(key);
                let mut inside: Vec<(Id, usize)> = self.by_age(key).into_iter().rev().map(|id| (id, 0)).collect();
                while let Some((word, depth)) = inside.pop() {
                    if depth >= least && takes(self.word(word)).is_some() {
                        todo.push(word);
                        continue;
                    }
                    self.mark(word);
                    clause.words.push(word);
                    inside.extend(self.by_age(word).into_iter().rev().map(|id| (id, depth + 1)));
                }
            }
            found.push(clause);
        }
        found
    }
    /// Returns the children of a node in the order of their last occurrence.
    fn by_age(&self, id: Id) -> Vec<Id> {
        let mut children = self.children(id);
        children.sort_by_key(|child| self.node(*child).touched);
        children
    }
    /// Returns the path to a node as text, such as `firewall policer p`: its last twelve words.
    pub fn text(&self, id: Id) -> String {
        let mut words = Vec::new();
        let mut next = id;
        while next != ROOT && words.len() < 12 {
            words.push(self.word(next));
            next = self.node(next).parent;
        }
        words.reverse();
        words.join(" ")
    }
    /// Returns the first words of the path from the root to a node, including its own; at most `most`.
    pub fn front(&self, id: Id, most: usize) -> Vec<&str> {
        let mut all = Vec::new();
        let mut next = id;
        while next != ROOT {
            all.push(next);
            next = self.node(next).parent;
        }
        all.into_iter().rev().take(most).map(|id| self.word(id)).collect()
    }
}

/// Node returned for indices that do not exist.
static NOTHING: Node = Node {
    word: String::new(),
    at: Place::new(0, 0),
    parent: ROOT,
    children: Vec::new(),
    ends: false,
    inactive: false,
    used: false,
    touched: 0,
};
