//! The gate stage: takes the permits of all gates that cover a request.
//!
//! Every request visits the gates in the same order, by [`Concurrency::rank`]: gates with a key,
//! then gates with a scope, and last the gates for all requests. Because the order is the same for
//! all requests, no two requests can each hold the permit that the other request waits for. Because
//! the widest gate comes last, a request that waits at a narrow gate does not hold a permit that
//! every other request needs.
//!
//! A request waits at one gate at a time, and holds the permits of all earlier gates while it
//! waits. [`GateStage::enter`] returns [`Gated::Waiting`] for a request that has to wait. When the
//! wait is over, the pipeline calls [`GateStage::resume`], which continues with the next gate.
//!
//! Shadow mode is not implemented here: in that mode, the pipeline skips waits and ignores
//! refusals.

use std::{collections::HashSet, sync::Arc, time::Duration};

use http::header::EXPECT;
use tokio::runtime::Handle;
use waiting_room_core::{
    ConfigError, Timestamp,
    error::ConfigErrorKind,
    gate::{Entry, GateRefused},
};

use super::{
    concurrency::{Concurrency, suspects},
    lease::{HeldPermit, PermitHandle, Permits},
    registry::{GateRef, GateSet, Lookup},
    sweeper::Sweeper,
    waiting::{Queued, WaitEnd, Waited, Waiting},
};
use crate::{
    ambient::StageClock,
    request::{Caller, MinRate},
    telemetry::{GateEvent, Telemetry},
};

/// The gates of a layer.
pub(crate) struct GateStage {
    /// The gates, sorted by [`Concurrency::rank`], which is the order in which requests pass them.
    gates: Vec<Arc<GateSet>>,
    /// The sweeper that all gates share. One task watches every permit of the layer.
    sweeper: Arc<Sweeper<HeldPermit>>,
}

/// The outcome of the gate stage for one request.
pub(crate) enum Gated {
    /// The request may run, because every gate that covers it granted a permit, or because no gate
    /// covers it.
    Admitted,
    /// The client disconnected while its request was waiting.
    Gone,
    /// A gate refused the request, on arrival or at the end of its wait.
    Refused(GateRef, GateRefused),
    /// A gate that is selected by client address covers the request, but the address is unknown.
    Stranger,
    /// The request lacks the key that selects a gate, and
    /// [`MissingKey`](crate::request::MissingKey) refuses such requests.
    Unknown,
    /// The request is in the queue of a gate.
    Waiting(Box<Waiting>),
}

impl GateStage {
    /// The maximum number of gates in a layer. The number is bounded because every request is
    /// checked against each gate.
    pub(crate) const MAX: usize = 32;

    /// Builds the gates of a configuration, and reports settings that are allowed but suspicious.
    ///
    /// # Errors
    ///
    /// Returns an error for the first violation that [`validate`](Self::validate) finds.
    pub(crate) fn new(
        gates: &[Concurrency],
        clock: &StageClock,
        telemetry: &Telemetry,
    ) -> Result<Self, ConfigError> {
        Self::validate(gates)?;
        suspects(gates).for_each(|suspect| telemetry.misconfigured(suspect));
        // One sweeper serves all gates, so it has to be precise enough for the shortest time limit
        // of any gate.
        let times = gates.iter().filter_map(|gate| gate.max_hold);
        let shortest = times.fold(MinRate::GRACE, Duration::min);
        let mut gates: Vec<&Concurrency> = gates.iter().collect();
        // The sort is stable, so gates of equal rank keep the order of the configuration.
        gates.sort_by_key(|gate| gate.rank());
        let set = |gate: &&Concurrency| GateSet::new(gate, clock, telemetry).map(Arc::new);
        let gates: Vec<_> = gates.iter().map(set).collect::<Result<_, _>>()?;
        gates.iter().for_each(|set| set.start());
        Ok(Self { gates, sweeper: Sweeper::new(shortest, clock.clone(), telemetry.clone()) })
    }

    /// Checks each gate and the number of gates, and checks that no two gates have the same name.
    /// Metrics, headers and the operator's handle identify a gate by its name.
    ///
    /// # Errors
    ///
    /// Returns an error for the first violation. The error names the field, the given value and the
    /// expected value.
    pub(crate) fn validate(gates: &[Concurrency]) -> Result<(), ConfigError> {
        let wrong = |kind, given: String, expected: &str| {
            Err(ConfigError::new(kind, "concurrency", given, expected))
        };
        if gates.len() > Self::MAX {
            let given = format!("{} gates", gates.len());
            return wrong(ConfigErrorKind::TooLarge, given, "at most 32");
        }
        let mut names = HashSet::new();
        if let Some(twice) = gates.iter().find(|gate| !names.insert(&*gate.name)) {
            let given = format!("{:?} twice", twice.name);
            return wrong(ConfigErrorKind::Contradicts, given, "a different name for each gate");
        }
        gates.iter().try_for_each(Concurrency::validate)
    }

    /// Returns whether the layer has no gates, in which case the pipeline need not look up the
    /// caller.
    pub(crate) fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// Returns the gates for the operator's handle.
    pub(crate) fn gates(&self) -> &[Arc<GateSet>] {
        &self.gates
    }

