//! Finds out whether the gates are set up as they are meant.

use std::time::Duration;

use waiting_room_core::Discipline;

use super::concurrency::Concurrency;
use crate::{misconfiguration::Misconfiguration, request::Key};

/// What is probably not meant about these gates.
pub(super) fn suspects(gates: &[Concurrency]) -> impl Iterator<Item = Misconfiguration> {
    let is_long = gates.iter().any(has_long_wait);
    let is_open = !gates.iter().any(is_for_everybody)
        && gates.iter().filter_map(|gate| gate.for_each.as_ref()).any(Key::can_be_made_up);
    let long = is_long.then_some(Misconfiguration::LongMaxWait);
    long.into_iter().chain(is_open.then_some(Misconfiguration::NoCommonGate))
}

/// Whether requests may wait for so long that nothing is served in time under overload.
fn has_long_wait(gate: &Concurrency) -> bool {
    let wait = gate.rules.current_max_wait();
    // Who says first come, first served has been told that nothing else bounds the wait.
    let is_without_shedding = matches!(
        gate.rules.current_discipline(),
        Discipline::FairByTenant(_) | Discipline::Priority { .. }
    );
    wait >= LONG_WAIT || is_without_shedding && wait > LONG_PLAIN_WAIT
}

/// Whether nobody gets past it by another value of a key.
fn is_for_everybody(gate: &Concurrency) -> bool {
    let is_common = match &gate.for_each {
        Some(key) => key.is_by_address() || key.is_constant(),
        None => gate.adaptive.is_some() || gate.rules.current_limit().is_some(),
    };
    is_common && gate.scope.is_everything()
}

/// Waits that are no shorter are longer than common proxies wait for a response.
const LONG_WAIT: Duration = Duration::from_secs(15);

/// Where nobody is shed, every wait is as long as may be under overload; and people leave sooner
/// than proxies.
const LONG_PLAIN_WAIT: Duration = Duration::from_secs(1);
