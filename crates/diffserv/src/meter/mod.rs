//! Meters, one file each.

pub mod adaptive;
pub mod fixed;
pub mod profile;
pub mod sr_tcm;
pub mod tr_tcm;
pub mod tsw2cm;
pub mod tsw3cm;
