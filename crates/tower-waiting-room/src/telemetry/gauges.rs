//! The gauges, which show the state of the layer as of the last call to
//! [`record`](crate::WaitingRoomHandle::record).

use std::{
    ops::Add,
    sync::{Arc, PoisonError},
};

use waiting_room_core::{
    Timestamp,
    gate::GateSnapshot,
    room::{RoomMode, RoomNode, RoomSnapshot},
};

use super::{
    Telemetry,
    recorder::{self, Gauge, LabelValue},
    table::{self, Metric},
};

impl Telemetry {
    /// Gives the current recorder the units and descriptions of all metrics, in case the recorder
    /// was installed after the layer was created.
    #[expect(clippy::unused_self, reason = "only a layer has metrics to describe")]
    pub(crate) fn describe(&self) {
        table::describe();
    }

    /// Sets the gauges of all gates with this name. A gate with a key has one snapshot for each key
    /// value in use. The counts of all snapshots are added up, and the longest of their waits is
    /// reported.
    pub(crate) fn gate_gauges(&self, gate: &Arc<str>, gates: &[GateSnapshot]) {
        let set = |metric: Metric, value: f64| {
            self.gauge(metric, [("gate", Arc::clone(gate).into())]).set(value);
        };
        // `Iterator::sum` returns -0.0 for an empty iterator of floats, which a gauge would show as
        // `-0`. A fold that starts at 0.0 returns 0.0.
        let sum = |of: fn(&GateSnapshot) -> f64| gates.iter().map(of).fold(0.0, f64::add);
        set(table::GATE_IN_FLIGHT, sum(|gate| gate.in_flight.into()));
        set(table::GATE_LIMIT, sum(|gate| gate.limit.map_or(f64::INFINITY, f64::from)));
        set(table::GATE_QUEUED, sum(|gate| gate.queued.into()));
        let oldest = gates.iter().map(|gate| gate.oldest_wait).max().unwrap_or_default();
        set(table::GATE_OLDEST_WAIT, oldest.as_secs_f64());
    }

    /// Sets the gauge that states whether the rules in force are older than the rules file.
    #[cfg(feature = "files")]
    pub(crate) fn rules_file_gauge(&self, is_outdated: bool) {
        self.gauge(table::RULES_FILE_OUTDATED, []).set(if is_outdated { 1.0 } else { 0.0 });
    }

    /// Sets the gauge of open push streams.
    pub(crate) fn push_gauge(&self, open: usize) {
        let open = u32::try_from(open).unwrap_or(u32::MAX);
        self.gauge(table::PUSH_STREAMS, []).set(open);
    }

    /// Sets the gauges of the room from a snapshot and the nodes at `now`, or records that the store
    /// did not answer. In that case, the other gauges keep their values.
    pub(crate) fn room_gauges(
        &self,
        snapshot: Option<&RoomSnapshot>,
        nodes: Option<Vec<RoomNode>>,
        now: Timestamp,
    ) {
        let set = |metric: Metric, value: f64| self.gauge(metric, []).set(value);
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
        for mode in RoomMode::ALL {
            let value = if snapshot.mode == *mode { 1.0 } else { 0.0 };
            self.gauge(table::MODE, [("mode", mode.name().into())]).set(value);
        }
        self.abandoned(snapshot.abandoned);
        // An alert compares the numbers of admissions, so the series has to exist before the first
        // admission.
        for metric in [table::ADMITTED, table::FIRST_TOUCHES] {
            self.counter(metric, []).increment(0);
        }
    }

    /// Adds the places that were given up since the last snapshot. After the store has lost the
    /// room, `total` starts again at 0.
    fn abandoned(&self, total: u64) {
        let counter = self.counter(table::ABANDONED, []);
        let mut last = self.0.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        match last.replace(total) {
            None => counter.absolute(total),
            Some(last) => counter.increment(total.checked_sub(last).unwrap_or(total)),
        }
    }

    /// Looks up a gauge with these labels in addition to the room's.
    fn gauge<const N: usize>(
        &self,
        metric: Metric,
        labels: [(&'static str, LabelValue); N],
    ) -> Gauge {
        recorder::gauge(metric.name, &self.0.room, labels)
    }
}

#[cfg(test)]
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
