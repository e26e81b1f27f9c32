//! Visitors that were overtaken.

use std::time::Duration;

use waiting_room_core::Timestamp;

use super::streak::Wait;

/// A visitor with a place that waited on after a visitor that had come later was admitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overtaken<'a> {
    pub(super) waiting: Wait<'a>,
    pub(super) admitted: Wait<'a>,
    pub(super) at: Timestamp,
    /// The time for which the visitor waited on.
    pub(super) by: Duration,
}

/// Returns the visitor that waited on for the longest time, if it is longer than `tolerance`.
///
/// A visitor counts as overtaken only from its second touch on, which gives it its place. Two first
/// touches of which neither had been answered before the other was sent have no order.
pub(super) fn most_overtaken<'a>(waits: &[Wait<'a>], tolerance: Duration) -> Option<Overtaken<'a>> {
    let mut admitted: Vec<_> = waits.iter().filter(|wait| wait.admission.is_some()).collect();
    admitted.sort_by_key(|wait| wait.until());
    let mut worst: Option<Overtaken<'a>> = None;
    for waiting in waits.iter().filter(|wait| !wait.has_refusal()) {
        let Some(placed) = waiting.placed() else { continue };
        let is_later = |other: &&&Wait<'_>| {
            let asked = other.admission.map_or(Timestamp::ZERO, |answer| answer.sent);
            other.since() > waiting.touched() && asked > placed
        };
        // The admissions are in the order of their times, so the first one is the worst.
        let Some(other) = admitted.iter().find(is_later) else { continue };
        let (at, until) = (other.until(), waiting.until());
        let by = until.since(at);
        if by > tolerance && worst.is_none_or(|worst| by > worst.by) {
            worst = Some(Overtaken { waiting: *waiting, admitted: **other, at, by });
        }
    }
    worst
}
