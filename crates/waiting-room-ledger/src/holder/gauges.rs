//! The metrics of a room at its holder. `docs/metrics.md` describes them for operators.

use std::collections::BTreeSet;

use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};
use waiting_room_core::Timestamp;

use crate::{SiteId, escrow::GlobalLedger};

/// The gauges of a room, which a standby reports as zero.
#[derive(Debug)]
pub(super) struct Gauges {
    room: String,
    /// The sites whose gauges are not zero.
    sites: BTreeSet<SiteId>,
}

impl Gauges {
    /// Describes all metrics, and reports a standby of `room`.
    pub(super) fn new(room: &str) -> Self {
        for (name, meaning) in GAUGES {
            describe_gauge!(name, unit(name), meaning);
        }
        for (name, meaning) in COUNTERS {
            describe_counter!(name, Unit::Count, meaning);
        }
        let mut gauges = Self { room: room.to_owned(), sites: BTreeSet::new() };
        gauges.clear();
        gauges
    }

    /// Reports the ledger of a term, and which sites have a stream.
    pub(super) fn show(
        &mut self,
        ledger: &GlobalLedger,
        now: Timestamp,
        is_connected: impl Fn(SiteId) -> bool,
    ) {
        let states: Vec<_> = ledger.site_states(now).collect();
        let listed: BTreeSet<_> = states.iter().map(|state| state.site).collect();
        for gone in self.sites.difference(&listed) {
            self.set_site(*gone, [0.0; 3]);
        }
        for state in &states {
            let lease = state.lease_left.as_secs_f64();
            self.set_site(state.site, [state.held as f64, state.used as f64, lease]);
        }
        let connected = listed.iter().filter(|site| is_connected(**site)).count();
        self.set([
            1.0,
            f64::from(ledger.term().number()),
            ledger.limit() as f64,
            ledger.held() as f64,
            ledger.free() as f64,
            f64::from(u8::from(ledger.is_learning())),
            listed.len() as f64,
            connected as f64,
        ]);
        self.sites = listed;
    }

    /// Reports that this process is a standby.
    pub(super) fn clear(&mut self) {
        self.set([0.0; 8]);
        for site in std::mem::take(&mut self.sites) {
            self.set_site(site, [0.0; 3]);
        }
    }

    fn set(&self, values: [f64; 8]) {
        for ((name, _), value) in GAUGES.iter().zip(values) {
            gauge!(*name, "room" => self.room.clone()).set(value);
        }
    }

    fn set_site(&self, site: SiteId, values: [f64; 3]) {
        let number = site.number().to_string();
        for ((name, _), value) in GAUGES[8..].iter().zip(values) {
            gauge!(*name, "room" => self.room.clone(), "site" => number.clone()).set(value);
        }
    }
}

/// Counts a message of a site.
pub(super) fn count_message(room: &str, site: SiteId) {
    counter!(MESSAGES, "room" => room.to_owned(), "site" => site.number().to_string()).increment(1);
}

/// Counts an answer that refuses what a site has asked for.
pub(super) fn count_refusal(room: &str, site: SiteId) {
    counter!(REFUSALS, "room" => room.to_owned(), "site" => site.number().to_string()).increment(1);
}

/// Counts a batch that was stored.
pub(super) fn count_batch(room: &str) {
    counter!(BATCHES, "room" => room.to_owned()).increment(1);
}

/// Counts a call to the keeper that has failed.
pub(super) fn count_failure(room: &str) {
    counter!(FAILURES, "room" => room.to_owned()).increment(1);
}

/// Counts a stream that was refused, or ended because of what its peer did.
pub(crate) fn count_refused_stream() {
    counter!(STREAMS).increment(1);
}

fn unit(name: &str) -> Unit {
    if name.ends_with("_seconds") { Unit::Seconds } else { Unit::Count }
}

const MESSAGES: &str = "waiting_room_ledger_messages_total";
const REFUSALS: &str = "waiting_room_ledger_refusals_total";
const BATCHES: &str = "waiting_room_ledger_batches_total";
const FAILURES: &str = "waiting_room_ledger_keeper_failures_total";
const STREAMS: &str = "waiting_room_ledger_streams_refused_total";

/// The gauges in the order of their values: eight for a room, three for each site.
const GAUGES: [(&str, &str); 11] = [
    ("waiting_room_ledger_holding", "1 if this process holds the room, 0 if it is a standby"),
    ("waiting_room_ledger_term", "Term of the ledger"),
    ("waiting_room_ledger_limit", "Limit on the slots of all sites"),
    ("waiting_room_ledger_held", "Slots that all sites hold"),
    ("waiting_room_ledger_free", "Slots that no site holds"),
    ("waiting_room_ledger_learning", "1 while nothing is granted after a recovery, else 0"),
    ("waiting_room_ledger_sites", "Sites on the list"),
    ("waiting_room_ledger_sites_connected", "Sites on the list that have a stream"),
    ("waiting_room_ledger_site_held", "Slots that a site holds"),
    ("waiting_room_ledger_site_used", "Slots that are in use, as a site last reported"),
    ("waiting_room_ledger_site_lease_seconds", "Time for which a site may continue alone"),
];

const COUNTERS: [(&str, &str); 5] = [
    (MESSAGES, "Messages from sites"),
    (REFUSALS, "Answers that refuse what a site has sent"),
    (BATCHES, "Batches of changes that the keeper has stored"),
    (FAILURES, "Calls to the keeper that failed or were not answered in time"),
    (STREAMS, "Streams that were refused, or ended because of what the peer sent or did not send"),
];
