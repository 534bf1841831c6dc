//! Platforms: families of routers and switches.

use serde::Serialize;

/// A family of routers and switches with the same defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Platform {
    /// IOS before 12.4(20)T, which introduced the hierarchical queueing framework.
    Classic,
    /// IOS 12.4(20)T to 15: the hierarchical queueing framework (HQF).
    #[default]
    Hqf,
    /// IOS XE, as on ASR 1000 and ISR 4000; Catalyst 9000 has the same commands and other buffers.
    Xe,
    /// IOS XR.
    Xr,
    /// NX-OS.
    Nxos,
    /// Arista EOS.
    Arista,
}

impl Platform {
    /// Returns the platform of that name, ignoring case: classic, hqf, xe, xr, nxos or arista; `None`: another name.
    pub fn named(name: &str) -> Option<Platform> {
        Some(match name.to_ascii_lowercase().as_str() {
            "classic" => Platform::Classic,
            "hqf" => Platform::Hqf,
            "xe" => Platform::Xe,
            "xr" => Platform::Xr,
            "nxos" => Platform::Nxos,
            "arista" => Platform::Arista,
            _ => return None,
        })
    }
}
