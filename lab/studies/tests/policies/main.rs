//! The policies of Cloudflare's article compared with published numbers, and with their guarantees.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "an answer that a test does not expect fails the test"
)]

mod counters;
mod properties;
mod vectors;
mod without_news;

use std::sync::Arc;

use waiting_room_core::Timestamp;
use waiting_room_ledger::{SiteId, model::*};

const SAN_JOSE: SiteId = SiteId::new(1);
const LONDON: SiteId = SiteId::new(2);
const DELHI: SiteId = SiteId::new(3);

/// A time of the day that the article describes: Monday, 11 September 2023.
fn clock(hours: u64, minutes: u64, seconds: u64) -> Timestamp {
    const MIDNIGHT: u64 = 1_694_390_400;
    Timestamp::from_secs(MIDNIGHT + 3_600 * hours + 60 * minutes + seconds)
}

/// The time of the state that the article describes.
fn noted() -> Timestamp {
    clock(11, 45, 54)
}

/// The state of the article, with this many nodes in San Jose, and ten in the world.
fn state(in_san_jose: u32) -> WorldSnapshot {
    WorldSnapshot::new(1, noted())
        .with_active(50)
        .with_nodes([(SAN_JOSE, in_san_jose), (LONDON, 9 - in_san_jose), (DELHI, 1)])
        .with_traffic(Minute::of(clock(11, 44, 0)), [(SAN_JOSE, 20), (LONDON, 30)])
}

/// The limits of the article, in which Anywhere's share has no floor.
fn limits() -> SlotRules {
    SlotRules::new(200).new_users_per_minute(200).any_floor(0.0)
}

/// The rules of a node of the article under this policy.
fn rules(policy: SlotPolicy) -> NodeRules {
    NodeRules::new(limits(), policy)
}

fn admission(rules: NodeRules, site: SiteId, snapshot: WorldSnapshot) -> SiteAdmission {
    let mut admission = SiteAdmission::new(rules, site).unwrap();
    admission.observe(Arc::new(snapshot));
    admission
}
