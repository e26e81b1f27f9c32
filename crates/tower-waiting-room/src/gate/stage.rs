//! What all gates together say to a request.

use std::{collections::HashSet, sync::Arc};

use waiting_room_core::{ConfigError, ConfigErrorKind, Entry, GateRefused, Permit, Timestamp};

use super::{
    concurrency::Concurrency,
    diagnosis::suspects,
    lease::{Held, HeldAll, PermitHandle},
    registry::{Named, NamedGate, Which},
    sweeper::Sweeper,
    waiting::{Queued, Waiting},
};
use crate::{
    rate::Now,
    request::Caller,
    telemetry::{GateEvent, Telemetry},
};

/// The gates of a layer, in the order in which a request goes through them.
pub(crate) struct GateStage {
    gates: Vec<Arc<Named>>,
    sweeper: Arc<Sweeper>,
    now: Now,
}

/// What the gates say to a request.
pub(crate) enum Gated {
    /// It may run.
    Admitted(HeldAll),
    /// One of them has no permit for it, and no place.
    Refused(NamedGate, GateRefused),
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
        now: &Now,
        telemetry: &Telemetry,
    ) -> Result<Self, ConfigError> {
        Self::validate(gates)?;
        suspects(gates).for_each(|suspect| telemetry.misconfigured(suspect));
        let times = gates.iter().flat_map(|gate| [gate.body_stall, gate.max_hold]).flatten();
        let shortest = times.min().unwrap_or(Concurrency::BODY_STALL);
        let mut gates: Vec<&Concurrency> = gates.iter().collect();
        gates.sort_by_key(|gate| gate.rank());
        let named = |gate: &&Concurrency| Named::new(gate, now, telemetry).map(Arc::new);
        Ok(Self {
            gates: gates.iter().map(named).collect::<Result<_, _>>()?,
            sweeper: Sweeper::new(shortest, Arc::clone(now), telemetry.clone()),
            now: Arc::clone(now),
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
    pub(crate) fn gates(&self) -> &[Arc<Named>] {
        &self.gates
    }

    /// Sends a request through all gates that are meant for it. It came at `since`, if it has been
    /// on its way to them for a while.
    pub(crate) fn enter(&self, caller: &Caller<'_>, since: Option<Timestamp>) -> Gated {
        let now = (self.now)();
        self.go_on(caller, HeldAll::new(), 0, (since.unwrap_or(now), now))
    }

    /// Sends a request on that was given the permit it waited for.
    pub(crate) fn granted(&self, caller: &Caller<'_>, at: Queued, permit: Permit) -> Gated {
        let Queued { mut held, gate, next, since } = at;
        gate.granted(&permit);
        held.push(Held::new(permit, gate, &self.sweeper));
        self.go_on(caller, held, next, (since, (self.now)()))
    }

    /// Sends a request through the gates from one on, holding the permits of those before.
    fn go_on(
        &self,
        caller: &Caller<'_>,
        mut held: HeldAll,
        from: usize,
        (since, now): (Timestamp, Timestamp),
    ) -> Gated {
        let outer = caller.head.extensions().get::<PermitHandle>();
        for (index, named) in self.gates.iter().enumerate().skip(from) {
            let gate = match named.of(caller) {
                Which::Gate(gate) => gate,
                Which::None => continue,
                Which::Unknown => return Gated::Unknown,
            };
            // The layer is there twice. A second permit would be one that whoever has the first waits
            // for in vain as soon as all permits are firsts.
            if outer.is_some_and(|outer| outer.is_of(&gate)) {
                gate.entered_twice();
                continue;
            }
            let arrival = gate.arrival(caller, since, !held.is_empty());
            match gate.gate().enter(arrival, now) {
                Entry::Admitted(permit) => {
                    gate.report(GateEvent::AdmittedFast);
                    held.push(Held::new(permit, gate, &self.sweeper));
                }
                Entry::Queued(place) => {
                    let at = Queued { held, gate, next: index + 1, since };
                    return Gated::Waiting(Box::new(Waiting::new(place, at, now)));
                }
                Entry::Refused(refused) => return Gated::Refused(gate, refused),
            }
        }
        Gated::Admitted(held)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Request;
    use waiting_room_core::KeyHasher;

    use super::*;
    use crate::request::ClientIp;

    #[tokio::test(start_paused = true)]
    async fn permits_that_are_given_back_are_forgotten_long_before_they_would_be_looked_at() {
        let now: Now = Arc::new(|| Timestamp::ZERO);
        let gate = Concurrency::limit(1).max_hold(Duration::from_secs(3_600));
        let stage = GateStage::new(&[gate], &now, &Telemetry::new("api".into())).unwrap();
        let (hasher, client_ip) = (KeyHasher::new([3, 1, 4, 1]), ClientIp::peer());
        let request = Request::new(());
        let caller = Caller::new((&request).into(), &hasher, &client_ip);
        let mut most = 0;
        for _ in 0..10_000 {
            let Gated::Admitted(held) = stage.enter(&caller, None) else { panic!("it is free") };
            most = most.max(stage.sweeper.len());
            drop(held);
        }
        assert!(most < 100, "{most} are kept, and one is held");
    }
}
