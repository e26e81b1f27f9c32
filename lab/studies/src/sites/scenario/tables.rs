//! The tables of a scenario file, as they are written.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::settings::{FaultKind, Policy};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileTable {
    pub(super) policies: Spanned<Vec<Policy>>,
    pub(super) seed: Option<u64>,
    pub(super) limits: LimitsTable,
    #[serde(default)]
    pub(super) slots: SlotsTable,
    pub(super) sites: Spanned<SitesTable>,
    #[serde(default)]
    pub(super) visitors: VisitorsTable,
    #[serde(default)]
    pub(super) network: NetworkTable,
    pub(super) traffic: Option<Spanned<TrafficTable>>,
    pub(super) crowd: Option<Spanned<CrowdTable>>,
    #[serde(default, rename = "move")]
    pub(super) moves: Vec<MoveTable>,
    #[serde(default, rename = "fault")]
    pub(super) faults: Vec<FaultTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsTable {
    pub(super) total_active_users: Spanned<u32>,
    pub(super) new_users_per_minute: Spanned<u32>,
    pub(super) session_s: Option<Spanned<u32>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SlotsTable {
    pub(super) any_floor: Option<Spanned<f64>>,
    pub(super) curve_factor: Option<Spanned<f64>>,
    pub(super) pacing: Option<Spanned<PacingName>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PacingName {
    Linear,
    None,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SitesTable {
    pub(super) nodes: Option<Spanned<Vec<Spanned<u16>>>>,
    pub(super) count: Option<Spanned<u16>>,
    pub(super) nodes_each: Option<Spanned<u16>>,
    pub(super) weights: Option<Spanned<Vec<Spanned<f64>>>>,
    pub(super) site_skew: Option<Spanned<f64>>,
    pub(super) node_skew: Option<Spanned<f64>>,
    pub(super) real_rooms: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VisitorsTable {
    pub(super) browsing_s: Option<Spanned<f64>>,
    pub(super) think_s: Option<Spanned<f64>>,
    pub(super) refresh_s: Option<Spanned<f64>>,
    pub(super) patience_s: Option<Spanned<f64>>,
    pub(super) bots: Option<Spanned<f64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NetworkTable {
    pub(super) news_delay_s: Option<Spanned<f64>>,
    pub(super) news_every_s: Option<Spanned<f64>>,
    pub(super) site_rtt_ms: Option<Spanned<Vec<u32>>>,
    pub(super) wan_rtt_ms: Option<Spanned<Vec<u32>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrafficTable {
    /// The minute and the number of arrivals at each point.
    pub(super) points: Option<Spanned<Vec<Spanned<Vec<f64>>>>>,
    pub(super) unit: Option<Spanned<Unit>>,
    pub(super) replay: Option<Spanned<PathBuf>>,
    pub(super) visitors: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CrowdTable {
    pub(super) visitors: Spanned<u32>,
    pub(super) over_s: Spanned<f64>,
    pub(super) drain_s: Option<Spanned<f64>>,
}

/// The unit of the second number of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    /// Multiples of what the room can serve in the long run.
    Load,
    /// Visitors per minute.
    PerMinute,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MoveTable {
    pub(super) at_min: Spanned<f64>,
    pub(super) share: Spanned<f64>,
    pub(super) to: Spanned<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultTable {
    pub(super) kind: FaultKind,
    pub(super) site: Spanned<usize>,
    pub(super) from_min: Spanned<f64>,
    pub(super) until_min: Option<Spanned<f64>>,
}
