//! Adjusts the number of new users per minute to what the service behind a gate can handle.
//!
//! ```text
//!  gate ── once a second ──► Controller ── every ten seconds ──► lower, raise or keep
//!  room ─────────────────────┘                                         │
//!    ▲                                                                 │
//!    └───────────────── new_users_per_minute, within bounds ◄──────────┘
//! ```
//!
//! The rule is additive increase and multiplicative decrease (Chiu and Jain 1989), with a pause
//! after each change, because a change shows its effect only once the visitors admitted under it
//! are active.

mod controller;
mod tuning;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::{MissedTickBehavior, interval};
use waiting_room_core::{ConfigError, RoomRules, Timestamp, error::ConfigErrorKind};

use self::controller::{Controller, Observation, RateStep};
pub use self::tuning::{LastTuning, Tuning, TuningCause};
use super::{gate::GateHandle, layer::WaitingRoomHandle};

/// The bounds within which a [`Tuner`] changes `new_users_per_minute`, and the gate that it
/// observes.
///
/// Young: the rule of the tuner and its types may change in any release. See
/// [Stability](crate#stability).
///
/// ```
/// use tower_waiting_room::{Concurrency, WaitingRoomConfig, WaitingRoomLayer, handle::AutoTune};
///
/// # async fn serve() -> Result<(), tower_waiting_room::ConfigError> {
/// let config = WaitingRoomConfig::builder("shop")
///     .total_active_users(2_000)
///     .new_users_per_minute(300)
///     .concurrency(Concurrency::limit(64).name("service").queue(64))
///     .build()?;
/// let layer = WaitingRoomLayer::new(config);
/// let tuner = layer.handle().auto_tune(AutoTune::between(100, 900, "service"))?;
/// tokio::spawn(tuner.run());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoTune {
    least: u32,
    most: u32,
    gate: String,
}

/// Changes `new_users_per_minute` while its future runs. [`WaitingRoomHandle::auto_tune`] creates a
/// tuner.
pub struct Tuner {
    handle: WaitingRoomHandle,
    gate: GateHandle,
    controller: Controller,
    last: LastTuning,
}

impl AutoTune {
    /// Keeps the number of new users per minute within these bounds, depending on the load of the
    /// gate with this name.
    #[must_use]
    pub fn between(least: u32, most: u32, gate: impl Into<String>) -> Self {
        Self { least, most, gate: gate.into() }
    }

    fn validate(&self) -> Result<(), ConfigError> {
        let error = |kind, field, given: u32, expected: String| {
            Err(ConfigError::new(kind, field, given, expected))
        };
        if self.least == 0 {
            let expected = "at least 1".to_owned();
            return error(ConfigErrorKind::TooSmall, "auto_tune.least", self.least, expected);
        }
        if self.most < self.least {
            let expected = format!("at least {}, the lower bound", self.least);
            return error(ConfigErrorKind::Contradicts, "auto_tune.most", self.most, expected);
        }
        Ok(())
    }
}

impl WaitingRoomHandle {
    /// Creates a tuner, which has an effect only while [`Tuner::run`] is polled.
    ///
    /// # Errors
    ///
    /// Returns an error if the layer has no room or no gate with this name, if the room has no limit
    /// on new users per minute, or if the bounds contradict each other.
    pub fn auto_tune(&self, settings: AutoTune) -> Result<Tuner, ConfigError> {
        let missing = |field, expected: &str| {
            Err(ConfigError::new(ConfigErrorKind::Missing, field, "missing", expected))
        };
        let Some(room) = self.room() else {
            return missing("total_active_users", "a layer with a room");
        };
        let rules = room.rules();
        if rules.new_users_per_minute.is_none() {
            return missing("new_users_per_minute", "a limit that can be changed");
        }
        settings.validate()?;
        let Some(gate) = self.gate(&settings.gate) else {
            let expected = "the name of a gate of this layer";
            let given = format!("{:?}", settings.gate);
            let field = "auto_tune.gate";
            return Err(ConfigError::new(ConfigErrorKind::Contradicts, field, given, expected));
        };
        let controller = Controller::new(settings.least, settings.most);
        Ok(Tuner { handle: self.clone(), gate, controller, last: LastTuning::default() })
    }
}

