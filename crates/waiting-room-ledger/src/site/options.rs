//! The options of a site.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{ConfigError, error::ConfigErrorKind, time::Clock};
use waiting_room_sites::{
    SiteId,
    escrow::{EscrowRules, Incarnation},
};

use crate::{Dial, LedgerLink, LinkOptions, SharedKeys, TcpDial, site::judge::BootClock};

/// How the sites of a room keep one limit on active visitors. All sites have to use the same policy.
///
/// A ledger refuses sites of the other policy by name, as long as a slot is granted or visitors of
/// sites that count may be active. So the policy of a running room changes when all sites have been
/// off for the time of a lease and a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// The sites count new visitors by the calendar minute, and know a snapshot of the world that is
    /// a second old: the third policy of Cloudflare's article, see
    /// [`SlotPolicy::Counters`](waiting_room_sites::SlotPolicy::Counters).
    ///
    /// **The limit may be exceeded**, up to twice with recent snapshots, and visitors may be queued
    /// although slots are free. While the ledger is away, a site goes on for three minutes with the
    /// last snapshot. The clocks of the ledger and of the servers of all rooms have to agree within
    /// a second or so.
    Counters,
    /// The sites hold slots that the global ledger has granted. The limit is never exceeded, see
    /// [`escrow`](waiting_room_sites::escrow).
    #[default]
    Escrow,
}

/// How a [`SiteStore`](crate::SiteStore) finds the global ledger, and which site it is.
#[derive(Clone, Debug)]
pub struct SiteOptions<D = TcpDial> {
    pub(super) site: SiteId,
    pub(super) rules: EscrowRules,
    pub(super) policy: Policy,
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
    /// those of its sites.
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
            addresses: addresses.into_iter().collect(),
            keys,
            dial: TcpDial::new(),
            within: Duration::from_millis(1500),
            clock: Arc::new(BootClock),
        }
    }
}

impl<D: Dial> SiteOptions<D> {
    /// Sets how connections to the ledger are opened, for example with TLS. TCP by default.
    #[must_use]
    pub fn dial<E: Dial>(self, dial: E) -> SiteOptions<E> {
        let Self { site, rules, policy, addresses, keys, within, clock, .. } = self;
        SiteOptions { site, rules, policy, addresses, keys, dial, within, clock }
    }

    /// Sets how the sites keep one limit, which has to be the same at all of them.
    /// [`Policy::Escrow`] by default.
    ///
    /// ```
    /// use waiting_room_ledger::{Policy, SharedKeys, SiteOptions};
    /// use waiting_room_sites::{SiteId, escrow::EscrowRules};
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

    /// Sets the time in which a ledger has to greet, and to answer a ping. 1.5 s by default. A ledger
    /// that takes longer is left for another address.
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

    /// Opens the link of one life of the site to the ledger of a room.
    pub(super) fn link(&self, room: &str, incarnation: Incarnation) -> LedgerLink {
        let (life, addresses) = ((self.site, incarnation), self.addresses.iter().cloned());
        let options = LinkOptions::new(room, life, &self.rules, addresses, self.keys.clone());
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
            let (kind, expected) = (ConfigErrorKind::TooSmall, "at least one address of a ledger");
            return Err(ConfigError::new(kind, "addresses", "an empty list", expected));
        }
        Ok(self)
    }
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
    let (given, expected) = (format!("{session:?}"), format!("at least {lifetime:?}"));
    let expected = format!("{expected}, the longest lifetime of a pass of the room");
    Err(ConfigError::new(ConfigErrorKind::TooSmall, "session", given, expected))
}
