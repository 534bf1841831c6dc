//! Parameters that change while a discipline runs.

mod by_hand;
mod equal;
mod every_parameter;
mod notification;
mod ride;
