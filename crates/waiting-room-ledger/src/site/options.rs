//! The options of a site.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{ConfigError, RoomRules, error::ConfigErrorKind, time::Clock};

use crate::{
    Dial, SharedKeys, SiteId, TcpDial,
    escrow::{EscrowRules, Incarnation},
    link::{LedgerLink, LinkOptions},
    site::judge::BootClock,
};

/// The method by which the sites of a room keep one limit on active visitors. All sites have to use the same policy.
///
/// A ledger refuses sites with the other policy, and says so, as long as a slot is granted or
/// visitors of sites that count may be active. So the policy of a running room can be changed only
/// after all sites have been off for the time of a lease and a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// The sites count new visitors by the calendar minute, and know a snapshot of the world that is
    /// a second old: the third policy of Cloudflare's article on the queueing decisions of its Waiting
    /// Room (2023).
    ///
    /// **The limit may be exceeded**, up to twofold with recent snapshots, and visitors may be
    /// queued although slots are free. While the ledger is unreachable, a site continues for three
    /// minutes with the last snapshot. The clocks of the ledger and of the servers of all rooms
    /// have to agree within a second or so.
    Counters,
    /// The sites hold slots that the global ledger has granted. The limit is never exceeded, under the
    /// [conditions](crate#the-promise) of the crate.
    #[default]
    Escrow,
}

/// The identity of a site, and the addresses and keys by which its [`SiteStore`](crate::SiteStore) connects
/// to the global ledger.
///
/// All nodes of a site need the same options, and all sites need the same rules and policy.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_ledger::{EscrowRules, SharedKeys, SiteId, SiteOptions};
///
/// let keys = SharedKeys::parse(&"0123456789abcdef".repeat(4))?;
/// let ledgers = ["ledger-1.internal:7400", "ledger-2.internal:7400"].map(str::to_owned);
/// let rules = EscrowRules::new().session(Duration::from_secs(600));
/// let paris = SiteOptions::new(SiteId::new(1), rules, ledgers, keys).within(Duration::from_secs(1));
/// # let _ = paris;
/// # Ok::<(), waiting_room_ledger::KeyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SiteOptions<D = TcpDial> {
    pub(super) site: SiteId,
    pub(super) rules: EscrowRules,
    pub(super) policy: Policy,
    /// The ledger's room and rules for the limit on new visitors, if the sites share this limit.
    pub(super) minute: Option<(String, EscrowRules)>,
    addresses: Vec<String>,
    keys: SharedKeys,
    dial: D,
    within: Duration,
    /// The clock of this machine, by which leases are judged.
    pub(super) clock: Arc<dyn Clock>,
}

impl SiteOptions {
    /// The options of a site with this number, whose global ledger is at one of the addresses, such
    /// as `ledger-1.internal:7400`. The rules have to be those of the global ledger, and the keys
    /// have to be those of its sites.
    #[must_use]
    pub fn new(
        site: SiteId,
        rules: EscrowRules,
        addresses: impl IntoIterator<Item = String>,
        keys: SharedKeys,
    ) -> Self {
        Self {
            site,
            rules,
            policy: Policy::Escrow,
            minute: None,
            addresses: addresses.into_iter().collect(),
            keys,
            dial: TcpDial::new(),
            within: Duration::from_millis(1500),
            clock: Arc::new(BootClock),
        }
    }
}

impl<D: Dial> SiteOptions<D> {
    /// Sets how connections to the ledger are opened, for example with TLS; TCP by default.
    #[must_use]
    pub fn dial<E: Dial>(self, dial: E) -> SiteOptions<E> {
        let Self { site, rules, policy, minute, addresses, keys, within, clock, .. } = self;
        SiteOptions { site, rules, policy, minute, addresses, keys, dial, within, clock }
    }

    /// Sets the method by which the sites keep one limit. All sites have to use the same method.
    /// [`Policy::Escrow`] by default.
    ///
    /// ```
    /// use waiting_room_ledger::{EscrowRules, Policy, SharedKeys, SiteId, SiteOptions};
    ///
    /// let keys = SharedKeys::parse(&"0123456789abcdef".repeat(4))?;
    /// let ledgers = ["ledger-1.internal:7400".to_owned()];
    /// let paris = SiteOptions::new(SiteId::new(1), EscrowRules::new(), ledgers, keys)
    ///     .policy(Policy::Counters);
    /// # let _ = paris;
    /// # Ok::<(), waiting_room_ledger::KeyError>(())
    /// ```
    #[must_use]
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Makes all sites share one limit on new visitors: the limit of another room in the ledger,
    /// with these rules. By default, each site has the limit in the rules of its own room.
    ///
    /// That room has to be set up for a [rolling minute](EscrowRules::rolling_minute). In any sixty
    /// seconds, all sites together admit no more new visitors than its limit allows, as long as no
    /// clock is fast by more than one part in 256. The `new_users_per_minute` of the site's own
    /// room is then only shown. Nodes with and without this option may run side by side for as long
    /// as it takes to replace them: the node that speaks for the site decides.
    ///
    /// ```
    /// use waiting_room_ledger::{EscrowRules, SharedKeys, SiteId, SiteOptions};
    ///
    /// let keys = SharedKeys::parse(&"0123456789abcdef".repeat(4))?;
    /// let ledgers = ["ledger-1.internal:7400".to_owned()];
    /// let paris = SiteOptions::new(SiteId::new(1), EscrowRules::new(), ledgers, keys)
    ///     .new_users_per_minute("shop-minute", EscrowRules::rolling_minute());
    /// # let _ = paris;
    /// # Ok::<(), waiting_room_ledger::KeyError>(())
    /// ```
    #[must_use]
    pub fn new_users_per_minute(mut self, room: impl Into<String>, rules: EscrowRules) -> Self {
        self.minute = Some((room.into(), rules));
        self
    }