    /// Takes a permit from each gate that covers a request, and adds the permits to `permits`.
    ///
    /// `since` is the time at which the request arrived at the layer, which is earlier than `now`
    /// if the room or the limits had to ask a store. The client's deadline is counted from `since`.
    ///
    /// After a refusal, `permits` still contains the permits of earlier gates. The pipeline drops
    /// these permits or, in shadow mode, lets the request run with them.
    pub(crate) fn enter(
        &self,
        caller: &Caller<'_>,
        since: Timestamp,
        permits: &mut Permits,
        now: Timestamp,
    ) -> Gated {
        self.go_on(caller, permits, 0, since, now)
    }

    /// Continues with a request whose wait at a gate has ended. If the permit was granted, the
    /// request visits the remaining gates.
    pub(crate) fn resume(
        &self,
        caller: &Caller<'_>,
        Waited { at, end }: Waited,
        permits: &mut Permits,
        now: Timestamp,
    ) -> Gated {
        let Queued { gate, next, since } = at;
        match end {
            WaitEnd::Gone => Gated::Gone,
            WaitEnd::Granted(permit) => {
                gate.granted(&permit);
                permits.push(HeldPermit::new(permit, gate, &self.sweeper));
                self.go_on(caller, permits, next, since, now)
            }
            WaitEnd::Refused(refused) => Self::refuse(gate, refused),
        }
    }

    /// Takes a request through the gates, starting at index `from`, until a gate makes the request
    /// wait or refuses it.
    fn go_on(
        &self,
        caller: &Caller<'_>,
        permits: &mut Permits,
        from: usize,
        since: Timestamp,
        now: Timestamp,
    ) -> Gated {
        let outer = caller.head.extensions().get::<PermitHandle>();
        for (index, set) in self.gates.iter().enumerate().skip(from) {
            let gate = match set.of(caller) {
                Lookup::Gate(gate) => gate,
                Lookup::None => continue,
                Lookup::Stranger => return Gated::Stranger,
                Lookup::Unknown => return Gated::Unknown,
            };
            // The layer is mounted twice, and the outer instance holds a permit of this gate for
            // the same request. Taking a second permit would deadlock once such requests hold every
            // permit, because each of them would wait for a permit that none of them releases.
            if outer.is_some_and(|outer| outer.is_of(&gate)) {
                gate.entered_twice();
                continue;
            }
            match gate.enter(caller, since, !permits.is_empty(), now) {
                Entry::Admitted(permit) => {
                    gate.report(GateEvent::AdmittedFast);
                    permits.push(HeldPermit::new(permit, gate, &self.sweeper));
                }
                // The wait uses tokio's timer. Without a runtime, nothing would end the wait, so it
                // times out immediately. If a permit was granted in the meantime, the permit is
                // used.
                Entry::Queued(place) if Handle::try_current().is_err() => {
                    gate.lacks_runtime();
                    match place.time_out() {
                        Ok(permit) => {
                            gate.granted(&permit);
                            permits.push(HeldPermit::new(permit, gate, &self.sweeper));
                        }
                        Err(refused) => return Self::refuse(gate, refused),
                    }
                }
                Entry::Queued(place) => {
                    // Reading the body would make the server send `100 Continue` (RFC 9110 section
                    // 10.1.1), and the client would upload a body for a request that may still be
                    // refused.
                    let is_awaited = caller.head.headers().contains_key(EXPECT);
                    let bytes = if is_awaited { 0 } else { gate.concurrency().watched_bytes };
                    let at = Queued { gate, next: index + 1, since };
                    return Gated::Waiting(Waiting::new(place, at, bytes, now));
                }
                Entry::Refused(refused) => return Self::refuse(gate, refused),
            }
        }
        Gated::Admitted
    }

    /// Reports a refusal as the event that matches its cause.
    fn refuse(gate: GateRef, refused: GateRefused) -> Gated {
        gate.report(GateEvent::of(refused.because));
        Gated::Refused(gate, refused)
    }
}

#[cfg(test)]
mod tests {
    use http::Request;
    use waiting_room_core::rate::KeyHasher;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn returned_permits_are_forgotten_before_their_next_check() {
        let clock = StageClock::new(|| Timestamp::ZERO);
        let gate = Concurrency::limit(1).max_hold(Duration::from_secs(3_600));
        let stage = GateStage::new(&[gate], &clock, &Telemetry::new("api".into())).unwrap();
        let hasher = KeyHasher::new([3, 1, 4, 1]);
        let request = Request::new(());
        let caller = Caller { head: (&request).into(), hasher: &hasher, visitor: None };
        let mut most = 0;
        for _ in 0..10_000 {
            let mut permits = Permits::new();
            let gated = stage.enter(&caller, Timestamp::ZERO, &mut permits, Timestamp::ZERO);
            assert!(matches!(gated, Gated::Admitted), "the gate is free");
            most = most.max(stage.sweeper.len());
        }
        assert!(most < 100, "{most} permits are kept, but only one is held");
    }
}
