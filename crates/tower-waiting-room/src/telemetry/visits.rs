//! Reports on the visits to a room: tokens, admissions, the accuracy of estimates, and sessions.
//!
//! A node observes a visit from the visitor's own ticket and pass, so the figures need neither
//! memory for each visitor nor a call to the store. The sums over all nodes are the figures of the
//! room.

#[cfg(feature = "metrics")]
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use waiting_room_core::{Pass, StoreError, Ticket};
#[cfg(feature = "metrics")]
use waiting_room_core::{
    Timestamp,
    room::{RoomMode, RoomNode, RoomSnapshot},
};

use super::Telemetry;
#[cfg(feature = "dashboard")]
use super::VisitorWait;
#[cfg(feature = "metrics")]
use super::table;

impl Telemetry {
    /// Reports that a visitor received its first ticket.
    #[cfg_attr(
        not(feature = "metrics"),
        expect(clippy::unused_self, reason = "there is no counter")
    )]
    pub(crate) fn touched(&self) {
        #[cfg(feature = "metrics")]
        self.first_touches.increment(
            || metrics::counter!(table::FIRST_TOUCHES.name, "room" => Arc::clone(&self.room)),
        );
    }

    /// Reports that a session began. `ticket` is the ticket that the visitor presented, unless it
    /// had lapsed or presented none.
    #[cfg_attr(
        not(any(feature = "dashboard", feature = "metrics")),
        expect(unused_variables, clippy::unused_self, reason = "there are no figures")
    )]
    pub(crate) fn admitted(&self, pass: &Pass, ticket: Option<&Ticket>) {
        #[cfg(feature = "dashboard")]
        if let Some(Ticket { first_seen, promised_wait, .. }) = ticket {
            let since = *first_seen;
            let until = pass.accepted_at;
            let promised = *promised_wait;
            self.tally.waited(VisitorWait { since, until, promised });
        }
        #[cfg(feature = "metrics")]
        {
            self.admissions.increment(
                || metrics::counter!(table::ADMITTED.name, "room" => Arc::clone(&self.room)),
            );
            let Some(ticket) = ticket else { return };
            let wait = pass.accepted_at.since(ticket.first_seen);
            metrics::histogram!(table::WAIT.name, "room" => Arc::clone(&self.room)).record(wait);
            let Some(promised) = ticket.promised_wait else { return };
            // The promise is in whole seconds, so a wait of the same whole seconds is on time.
            let actual = Duration::from_secs(wait.as_secs());
            metrics::histogram!(
                table::ESTIMATE_ERROR.name,
                "room" => Arc::clone(&self.room),
                "waited" => if actual > promised { "longer" } else { "shorter" },
            )
            .record(actual.abs_diff(promised));
        }
    }

    /// Reports that the application ended a session after this time.
    #[cfg_attr(
        not(feature = "metrics"),
        expect(unused_variables, clippy::unused_self, reason = "there is no histogram")
    )]
    pub(crate) fn session_ended(&self, after: Duration) {
        #[cfg(feature = "metrics")]
        metrics::histogram!(table::SESSION.name, "room" => Arc::clone(&self.room)).record(after);
    }

    /// Sets the gauges of the room from a snapshot and the nodes at `now`, or records that the store
    /// did not answer. In that case, the other gauges keep their values.
    #[cfg(feature = "metrics")]
    pub(crate) fn room_gauges(
        &self,
        snapshot: Option<&RoomSnapshot>,
        nodes: Option<Vec<RoomNode>>,
        now: Timestamp,
    ) {
        let set = |metric: table::Metric, value: f64| {
            metrics::gauge!(metric.name, "room" => Arc::clone(&self.room)).set(value);
        };
        set(table::STORE_UP, if snapshot.is_some() { 1.0 } else { 0.0 });
        let Some(snapshot) = snapshot else { return };
        set(table::ACTIVE, snapshot.active.into());
        set(table::ACTIVE_LIMIT, snapshot.total_active_users.into());
        set(table::NEW_LAST_MINUTE, snapshot.new_in_last_minute.into());
        let new_limit = snapshot.new_users_per_minute.map_or(f64::INFINITY, f64::from);
        set(table::NEW_LIMIT, new_limit);
        set(table::FIRST_TOUCHES_LAST_MINUTE, snapshot.first_touches_in_last_minute.into());
        set(table::WAITING, snapshot.waiting.into());
        set(table::PRESENT, snapshot.present.into());
        set(table::LINE_CAPACITY, snapshot.line_capacity.into());
        set(table::OLDEST_WAIT, snapshot.oldest_wait.as_secs_f64());
        set(table::ADMISSIONS_PER_SECOND, snapshot.admissions_per_minute / 60.0);
        if let Some(nodes) = nodes {
            let heard = nodes.iter().filter(|node| node.is_heard(now)).count();
            set(table::NODES, u32::try_from(heard).unwrap_or(u32::MAX).into());
        }
        for (mode, name) in MODES {
            let value = if snapshot.mode == mode { 1.0 } else { 0.0 };
            metrics::gauge!(table::MODE.name, "room" => Arc::clone(&self.room), "mode" => name)
                .set(value);
        }
        self.abandoned(snapshot.abandoned);
        // An alert compares the numbers of admissions, so the series has to exist before the first.
        for metric in [table::ADMITTED, table::FIRST_TOUCHES] {
            metrics::counter!(metric.name, "room" => Arc::clone(&self.room)).increment(0);
        }
    }

    /// Adds the places that were given up since the last snapshot. The store begins at 0 again after
    /// it has lost the room.
    #[cfg(feature = "metrics")]
    fn abandoned(&self, total: u64) {
        let counter = metrics::counter!(table::ABANDONED.name, "room" => Arc::clone(&self.room));
        let mut last = self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        match last.replace(total) {
            None => counter.absolute(total),
            Some(last) => counter.increment(total.checked_sub(last).unwrap_or(total)),
        }
    }

    /// Reports how many tokens of one request were rejected, and the error for the last of them.
    ///
    /// The client receives no error. The request is then handled with another of its tokens, or
    /// like a request without a token.
    pub(crate) fn rejected(&self, tokens: usize, error: &'static str) {
        let room = &*self.room;
        tracing::debug!(room, tokens, error, "tokens rejected");
        #[cfg(feature = "metrics")]
        metrics::counter!(
            table::TOKENS_REJECTED.name,
            "room" => Arc::clone(&self.room),
            "error" => error,
        )
        .increment(tokens as u64);
    }

    /// Reports that an operator has changed the room through the dashboard, or has tried to.
    #[cfg(feature = "dashboard")]
    pub(crate) fn changed(&self, operator: &str, change: [&str; 3], outcome: &str) {
        let room = &*self.room;
        let [action, from, to] = change;
        tracing::info!(room, operator, action, from, to, outcome, "operator changed the room");
    }

    /// Reports that the store of the room has stopped answering. Call this method once per outage.
    pub(crate) fn store_is_away(&self, error: &StoreError) {
        let room = &*self.room;
        let error = error as &dyn std::error::Error;
        tracing::warn!(room, error, "the store does not answer");
    }

    /// Reports that the store of the room answers again after an outage.
    pub(crate) fn store_answers(&self) {
        tracing::info!(room = &*self.room, "the store answers again");
    }

    /// Reports that the store failed to decide on a request, so the failure policy applies instead.
    pub(crate) fn store_failed(&self, error: &StoreError, policy: &'static str) {
        let room = &*self.room;
        tracing::debug!(room, policy, error = error as &dyn std::error::Error, "store failed");
        #[cfg(feature = "metrics")]
        metrics::counter!(
            table::STORE_FAILURES.name,
            "room" => Arc::clone(&self.room),
            "policy" => policy,
        )
        .increment(1);
    }
}

