//! The rules on which both ledgers must agree.

use std::time::Duration;

use waiting_room_core::{ConfigError, error::ConfigErrorKind};

/// The times of the protocol, the same at every site and at the global ledger.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_ledger::EscrowRules;
///
/// let rules = EscrowRules::new().session(Duration::from_secs(300)).validate()?;
/// assert!(rules.reclaim_after() > Duration::from_secs(420));
///
/// let error = EscrowRules::new().lease(Duration::from_millis(10)).validate().unwrap_err();
/// assert_eq!(error.to_string(), "lease is 10ms, expected at least the heartbeat, 1s");
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EscrowRules {
    pub(crate) session: Duration,
    pub(crate) lease: Duration,
    /// `None` for the default, which depends on the lease and the session.
    pub(crate) drift_margin: Option<Duration>,
    pub(crate) heartbeat: Duration,
    pub(crate) borrow_wait: Duration,
}

/// A digest of [`EscrowRules`], by which a site and the global ledger find out whether they have
/// the same rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RulesDigest(u64);

impl EscrowRules {
    /// The largest number of new visitors, and of returning ones, that may wait at a site at the
    /// same time for a slot from elsewhere.
    pub const MAX_BORROWERS: usize = 1024;
    /// The longest session, lease, drift margin, heartbeat or wait: 24 hours.
    pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    /// The shortest heartbeat: 10 ms. With a shorter one, a site would be busy with heartbeats
    /// alone.
    pub const SHORTEST_HEARTBEAT: Duration = Duration::from_millis(10);
    /// The factor by which a site sends heartbeats more often while a visitor waits for a slot.
    pub const HASTE: u32 = 5;
    /// The divisor for the default drift margin (one part in 256 of a lease and a session) and for
    /// the time that is added to a rolling minute.
    const DRIFT: u32 = 256;
    /// The time for which a slot of a rolling minute is held: a minute by every clock within the drift.
    const MINUTE_HELD: Duration = {
        let minute = 60_000_000_000;
        Duration::from_nanos(minute + minute / Self::DRIFT as u64)
    };

    /// Creates the rules for a limit of active visitors. The methods state the defaults.
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

    /// Creates the rules for a limit on new visitors in any sixty seconds: a slot is taken once,
    /// and never extended.
    ///
    /// The slot is held for sixty seconds and a 256th of sixty seconds, which is 60.234375 s, by
    /// the clock of its site. So sixty seconds have passed by every clock that differs from that
    /// clock by up to one part in 256, and the limit also holds for sites with fast clocks. The
    /// price is 0.4% of the limit.
    #[must_use]
    pub const fn rolling_minute() -> Self {
        Self::new().session(Self::MINUTE_HELD)
    }

    /// Sets how long a slot stays taken after the last request of its visitor; 300 s by default.
    #[must_use]
    pub const fn session(mut self, session: Duration) -> Self {
        self.session = session;
        self
    }

    /// Sets how long a site may continue without the global ledger; 120 s by default.
    ///
    /// A longer lease is safe, but the slots of a dead site are unavailable for longer. The lease
    /// should be shorter than a session, because only passes that outlive the lease of their home
    /// can be claimed.
    #[must_use]
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// A sentence for the operator if the lease is at least as long as a session, which is safe but
    /// useless. `None` if the lease is shorter, or if the rules are those of a [rolling
    /// minute](Self::rolling_minute), whose places are not claimed.
    ///
    /// With such a lease, the passes of a site that is switched off have expired when the other sites
    /// learn that it is off, so no slot is claimed. The slots stay unused from
    /// then on until they are [reclaimed](Self::reclaim_after), a session later.
    ///
    /// ```
    /// use std::time::Duration;
    /// use waiting_room_ledger::EscrowRules;
    ///
    /// assert_eq!(EscrowRules::new().lease_warning(), None);
    /// let rules = EscrowRules::new().session(Duration::from_secs(60));
    /// assert!(rules.lease_warning().unwrap().starts_with("lease is 120s, expected less than"));
    /// ```
    #[must_use]
    pub fn lease_warning(&self) -> Option<String> {
        if self.lease < self.session || self.session == Self::MINUTE_HELD {
            return None;
        }
        let lease = self.lease;
        let session = self.session;
        let free_after = self.reclaim_after();
        Some(format!(
            "lease is {lease:?}, expected less than the session, {session:?}: if a site is switched \
             off, its passes expire within a session, and its slots are free {free_after:?} after its \
             last message (a lease, a margin and a session); its visitors cannot take their slots to \
             other sites in that time"
        ))
    }

    /// Sets how far the clocks of two machines may drift apart during a lease and a session; one
    /// part in 256 of that time by default.
    #[must_use]
    pub const fn drift_margin(mut self, margin: Duration) -> Self {
        self.drift_margin = Some(margin);
        self
    }

    /// Sets the interval of a site's heartbeats, at least 10 ms; 1 s by default.
    ///
    /// While a visitor waits for a slot, heartbeats are [`HASTE`](Self::HASTE) times as frequent.
    #[must_use]
    pub const fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat;
        self
    }

    /// Sets how long a visitor is held while a slot is requested from elsewhere, before it is
    /// queued; 1.2 s by default.
    #[must_use]
    pub const fn borrow_wait(mut self, wait: Duration) -> Self {
        self.borrow_wait = wait;
        self
    }

    /// Checks the rules, and returns them unchanged.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is invalid.
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

    /// All rules by name, with the drift margin that results from the other rules if none was set.
    #[must_use]
    pub fn times(&self) -> [(&'static str, Duration); 5] {
        [
            ("session", self.session),
            ("lease", self.lease),
            ("drift_margin", self.margin()),
            ("heartbeat", self.heartbeat),
            ("borrow_wait", self.borrow_wait),
        ]
    }

    /// The name of the first rule that differs, its value here, and its value in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<(&'static str, Duration, Duration)> {
        let both = self.times().into_iter().zip(other.times());
        both.map(|((field, ours), (_, theirs))| (field, ours, theirs))
            .find(|(_, ours, theirs)| ours != theirs)
    }

    /// The time after the last heartbeat of a site until all its slots are free again: a lease, the
    /// drift margin and a session.
    #[must_use]
    pub fn reclaim_after(&self) -> Duration {
        self.lease.saturating_add(self.margin()).saturating_add(self.session)
    }

    /// The time before a message is repeated while a visitor waits for a slot.
    pub(crate) fn pause(&self) -> Duration {
        self.heartbeat / Self::HASTE
    }

    /// The maximum time by which two clocks may drift apart during a lease and a session.
    pub(crate) fn margin(&self) -> Duration {
        self.drift_margin.unwrap_or(self.lease.saturating_add(self.session) / Self::DRIFT)
    }
}

impl RulesDigest {
    /// The digest of these rules. Rules with equal [`times`](EscrowRules::times) have the same
    /// digest.
    #[must_use]
    pub fn of(rules: &EscrowRules) -> Self {
        // FNV-1a over the version of this format and the nanoseconds of each time, because std's
        // hashes differ between versions of std.
        let version = [1_u8];
        let nanos = rules.times().map(|(_, time)| time.as_nanos().to_be_bytes());
        let bytes = version.iter().chain(nanos.as_flattened());
        Self(bytes.fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
            (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        }))
    }

    /// The digest with these bits.
    #[must_use]
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits of the digest.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl Default for EscrowRules {
    fn default() -> Self {
        Self::new()
    }
}