impl Tuner {
    /// Returns access to the last decision, for a status page.
    #[must_use]
    pub fn last(&self) -> LastTuning {
        self.last.clone()
    }

    /// Observes the gate once a second, and changes the rate at most every ten seconds. Requires a
    /// tokio runtime with a timer.
    ///
    /// The rate is lowered by three tenths if the gate refused a request or had a queue for the
    /// whole period. The rate is raised by a twentieth of the upper bound if visitors wait because
    /// of the rate, and if less than four fifths of the gate's permits are in use, both now and once
    /// visitors have arrived at the current rate for a whole session. After an increase, the rate
    /// is kept for 30 seconds. After a decrease, it is kept for half a session, but at least for 30
    /// seconds. The tuner reacts at once only to an overload after an increase. A rate that an
    /// operator sets is the new starting point, even outside the bounds, and the next change
    /// returns to the bounds.
    ///
    /// Each node of a room observes its own gate, and all of them change the same rate. After a
    /// change by one node, the others wait as if they had made it, so the node with the highest
    /// load decides.
    ///
    /// # Cancel safety
    ///
    /// The future never ends. If it is dropped, the last rate stays in effect.
    pub async fn run(mut self) {
        let mut seconds = interval(Self::SAMPLED_EVERY);
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            seconds.tick().await;
            let now = self.handle.now();
            self.controller.sample(&self.gate.snapshots(), self.gate.refusals());
            if let Some(tuning) = self.decide(now).await {
                self.last.0.store(Some(Arc::new(tuning)));
            }
        }
    }

    /// The time between two samples of the gate.
    const SAMPLED_EVERY: Duration = Duration::from_secs(1);

    /// Decides at the end of a period, and returns the decision. Returns `None` within a period.
    async fn decide(&mut self, now: Timestamp) -> Option<Tuning> {
        if !self.controller.is_due(now) {
            return None;
        }
        let kept = |cause| Tuning { new_users_per_minute: None, at: now, cause };
        let Some(room) = self.handle.room() else { return Some(kept(TuningCause::NoLimit)) };
        let Ok(snapshot) = room.snapshot().await else {
            return Some(kept(TuningCause::StoreUnavailable));
        };
        let rules = room.rules();
        let Some(rate) = rules.new_users_per_minute else {
            self.controller.skip(now);
            return Some(kept(TuningCause::NoLimit));
        };
        let observation = Observation {
            rate,
            is_rate_used_up: snapshot.present > 0
                && snapshot.new_in_last_minute >= rate - rate / 10
                && snapshot.active < snapshot.total_active_users,
            active: snapshot.active,
            slots: snapshot.total_active_users,
            session: rules.timing().pass_lifetime(),
        };
        let (rate, cause) = match self.controller.decide(observation, now) {
            RateStep::Keep(why) => (rate, why),
            RateStep::Set(new, why) => {
                let old = rate;
                let is_set = Arc::new(AtomicBool::new(false));
                let change = {
                    let is_set = Arc::clone(&is_set);
                    move |rules: RoomRules| {
                        // Another change came first, or an event overrides the rate. Either is left
                        // in place.
                        let is_same = rules.new_users_per_minute == Some(old);
                        is_set.store(is_same, Ordering::Relaxed);
                        if is_same { rules.new_users_per_minute(new) } else { rules }
                    }
                };
                match room.change(change).await {
                    Ok(()) if !is_set.load(Ordering::Relaxed) => {
                        self.controller.skip(now);
                        (old, TuningCause::Overridden)
                    }
                    Ok(()) => {
                        self.controller.is_set(new, now);
                        tracing::info!(room = room.rules().name, old, new, ?why, "rate tuned");
                        (new, why)
                    }
                    Err(_) => (old, TuningCause::StoreUnavailable),
                }
            }
        };
        Some(Tuning { new_users_per_minute: Some(rate), at: now, cause })
    }
}

impl fmt::Debug for Tuner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuner").field("gate", &self.gate).finish_non_exhaustive()
    }
}
