//! What both ledgers must agree on.

use std::time::Duration;

use waiting_room_core::{ConfigError, ConfigErrorKind};

/// The times of the protocol, the same at every site and at the global ledger.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_sites::escrow::EscrowRules;
///
/// let rules = EscrowRules::new().session(Duration::from_secs(300)).validate()?;
/// assert!(rules.reclaim_after() > Duration::from_secs(420));
///
/// let error = EscrowRules::new().lease(Duration::from_millis(10)).validate().unwrap_err();
/// assert_eq!(error.to_string(), "lease is 10ms, expected at least the heartbeat, 1s");
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EscrowRules {
    pub(super) session: Duration,
    pub(super) lease: Duration,
    pub(super) drift_margin: Option<Duration>,
    pub(super) heartbeat: Duration,
    pub(super) borrow_wait: Duration,
}

impl EscrowRules {
    /// At most so many visitors of a site wait for a slot from elsewhere at a time.
    pub const MAX_BORROWERS: usize = 1024;
    /// The longest session, lease, heartbeat or wait.
    pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    /// The shortest heartbeat. With a shorter one a site would do nothing but say how it is.
    pub const SHORTEST_HEARTBEAT: Duration = Duration::from_millis(10);
    /// While somebody waits, a site sends this many times as many heartbeats.
    pub const HASTE: u32 = 5;
    /// Two clocks may drift apart by one part in this many.
    const DRIFT: u32 = 256;

    /// The rules for active visitors; the methods state the defaults.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            session: Duration::from_secs(300),
            lease: Duration::from_secs(120),
            drift_margin: None,
            heartbeat: Duration::from_secs(1),
            borrow_wait: Duration::from_millis(1200),
        }
    }

    /// The rules for a limit of new visitors in any sixty seconds: a slot is taken for a minute and
    /// never renewed.
    #[must_use]
    pub const fn rolling_minute() -> Self {
        Self::new().session(Duration::from_secs(60))
    }

    /// How long a slot is taken by a visitor who does not come back. 300 s by default.
    #[must_use]
    pub const fn session(mut self, session: Duration) -> Self {
        self.session = session;
        self
    }

    /// How long a site may go on without the global ledger. 120 s by default.
    ///
    /// Longer is safe, and means that the slots of a dead site are missed for longer. It should be
    /// shorter than a session, since only passes that outlive the lease of their home can be claimed.
    #[must_use]
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// How far the clocks of two machines drift apart in the time of a lease and a session. By
    /// default a 256th of that time.
    #[must_use]
    pub const fn drift_margin(mut self, margin: Duration) -> Self {
        self.drift_margin = Some(margin);
        self
    }

    /// How often a site says how things stand, at most every 10 ms. 1 s by default, and
    /// [`HASTE`](Self::HASTE) times as often while somebody waits.
    #[must_use]
    pub const fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat;
        self
    }

    /// How long a visitor may be kept while a slot is fetched from elsewhere, before it is shown
    /// the queue. 1.2 s by default.
    #[must_use]
    pub const fn borrow_wait(mut self, wait: Duration) -> Self {
        self.borrow_wait = wait;
        self
    }

    /// Checks the rules.
    ///
    /// # Errors
    ///
    /// The first rule that cannot be obeyed.
    pub fn validate(self) -> Result<Self, ConfigError> {
        let too_small = |field, given: Duration, expected| {
            let given = format!("{given:?}");
            Err(ConfigError::new(ConfigErrorKind::TooSmall, field, given, expected))
        };
        let times = [
            ("session", self.session),
            ("lease", self.lease),
            ("drift_margin", self.drift_margin.unwrap_or_default()),
            ("heartbeat", self.heartbeat),
            ("borrow_wait", self.borrow_wait),
        ];
        for (field, given) in times {
            if given > Self::LONGEST {
                let given = format!("{given:?}");
                let most = format!("at most {:?}", Self::LONGEST);
                return Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, most));
            }
        }
        if self.session.is_zero() {
            return too_small("session", self.session, "more than no time".to_owned());
        }
        if self.heartbeat < Self::SHORTEST_HEARTBEAT {
            let expected = format!("at least {:?}", Self::SHORTEST_HEARTBEAT);
            return too_small("heartbeat", self.heartbeat, expected);
        }
        if self.lease < self.heartbeat {
            let expected = format!("at least the heartbeat, {:?}", self.heartbeat);
            return too_small("lease", self.lease, expected);
        }
        Ok(self)
    }

    /// How long after the last heartbeat of a site all its slots are free again.
    #[must_use]
    pub fn reclaim_after(&self) -> Duration {
        self.lease.saturating_add(self.margin()).saturating_add(self.session)
    }

    /// How long is waited before something is said again, while somebody waits for a slot.
    pub(super) fn pause(&self) -> Duration {
        self.heartbeat / Self::HASTE
    }

    /// How far two clocks may drift apart in the time of a lease and a session.
    pub(super) fn margin(&self) -> Duration {
        self.drift_margin.unwrap_or(self.lease.saturating_add(self.session) / Self::DRIFT)
    }
}

impl Default for EscrowRules {
    fn default() -> Self {
        Self::new()
    }
}
