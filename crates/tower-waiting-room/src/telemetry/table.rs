//! The table of all metrics: names, kinds, units and descriptions.
//!
//! Every metric that the layer reports is a constant of this file, so its name appears only here.
//! `docs/metrics.md` contains the same table for operators, with labels and the place where each
//! metric is observed. A test compares the two.

use super::recorder::{Unit, describe_counter, describe_gauge, describe_histogram};

/// A metric, as a recorder describes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric {
    pub(super) name: &'static str,
    describe: fn(&'static str, Unit, &'static str),
    unit: Unit,
    help: &'static str,
}

impl Metric {
    /// A counter of events.
    const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, describe: describe_counter, unit: Unit::Count, help }
    }

    /// A gauge that counts things.
    const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, describe: describe_gauge, unit: Unit::Count, help }
    }

    /// A histogram of durations.
    const fn seconds(name: &'static str, help: &'static str) -> Self {
        Self { name, describe: describe_histogram, unit: Unit::Seconds, help }
    }

    const fn with_unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }
}

/// Gives the current recorder the units and descriptions of all metrics.
pub(super) fn describe() {
    for Metric { name, describe, unit, help } in ALL.iter().copied() {
        describe(name, unit, help);
    }
}

/// Defines the constants of the metrics, and the list of them all.
macro_rules! table {
    ($($(#[$when:meta])* $constant:ident = $metric:expr;)*) => {
        $($(#[$when])* pub(super) const $constant: Metric = $metric;)*

        /// All metrics of this build, in the order of `docs/metrics.md`.
        const ALL: &[Metric] = &[$($(#[$when])* $constant,)*];
    };
}

table! {
    ACTIVE = Metric::gauge("waiting_room_active", "Slots in use");
    ACTIVE_LIMIT = Metric::gauge("waiting_room_active_limit", "Limit on slots in use");
    NEW_LAST_MINUTE =
        Metric::gauge("waiting_room_new_last_minute", "Visitors admitted in the last 60 seconds");
    NEW_LIMIT = Metric::gauge(
        "waiting_room_new_limit",
        "Limit on visitors admitted in any 60 seconds; infinite without a limit",
    );
    FIRST_TOUCHES_LAST_MINUTE = Metric::gauge(
        "waiting_room_first_touches_last_minute",
        "First tickets issued in the last 50 to 60 seconds",
    );
    WAITING = Metric::gauge("waiting_room_waiting", "Places in the line");
    PRESENT =
        Metric::gauge("waiting_room_present", "Visitors in the line who check in when due");
    LINE_CAPACITY =
        Metric::gauge("waiting_room_line_capacity", "Limit on places in the line");
    OLDEST_WAIT = Metric::gauge("waiting_room_oldest_wait_seconds", "Longest current wait")
        .with_unit(Unit::Seconds);
    ADMISSIONS_PER_SECOND = Metric::gauge(
        "waiting_room_admissions_per_second",
        "Rate of admissions, measured over the last three minutes",
    )
    .with_unit(Unit::CountPerSecond);
    MODE = Metric::gauge("waiting_room_mode", "1 for the mode that the operator has set, else 0");
    STORE_UP = Metric::gauge(
        "waiting_room_store_up",
        "1 if the store answered when the gauges were last recorded, else 0",
    );
    NODES = Metric::gauge(
        "waiting_room_nodes",
        "Nodes that share the store and were heard by it in the last 15 seconds",
    );
    ABANDONED = Metric::counter(
        "waiting_room_abandoned_total",
        "Places given up by visitors who were not admitted, counted by the store",
    );
    FIRST_TOUCHES = Metric::counter(
        "waiting_room_first_touches_total",
        "First tickets issued to visitors who were not admitted at once",
    );
    ADMITTED = Metric::counter("waiting_room_admitted_total", "Sessions that began");
    WAIT = Metric::seconds(
        "waiting_room_wait_seconds",
        "Time from the first touch to the admission of visitors who had to wait",
    );
    ESTIMATE_ERROR = Metric::seconds(
        "waiting_room_estimate_error_seconds",
        "Difference between the wait first shown to a visitor in line and its actual wait",
    );
    SESSION = Metric::seconds(
        "waiting_room_session_seconds",
        "Length of the sessions that the application ended",
    );
    TOKENS_REJECTED =
        Metric::counter("waiting_room_tokens_rejected_total", "Tokens that could not be opened");
    STORE_FAILURES = Metric::counter(
        "waiting_room_store_failures_total",
        "Requests that the store of the room did not decide on",
    );
    PUSH_STREAMS = Metric::gauge("waiting_room_push_streams", "Open push streams");
    PUSH_STREAMS_ENDED =
        Metric::counter("waiting_room_push_streams_ended_total", "Push streams that have ended");
    VERDICTS =
        Metric::counter("waiting_room_verdicts_total", "Requests, by the reason of their outcome");
    RATE_DECISIONS = Metric::counter(
        "waiting_room_rate_decisions_total",
        "Decisions of rate limits on requests",
    );
    LIMIT_KEYS_DISPLACED = Metric::counter(
        "waiting_room_limit_keys_displaced_total",
        "Keys that lost their places in the full table of a rate limit",
    );
    LIMIT_STORE_FAILURES = Metric::counter(
        "waiting_room_limit_store_failures_total",
        "Requests that the rate limit store did not decide on",
    );
    GATE_IN_FLIGHT = Metric::gauge("waiting_room_gate_in_flight", "Requests that hold a permit");
    GATE_LIMIT = Metric::gauge(
        "waiting_room_gate_limit",
        "Limit on requests that hold a permit; infinite without a limit",
    );
    GATE_QUEUED = Metric::gauge("waiting_room_gate_queued", "Requests that wait for a permit");
    GATE_OLDEST_WAIT =
        Metric::gauge("waiting_room_gate_oldest_wait_seconds", "Longest current wait for a permit")
            .with_unit(Unit::Seconds);
    GATE_OUTCOMES =
        Metric::counter("waiting_room_gate_outcomes_total", "Requests at a gate, by outcome");
    GATE_WAIT = Metric::seconds(
        "waiting_room_gate_wait_seconds",
        "Time for which admitted requests waited for a permit",
    );
    GATE_HOLD = Metric::seconds(
        "waiting_room_gate_hold_seconds",
        "Time for which requests held a permit",
    );
    RULES_FILE_LOADS = Metric::counter(
        "waiting_room_rules_file_loads_total",
        "Attempts to apply the rules file",
    );
    RULES_FILE_OUTDATED = Metric::gauge(
        "waiting_room_rules_file_outdated",
        "1 if the rules file was refused or is not watched, so the rules in force may be older, else 0",
    );
    MISCONFIGURATIONS = Metric::counter(
        "waiting_room_misconfigurations_total",
        "Requests and settings that show a probable mistake in the configuration",
    );
}
