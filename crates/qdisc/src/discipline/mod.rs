//! The disciplines, one file each; `by_destination` is the variant of drop-tail that back-pressure
//! with addresses needs.

pub mod avq;
pub mod blue;
pub mod by_destination;
pub mod cobalt;
pub mod codel;
pub mod drop_head;
pub mod drop_tail;
pub mod dualpi2;
pub mod pi;
pub mod pie;
pub mod red;
pub mod rem;
pub mod sfb;
