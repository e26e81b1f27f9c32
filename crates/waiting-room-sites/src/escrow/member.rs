//! What the global ledger knows of one site.

use std::{collections::BTreeSet, time::Duration};

use waiting_room_core::{Timestamp, VisitorId};

use crate::{
    SiteId,
    escrow::{
        Death, Epoch, EscrowRules, Heartbeat, Incarnation, Join, SitePass, Term, epoch::Allowance,
    },
};

/// One site's account in the global ledger.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Member {
    pub(super) epoch: Epoch,
    pub(super) standing: Standing,
    pub(super) incarnation: Option<Incarnation>,
    pub(super) allowance: Allowance,
    /// When the newest message was sent that renewed the lease, by the site's clock.
    pub(super) heard: Timestamp,
    /// When the lease ends, by the clock here.
    pub(super) lease_end: Timestamp,
    pub(super) used: u64,
    demand: u64,
    want: u64,
    asked_at: Timestamp,
    /// The site has not heard from here for a lease, and can use nothing.
    pub(super) is_deaf: bool,
    /// When the site lacked slots for the first time since it last got some.
    short_since: Option<Timestamp>,
    pub(super) recalled_at: Timestamp,
    claimed: BTreeSet<VisitorId>,
}

/// What one account adds to the sums, at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Part {
    /// Slots on the account.
    pub(super) held: u64,
    /// Slots that the site could give back.
    pub(super) unused: u64,
    /// By which reserves are split.
    pub(super) demand: u64,
    /// Whether it is not known if there is an account.
    pub(super) is_unknown: bool,
    /// The turn of a site that lacks slots, for visitors who wait at this moment: when it lacked some
    /// first since it last got any.
    pub(super) short_since: Option<Timestamp>,
    /// When the site was last asked for slots that it does not use.
    pub(super) recalled_at: Option<Timestamp>,
    /// When time alone changes any of this.
    pub(super) changes_at: Option<Timestamp>,
}

/// How an account stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    /// There is none, and nothing is held.
    Away,
    /// It will not be used again; its slots come back when the last pass is void.
    Closed,
    /// It is in use.
    Open,
    /// Whether there is one was forgotten.
    Unknown,
}

impl Member {
    pub(super) fn new(term: Term, standing: Standing) -> Self {
        Self {
            epoch: Epoch::before_all_of(term),
            standing,
            incarnation: None,
            allowance: Allowance::default(),
            heard: Timestamp::ZERO,
            lease_end: Timestamp::ZERO,
            used: 0,
            demand: 0,
            want: 0,
            asked_at: Timestamp::ZERO,
            is_deaf: false,
            short_since: None,
            recalled_at: Timestamp::ZERO,
            claimed: BTreeSet::new(),
        }
    }

    /// Opens a new account for whoever asks. What the last one held stays with the site.
    pub(super) fn open(&mut self, term: Term, join: &Join, lease_end: Timestamp) {
        let held = self.allowance.held();
        *self = Self {
            epoch: self.epoch.next(term),
            incarnation: Some(join.incarnation),
            allowance: Allowance { granted: held, returned: 0 },
            heard: join.sent_at,
            lease_end,
            used: held,
            ..Self::new(term, Standing::Open)
        };
    }

    /// Takes over what a site says of an account that was forgotten here.
    ///
    /// If the site's lease is over, its visitors may have been claimed and the slots been given to
    /// others, of which the site knows nothing: the account is closed.
    pub(super) fn adopt(&mut self, heartbeat: &Heartbeat, lease_end: Timestamp, now: Timestamp) {
        self.epoch = heartbeat.epoch;
        self.allowance = Allowance { granted: heartbeat.granted, returned: heartbeat.returned };
        let is_leased = heartbeat.sent_at < heartbeat.lease_end;
        (self.standing, self.lease_end) =
            if is_leased { (Standing::Open, lease_end) } else { (Standing::Closed, now) };
    }

    /// Hears how things stand. What was given back counts whenever it is heard; the rest only if it
    /// is not older than what is known.
    pub(super) fn hear(&mut self, heartbeat: &Heartbeat, lease_end: Timestamp, now: Timestamp) {
        self.allowance.hear_granted(heartbeat.granted);
        self.allowance.hear_returned(heartbeat.returned);
        let is_deaf = heartbeat.lease_end <= heartbeat.sent_at;
        // Whoever hears nothing would have its account renewed for ever, with all that is on it.
        let renews = !(is_deaf && self.is_deaf);
        if renews && heartbeat.sent_at > self.heard {
            self.lease_end = self.lease_end.max(lease_end);
        }
        if heartbeat.sent_at >= self.heard {
            if renews {
                self.heard = heartbeat.sent_at;
            }
            self.used = heartbeat.used;
            self.want = heartbeat.want;
            self.demand = heartbeat.demand;
            self.asked_at = now;
            self.is_deaf = is_deaf;
        }
        self.note_shortage(now);
    }

