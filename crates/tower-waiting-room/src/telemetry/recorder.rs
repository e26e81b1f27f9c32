//! The metrics of the `metrics` crate. Without the feature `metrics`, `no_recorder.rs` takes the place
//! of this file.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use metrics::Label;
pub(super) use metrics::{Counter, Gauge, Histogram, SharedString as LabelValue, Unit};

/// A metric that most requests change. It is looked up only once, because a lookup allocates memory
/// for the labels.
#[derive(Debug)]
pub(super) struct Frequent<M = Counter>(OnceLock<M>);

impl<M> Default for Frequent<M> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl Frequent {
    /// Increments the counter, which `find` looks up on the first call.
    pub(super) fn increment(&self, find: impl FnOnce() -> Counter) {
        self.0.get_or_init(find).increment(1);
    }
}

impl Frequent<Histogram> {
    /// Records a time in the histogram, which `find` looks up on the first call.
    pub(super) fn record(&self, time: impl FnOnce() -> Duration, find: impl FnOnce() -> Histogram) {
        self.0.get_or_init(find).record(time());
    }
}

/// Looks up the counter of a room with these labels.
pub(super) fn counter<const N: usize>(
    name: &'static str,
    room: &Arc<str>,
    labels: [(&'static str, LabelValue); N],
) -> Counter {
    metrics::counter!(name, with_room(room, labels))
}

/// Looks up the gauge of a room with these labels.
pub(super) fn gauge<const N: usize>(
    name: &'static str,
    room: &Arc<str>,
    labels: [(&'static str, LabelValue); N],
) -> Gauge {
    metrics::gauge!(name, with_room(room, labels))
}

/// Looks up the histogram of a room with these labels.
pub(super) fn histogram<const N: usize>(
    name: &'static str,
    room: &Arc<str>,
    labels: [(&'static str, LabelValue); N],
) -> Histogram {
    metrics::histogram!(name, with_room(room, labels))
}

/// Gives the current recorder the unit and the description of a counter.
pub(super) fn describe_counter(name: &'static str, unit: Unit, help: &'static str) {
    metrics::describe_counter!(name, unit, help);
}

/// Gives the current recorder the unit and the description of a gauge.
pub(super) fn describe_gauge(name: &'static str, unit: Unit, help: &'static str) {
    metrics::describe_gauge!(name, unit, help);
}

/// Gives the current recorder the unit and the description of a histogram.
pub(super) fn describe_histogram(name: &'static str, unit: Unit, help: &'static str) {
    metrics::describe_histogram!(name, unit, help);
}

fn with_room<const N: usize>(
    room: &Arc<str>,
    labels: [(&'static str, LabelValue); N],
) -> Vec<Label> {
    let room = Label::new("room", Arc::clone(room));
    let others = labels.into_iter().map(|(name, value)| Label::new(name, value));
    std::iter::once(room).chain(others).collect()
}