    /// Sets the time within which a ledger has to greet and to answer a ping; 1.5 s by default. If
    /// a ledger takes longer, the site tries another address.
    #[must_use]
    pub const fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// Replaces the clock of this machine, by which leases are judged, for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Opens a link to the ledger of a room with these rules, for one life of the site.
    pub(super) fn link(
        &self,
        room: &str,
        rules: &EscrowRules,
        incarnation: Incarnation,
    ) -> LedgerLink {
        let life = (self.site, incarnation);
        let addresses = self.addresses.iter().cloned();
        let options = LinkOptions::new(room, life, rules, addresses, self.keys.clone());
        LedgerLink::connect(self.dial.clone(), options.within(self.within))
    }

    /// Checks the options.
    ///
    /// # Errors
    ///
    /// Returns the first rule or option that is invalid.
    pub(super) fn validate(self) -> Result<Self, ConfigError> {
        self.rules.validate()?;
        if self.addresses.is_empty() {
            let kind = ConfigErrorKind::TooSmall;
            let expected = "at least one address of a ledger";
            return Err(ConfigError::new(kind, "addresses", "an empty list", expected));
        }
        if let Some((room, rules)) = &self.minute {
            check_minute(room, rules, self.policy)?;
        }
        Ok(self)
    }

    /// A sentence for the operator about rules that make little sense. There is no warning with
    /// [`Policy::Counters`], because such sites have no leases.
    pub(super) fn rules_warning(&self) -> Option<String> {
        match self.policy {
            Policy::Counters => None,
            Policy::Escrow => self.rules.lease_warning(),
        }
    }

    /// Checks that the limits have rooms of their own in the global ledger.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit on new visitors has the room of the limit on active visitors.
    pub(super) fn check_rooms(&self, slots: &str) -> Result<(), ConfigError> {
        if self.minute.as_ref().is_none_or(|(minute, _)| minute != slots) {
            return Ok(());
        }
        let given = format!("{slots:?}");
        let expected = "another room of the ledger than that of the limit on active visitors";
        Err(ConfigError::new(ConfigErrorKind::Contradicts, MINUTE, given, expected))
    }
}

/// The name of the option in errors.
const MINUTE: &str = "new_users_per_minute";

/// Checks the room and the rules of the limit on new visitors.
///
/// # Errors
///
/// Returns an error if the name of the room is empty, if sites count, if the rules are invalid, or
/// if a place would not be held for a rolling minute.
fn check_minute(room: &str, rules: &EscrowRules, policy: Policy) -> Result<(), ConfigError> {
    if room.is_empty() {
        let expected = "the name of a room of the ledger";
        return Err(ConfigError::new(ConfigErrorKind::Malformed, MINUTE, "\"\"", expected));
    }
    if policy != Policy::Escrow {
        let given = format!("{room:?}");
        let expected = "no room of its own with Policy::Counters";
        return Err(ConfigError::new(ConfigErrorKind::Contradicts, MINUTE, given, expected));
    }
    rules.validate()?;
    let [[(_, held), ..], [(_, expected), ..]] =
        [*rules, EscrowRules::rolling_minute()].map(|rules| rules.times());
    if held == expected {
        return Ok(());
    }
    let kind = if held < expected { ConfigErrorKind::TooSmall } else { ConfigErrorKind::TooLarge };
    let expected = format!("{expected:?}, for which a place in a rolling minute is held");
    Err(ConfigError::new(kind, "session", format!("{held:?}"), expected))
}

/// Checks the rules of a room, and that no pass lasts for longer than the ledgers keep its slot.
///
/// # Errors
///
/// Returns the errors of [`RoomRules::validate`] and of [`check_session`].
pub(super) fn checked(rules: &EscrowRules, room: RoomRules) -> Result<RoomRules, ConfigError> {
    let room = room.validate()?;
    check_session(rules, room.timing().longest_pass_lifetime())?;
    Ok(room)
}

/// Checks that no pass of a room lasts for longer than the ledgers keep its slot.
///
/// # Errors
///
/// Returns an error that names the session of the ledgers, its value, and the lifetime of a pass.
pub(super) fn check_session(rules: &EscrowRules, lifetime: Duration) -> Result<(), ConfigError> {
    let [(_, session), ..] = rules.times();
    if lifetime <= session {
        return Ok(());
    }
    let given = format!("{session:?}");
    let expected = format!("at least {lifetime:?}");
    let expected = format!("{expected}, the longest lifetime of a pass of the room");
    Err(ConfigError::new(ConfigErrorKind::TooSmall, "session", given, expected))
}
