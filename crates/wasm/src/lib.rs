//! Placeholder until the scenario crate stands.
