//! The statements of a configuration as a tree of words.
//!
//! `a b { c d; }` and `set a b c d` are the same path a, b, c, d, so that both forms, and mixtures of them, make the same tree.
//! What a reader understands it marks; what nobody has marked is reported in the end (`rest.rs`).

use crate::Place;
use std::collections::BTreeMap;

/// The place of a node in the tree.
pub(super) type Id = usize;
/// The node that all others are within.
pub(super) const ROOT: Id = 0;

/// A word of a statement.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The word.
    pub word: String,
    /// Where it was written first.
    pub at: Place,
    /// The word before it.
    pub parent: Id,
    children: Vec<Id>,
    /// Whether a statement ends with it.
    pub ends: bool,
    /// Whether it was deactivated.
    pub inactive: bool,
    /// Whether a reader has understood it.
    pub used: bool,
    /// When it was written last: of several values of one option the last one counts.
    touched: u32,
}

/// An option and the words behind it.
#[derive(Debug)]
pub(super) struct Clause {
    pub key: Id,
    pub words: Vec<Id>,
}

/// Of a keyword whose words are not taken: a reader looks at them itself.
pub(super) const OPAQUE: usize = usize::MAX;

/// All statements.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    index: BTreeMap<(Id, String), Id>,
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
    /// The node of a word below another, made if there is none. Points of a drop profile may repeat: each is a node.
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
    /// A statement ends with that word.
    pub fn end(&mut self, id: Id) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.ends = true;
        }
    }
    /// The statement from that word on takes no effect, or takes effect again.
    pub fn set_inactive(&mut self, id: Id, inactive: bool) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.inactive = inactive;
        }
    }
    /// Takes a word and what is behind it away.
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
    /// What a group brings: what the place itself says counts before it.
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
    /// The words behind a word, without those that take no effect.
    pub fn children(&self, id: Id) -> Vec<Id> {
        self.node(id).children.iter().copied().filter(|child| !self.node(*child).inactive).collect()
    }
    /// The same, with them.
    pub fn all_children(&self, id: Id) -> &[Id] {
        &self.node(id).children
    }
    /// That word behind another.
    pub fn child(&self, id: Id, word: &str) -> Option<Id> {
        let found = self.index.get(&(id, word.to_owned())).copied()?;
        (!self.node(found).inactive).then_some(found)
    }
    /// The words behind each other.
    pub fn path(&self, from: Id, words: &[&str]) -> Option<Id> {
        words.iter().try_fold(from, |at, word| self.child(at, word))
    }
    /// That word has been understood.
    pub fn mark(&mut self, id: Id) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.used = true;
        }
    }
    /// That word and all behind it have been understood.
    pub fn mark_all(&mut self, id: Id) {
        let mut todo = vec![id];
        while let Some(next) = todo.pop() {
            self.mark(next);
            todo.extend(self.node(next).children.iter().copied());
        }
    }
    /// The word that was written last behind another; all that stood there has been understood.
    pub fn value(&mut self, id: Id) -> Option<Id> {
        let children = self.children(id);
        children.iter().for_each(|child| self.mark(*child));
        children.into_iter().max_by_key(|child| self.node(*child).touched)
    }
    /// The options of a container, each with the words behind it; of several values of one option the last one was written
    /// last. Several options may stand in one line behind each other (`set … bandwidth-limit 1m burst-size-limit 15k`), so a
    /// keyword behind a value is an option of the same container. `keywords` has the number of words behind each that are no
    /// keywords. What is not a keyword is left as it is.
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
    /// The words behind a word, what was written last at the end.
    fn by_age(&self, id: Id) -> Vec<Id> {
        let mut children = self.children(id);
        children.sort_by_key(|child| self.node(*child).touched);
        children
    }
    /// The statements in words, from a node on, such as `policer p if-exceeding`.
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
    /// The words in front of a node, the first one first, and itself; at most so many.
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

/// What is at a place that does not exist.
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
