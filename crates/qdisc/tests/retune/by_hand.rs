//! Changes in the middle of a run whose effect can be computed by hand.
