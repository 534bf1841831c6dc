//! Parameters that change while a discipline runs.

mod any_change;
mod by_hand;
mod equal;
mod every_parameter;
mod notification;
mod parameters;
mod ride;