/// The modes of a room, with their names as label values.
#[cfg(feature = "metrics")]
const MODES: [(RoomMode, &str); 4] = [
    (RoomMode::Auto, "auto"),
    (RoomMode::Drain, "drain"),
    (RoomMode::QueueAll, "queue_all"),
    (RoomMode::Suspended, "suspended"),
];

#[cfg(all(test, feature = "metrics"))]
mod tests {
    use metrics::with_local_recorder;
    use metrics_exporter_prometheus::PrometheusBuilder;
    use waiting_room_core::RoomRules;

    use super::*;

    #[test]
    fn places_are_counted_even_after_the_store_has_lost_the_room() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let rules = RoomRules::new("shop", 200);
        with_local_recorder(&recorder, || {
            let telemetry = Telemetry::new("shop".into());
            for abandoned in [50, 52, 0, 3] {
                let mut room = RoomSnapshot::empty(Timestamp::from_secs(1), &rules);
                room.abandoned = abandoned;
                let at = Timestamp::from_secs;
                let nodes = [85, 84].map(|heard| RoomNode::new("one".to_owned(), at(heard)));
                telemetry.room_gauges(Some(&room), Some(nodes.into()), at(100));
            }
        });
        let said = recorder.handle().render();
        assert!(said.contains("waiting_room_abandoned_total{room=\"shop\"} 55\n"), "{said}");
        assert!(said.contains("waiting_room_admitted_total{room=\"shop\"} 0\n"), "{said}");
        assert!(said.contains("waiting_room_nodes{room=\"shop\"} 1\n"), "{said}");
    }
}