    /// Grants `slots` more. If they are too few, the site is behind all others who lack some.
    pub(super) fn grant(&mut self, slots: u64, now: Timestamp) {
        self.allowance.grant(slots);
        self.short_since = None;
        self.note_shortage(now);
    }

    /// Takes a slot away, because its visitor is now on another site's account.
    ///
    /// The site must not use the account again, since it knows nothing of this.
    pub(super) fn give_up(&mut self, visitor: VisitorId) {
        self.allowance.give_back(1);
        self.standing = Standing::Closed;
        self.claimed.insert(visitor);
    }

    /// Closes the account. Its lease is over now at the latest.
    pub(super) fn close(&mut self, now: Timestamp) {
        self.standing = Standing::Closed;
        self.lease_end = self.lease_end.min(now);
    }

    /// Takes back all that the account holds.
    pub(super) fn reclaim(&mut self, term: Term) {
        let epoch = self.epoch.next(term);
        *self = Self { epoch, ..Self::new(term, Standing::Away) };
    }

    /// If it is not known whether there is an account, there is none: what it held is over.
    pub(super) fn forget_if_unknown(&mut self) {
        if self.standing == Standing::Unknown {
            self.standing = Standing::Away;
        }
    }

    /// Whether all passes of the account are void.
    pub(super) fn is_spent(&self, rules: &EscrowRules, now: Timestamp) -> bool {
        self.has_account() && self.spent_at(rules) <= now
    }

    /// What others are told when the site can make no more passes.
    pub(super) fn death(&self, site: SiteId, rules: &EscrowRules, now: Timestamp) -> Option<Death> {
        let is_over = self.lease_end + rules.margin() <= now;
        let (epoch, heard) = (self.epoch, self.heard);
        (self.has_account() && is_over).then_some(Death { site, epoch, heard })
    }

    /// Whether the slot of a visitor with this pass may be moved, of a site that is dead.
    ///
    /// The site must not have given the slot to somebody else. It holds it until the pass expires,
    /// by its own clock, and its lease ends by the same clock no later than `lease` after the newest
    /// message that was heard from it.
    pub(super) fn still_holds(&self, pass: &SitePass, lease: Duration) -> bool {
        self.heard + lease <= pass.expires_at
            && self.allowance.held() > 0
            && !self.claimed.contains(&pass.visitor)
    }

    /// Whether the site may use its slots.
    fn is_live(&self, now: Timestamp) -> bool {
        self.standing == Standing::Open && now < self.lease_end
    }

    /// Slots that the site holds and does not use.
    pub(super) const fn unused(&self) -> u64 {
        self.allowance.held().saturating_sub(self.used)
    }

    /// What the account adds to the sums over all of them.
    pub(super) fn part(&self, rules: &EscrowRules, now: Timestamp) -> Part {
        let is_live = self.is_live(now);
        let asks_until = self.asked_at + rules.borrow_wait;
        let is_short = is_live && !self.is_deaf && now < asks_until && self.shortage() > 0;
        let changes = [
            is_live.then_some(self.lease_end),
            is_short.then_some(asks_until),
            self.has_account().then(|| self.spent_at(rules)),
        ];
        Part {
            held: self.allowance.held(),
            unused: if is_live { self.unused() } else { 0 },
            demand: if is_live { self.demand } else { 0 },
            is_unknown: self.standing == Standing::Unknown,
            short_since: self.short_since.filter(|_| is_short),
            recalled_at: (is_live && self.unused() > 0).then_some(self.recalled_at),
            changes_at: changes.into_iter().flatten().min(),
        }
    }

    const fn has_account(&self) -> bool {
        matches!(self.standing, Standing::Closed | Standing::Open)
    }

    fn spent_at(&self, rules: &EscrowRules) -> Timestamp {
        self.lease_end + rules.margin() + rules.session
    }

    /// So many slots are lacking.
    pub(super) fn shortage(&self) -> u64 {
        self.used.saturating_add(self.want).saturating_sub(self.allowance.held())
    }

    /// A site that lacks none for a moment does not lose its turn.
    fn note_shortage(&mut self, now: Timestamp) {
        if self.shortage() > 0 {
            self.short_since.get_or_insert(now);
        }
    }
}
