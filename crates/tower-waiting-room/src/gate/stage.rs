//! What all gates together say to a request.

use std::{collections::HashSet, sync::Arc};

use http::header::EXPECT;
use tokio::runtime::Handle;
use waiting_room_core::{ConfigError, ConfigErrorKind, Entry, GateRefused, Timestamp};

use super::{
    concurrency::{Concurrency, suspects},
    lease::{HeldPermit, PermitHandle, Permits},
    registry::{GateRef, GateSet, Lookup},
    sweeper::Sweeper,
    waiting::{Queued, WaitEnd, Waited, Waiting},
};
use crate::{
    ambient::StageClock,
    request::Caller,
    telemetry::{GateEvent, Telemetry},
};

/// The gates of a layer, in the order in which a request goes through them.
pub(crate) struct GateStage {
    gates: Vec<Arc<GateSet>>,
    sweeper: Arc<Sweeper<HeldPermit>>,
}

/// What the gates say to a request.
pub(crate) enum Gated {
    /// It may run.
    Admitted,
    /// Its client has left while it waited.
    Gone,
    /// One of them has no permit for it, and no place.
    Refused(GateRef, GateRefused),
    /// One of them is for each address, and that of the client is unknown.
    Stranger,
    /// It cannot be told which gate it has to go through.
    Unknown,
    /// It waits for one of them.
    Waiting(Box<Waiting>),
}

impl GateStage {
    /// At most so many.
    pub(crate) const MAX: usize = 32;

    /// Makes the gates of a config ready.
    pub(crate) fn new(
        gates: &[Concurrency],
        clock: &StageClock,
        telemetry: &Telemetry,
    ) -> Result<Self, ConfigError> {
        Self::validate(gates)?;
        suspects(gates).for_each(|suspect| telemetry.misconfigured(suspect));
        let times = gates.iter().flat_map(|gate| [gate.body_stall, gate.max_hold]).flatten();
        let shortest = times.min().unwrap_or(Concurrency::BODY_STALL);
        let mut gates: Vec<&Concurrency> = gates.iter().collect();
        gates.sort_by_key(|gate| gate.rank());
        let set = |gate: &&Concurrency| GateSet::new(gate, clock, telemetry).map(Arc::new);
        Ok(Self {
            gates: gates.iter().map(set).collect::<Result<_, _>>()?,
            sweeper: Sweeper::new(shortest, clock.clone(), telemetry.clone()),
        })
    }

    /// Checks each gate, and that no two have the same name.
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
            return wrong(ConfigErrorKind::Contradicts, given, "a name for each gate");
        }
        gates.iter().try_for_each(Concurrency::validate)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// The gates under their names.
    pub(crate) fn gates(&self) -> &[Arc<GateSet>] {
        &self.gates
    }

    /// Sends a request that arrived at `since` through all gates that are meant for it. The permits
    /// of those that let it in are added to `permits`.
    pub(crate) fn enter(
        &self,
        caller: &Caller<'_>,
        since: Timestamp,
        permits: &mut Permits,
        now: Timestamp,
    ) -> Gated {
        self.go_on(caller, permits, 0, since, now)
    }

    /// Sends a request on that has waited for a permit.
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

    /// Sends a request through the gates from one on.
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
            // The layer is mounted twice. Taking a second permit would deadlock once every permit
            // is held by such a request.
            if outer.is_some_and(|outer| outer.is_of(&gate)) {
                gate.entered_twice();
                continue;
            }
            match gate.enter(caller, since, !permits.is_empty(), now) {
                Entry::Admitted(permit) => {
                    gate.report(GateEvent::AdmittedFast);
                    permits.push(HeldPermit::new(permit, gate, &self.sweeper));
                }
                // The queue's time is tokio's: without it the wait is over at once.
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
                    // A client that waits for `100 Continue` (RFC 9110 section 10.1.1) is not asked
                    // to send its body just yet.
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

    fn refuse(gate: GateRef, refused: GateRefused) -> Gated {
        gate.report(GateEvent::of(refused.because));
        Gated::Refused(gate, refused)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Request;
    use waiting_room_core::KeyHasher;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn permits_that_are_given_back_are_forgotten_long_before_they_would_be_looked_at() {
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
            assert!(matches!(gated, Gated::Admitted), "it is free");
            most = most.max(stage.sweeper.len());
        }
        assert!(most < 100, "{most} are kept, and one is held");
    }
}
