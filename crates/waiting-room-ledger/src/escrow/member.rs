//! The account of one site in the global ledger.

use std::{collections::BTreeSet, time::Duration};

use waiting_room_core::{Timestamp, VisitorId};

use crate::{
    SiteId,
    escrow::{
        Death, Epoch, EscrowRules, Fence, Heartbeat, Incarnation, Join, KeptAccount, SitePass,
        Standing, Term,
        epoch::Allowance,
        need::{Need, Turn},
    },
};

/// The account of one site in the global ledger.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Member {
    pub(super) epoch: Epoch,
    pub(super) standing: Standing,
    pub(super) incarnation: Option<Incarnation>,
    pub(super) allowance: Allowance,
    /// The time at which the newest message that renewed the lease was sent, by the site's clock;
    /// `None` if this ledger has received none.
    heard: Option<Timestamp>,
    /// The end of the lease, by the clock of the global ledger.
    pub(super) lease_end: Timestamp,
    /// The slots in use, as the site last reported.
    pub(super) used: u64,
    /// The arrivals per 1000 s, as the site last reported.
    demand: u64,
    /// The visitors that wait for a slot, as the site last reported.
    need: Need,
    /// Whether the site has received nothing from the global ledger for a whole lease, and thus
    /// cannot use its slots.
    pub(super) is_deaf: bool,
    /// The time at which the site was last asked for its unused slots.
    pub(super) recalled_at: Timestamp,
    /// The visitors whose slots were claimed by other sites.
    claimed: BTreeSet<VisitorId>,
    /// Whether the site is granted nothing, so that it can be removed.
    pub(super) is_drained: bool,
    /// The accounts of this site that are never continued.
    fence: Option<Fence>,
}

/// The contribution of one account to the sums over all accounts, at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Part {
    /// The slots on the account.
    pub(super) held: u64,
    /// The slots that the site could give back.
    pub(super) unused: u64,
    /// The demand by which reserves are split.
    pub(super) demand: u64,
    /// Whether the existence of an account is unknown.
    pub(super) is_unknown: bool,
    /// For a site that lacks slots for waiting visitors: its turn.
    pub(super) turn: Option<Turn>,
    /// For a site with unused slots: the time at which it was last asked for them.
    pub(super) recalled_at: Option<Timestamp>,
    /// The next time at which any of these values changes without a message.
    pub(super) changes_at: Option<Timestamp>,
}

impl Member {
    pub(super) fn new(epoch: Epoch, standing: Standing) -> Self {
        Self {
            epoch,
            standing,
            incarnation: None,
            allowance: Allowance::default(),
            heard: None,
            lease_end: Timestamp::ZERO,
            used: 0,
            demand: 0,
            need: Need::default(),
            is_deaf: false,
            recalled_at: Timestamp::ZERO,
            claimed: BTreeSet::new(),
            is_drained: false,
            fence: None,
        }
    }

    /// The account of a site that was not on the list before. Earlier accounts of that site began
    /// before the site was removed, so all of them are fenced; `last` is later than they are.
    pub(super) fn added(last: Epoch, term: Term) -> Self {
        Self { fence: Some(Fence::new(last, None)), ..Self::new(last.next(term), Standing::Away) }
    }

    /// Continues an account that another global ledger has kept.
    ///
    /// The lease of an open account begins anew, since the other ledger may have renewed it just
    /// before this one took over. The lease of a closed account is over, but its last pass may have
    /// been made just now.
    pub(super) fn restored(
        kept: &KeptAccount,
        claimed: BTreeSet<VisitorId>,
        rules: &EscrowRules,
        now: Timestamp,
    ) -> Self {
        let allowance = Allowance { granted: kept.granted, returned: kept.returned };
        let is_open = kept.standing == Standing::Open;
        Self {
            incarnation: kept.incarnation,
            allowance,
            heard: kept.heard,
            lease_end: if is_open { now + rules.lease } else { now },
            used: allowance.held(),
            claimed,
            is_drained: kept.is_drained,
            fence: kept.fence,
            ..Self::new(kept.epoch, kept.standing)
        }
    }

    /// An account of which only the fence and the draining are known. `epoch` is before all
    /// accounts of this term, so a fence does not affect these accounts.
    pub(super) fn unknown(kept: Option<&KeptAccount>, epoch: Epoch) -> Self {
        let fence = kept.and_then(|kept| kept.fence);
        Self {
            is_drained: kept.is_some_and(|kept| kept.is_drained),
            fence: fence.map(|fence| Fence::new(fence.epoch.min(epoch), fence.incarnation)),
            ..Self::new(epoch, Standing::Unknown)
        }
    }

    /// The account as it is kept.
    pub(super) fn kept(&self) -> KeptAccount {
        KeptAccount {
            incarnation: self.incarnation,
            granted: self.allowance.granted,
            returned: self.allowance.returned,
            heard: self.heard.filter(|_| self.standing == Standing::Closed),
            is_drained: self.is_drained,
            fence: self.fence,
            ..KeptAccount::new(self.epoch, self.standing)
        }
    }

    /// Opens a new account for the incarnation that asks. The slots of the last account stay with
    /// the site, and all of them count as in use, since earlier incarnations may have issued passes
    /// for them.
    pub(super) fn open(&mut self, term: Term, join: &Join, lease_end: Timestamp) {
        let held = self.allowance.held();
        *self = Self {
            incarnation: Some(join.incarnation),
            allowance: Allowance { granted: held, returned: 0 },
            heard: Some(join.sent_at),
            lease_end,
            used: held,
            ..self.next(self.epoch.max(join.after).next(term), Standing::Open)
        };
    }

    /// Restores an account that was lost here from the report of its site.
    ///
    /// If the lease of the site is over, the account is closed: the lost ledger may have moved
    /// slots of the site's visitors to other sites without the site's knowledge. The same holds for
    /// a fenced site, even if its lease is running.
    pub(super) fn adopt(&mut self, heartbeat: &Heartbeat, lease_end: Timestamp, now: Timestamp) {
        let is_fenced = self.is_fenced(heartbeat.incarnation, Some(heartbeat.epoch));
        self.epoch = heartbeat.epoch;
        self.incarnation = Some(heartbeat.incarnation);
        let granted = heartbeat.granted;
        let returned = heartbeat.returned;
        self.allowance = Allowance { granted, returned: returned.min(granted) };
        self.heard = Some(heartbeat.sent_at);
        let continues = heartbeat.sent_at < heartbeat.lease_end && !is_fenced;
        (self.standing, self.lease_end) =
            if continues { (Standing::Open, lease_end) } else { (Standing::Closed, now) };
    }

    /// Applies a report of the site. Its totals of granted and returned slots count whenever they
    /// arrive; the rest counts only if the report is not older than the last one.
    pub(super) fn receive(&mut self, heartbeat: &Heartbeat, lease_end: Timestamp, now: Timestamp) {
        self.allowance.raise_granted(heartbeat.granted);
        self.allowance.raise_returned(heartbeat.returned);
        let is_deaf = heartbeat.lease_end <= heartbeat.sent_at;
        // A site that can send but not receive would keep its account, with all slots on it, for
        // ever. So its lease is renewed only by the first report in that state.
        let renews = !(is_deaf && self.is_deaf);
        if renews && self.heard.is_none_or(|heard| heartbeat.sent_at > heard) {
            self.lease_end = self.lease_end.max(lease_end);
        }
        if self.heard.is_none_or(|heard| heartbeat.sent_at >= heard) {
            if renews {
                self.heard = Some(heartbeat.sent_at);
            }
            self.used = heartbeat.used;
            self.demand = heartbeat.demand;
            self.need.receive(heartbeat, now);
            self.is_deaf = is_deaf;
        }
        self.note_shortage(now);
    }

    /// Grants `slots` more. If they are too few, the site gets another turn, behind all sites whose
    /// visitors have waited as long.
    pub(super) fn grant(&mut self, slots: u64, now: Timestamp) {
        self.allowance.grant(slots);
        self.need.end_turn();
        self.note_shortage(now);
    }

    /// Takes a slot away, because its visitor is now on another site's account.
    ///
    /// The site does not know this, so the account is closed and must not be used again.
    pub(super) fn give_up(&mut self, visitor: VisitorId) {
        self.allowance.give_back(1);
        self.standing = Standing::Closed;
        self.claimed.insert(visitor);
    }

    /// Declares that the site is switched off. An open account is closed, and its lease ends. No
    /// account that the site has or had is continued, not even by another global ledger.
    pub(super) fn fence(&mut self, now: Timestamp) {
        if self.standing == Standing::Open {
            self.standing = Standing::Closed;
            self.lease_end = self.lease_end.min(now);
        }
        let before = self.fence.and_then(|fence| fence.incarnation);
        self.fence = Some(Fence::new(self.epoch, self.incarnation.or(before)));
    }

    /// Reclaims all slots of the account.
    pub(super) fn reclaim(&mut self, term: Term) {
        *self = self.next(self.epoch.next(term), Standing::Away);
    }

    /// The next account of the same site.
    fn next(&self, epoch: Epoch, standing: Standing) -> Self {
        let is_drained = self.is_drained;
        let fence = self.fence;
        Self { is_drained, fence, ..Self::new(epoch, standing) }
    }

    /// Declares that an unknown account does not exist. This is called when everything that it may
    /// have held has expired.
    pub(super) fn forget_if_unknown(&mut self) {
        if self.standing == Standing::Unknown {
            self.standing = Standing::Away;
        }
    }

    /// Returns whether an incarnation of the site gets no account, or has to stop using the account
    /// of this epoch, because the site was declared to be off.
    pub(super) fn is_fenced(&self, incarnation: Incarnation, epoch: Option<Epoch>) -> bool {
        self.fence.is_some_and(|fence| {
            fence.incarnation == Some(incarnation)
                || epoch.is_some_and(|epoch| epoch <= fence.epoch)
        })
    }

    /// Returns whether an incarnation is fenced, or the present account is.
    pub(super) fn has_fence(&self) -> bool {
        self.kept().is_fenced()
    }

    /// Returns whether all passes of the account are void.
    pub(super) fn is_spent(&self, rules: &EscrowRules, now: Timestamp) -> bool {
        self.has_account() && self.spent_at(rules) <= now
    }

    /// The notice for other sites that this site can make no more passes. `None` while the site can
    /// make passes, and if this ledger has never heard from the site and thus does not know when
    /// its lease ended.
    pub(super) fn death(&self, site: SiteId, rules: &EscrowRules, now: Timestamp) -> Option<Death> {
        let is_over = self.lease_end + rules.margin() <= now;
        let epoch = self.epoch;
        let heard = self.heard?;
        (self.has_account() && is_over).then_some(Death { site, epoch, heard })
    }

    /// Returns whether the slot of a visitor with this pass may be moved away from this dead site.
    ///
    /// It may be moved if the site cannot have given the slot to another visitor. By its own clock,
    /// the site holds the slot until the pass expires. By the same clock, its lease ends no later
    /// than `lease` after the site sent the newest message that was received.
    pub(super) fn still_holds(&self, pass: &SitePass, lease: Duration) -> bool {
        self.heard() + lease <= pass.expires_at
            && self.allowance.held() > 0
            && !self.claimed.contains(&pass.visitor)
    }

    /// The time at which the newest message that renewed the lease was sent, by the site's clock;
    /// the start of time if there was none.
    pub(super) fn heard(&self) -> Timestamp {
        self.heard.unwrap_or(Timestamp::ZERO)
    }

    /// Returns whether the site may use its slots.
    fn is_live(&self, now: Timestamp) -> bool {
        self.standing == Standing::Open && now < self.lease_end
    }

    /// The slots that the site holds and does not use.
    pub(super) const fn unused(&self) -> u64 {
        self.allowance.held().saturating_sub(self.used)
    }

    /// The contribution of the account to the sums over all accounts.
    pub(super) fn part(&self, rules: &EscrowRules, now: Timestamp) -> Part {
        let is_live = self.is_live(now);
        let asks_until = self.need.holds_until(rules.borrow_wait);
        let is_served = is_live && !self.is_deaf && !self.is_drained;
        let turn = self.next_turn().filter(|_| is_served && now < asks_until);
        let changes = [
            is_live.then_some(self.lease_end),
            turn.map(|_| asks_until),
            self.has_account().then(|| self.spent_at(rules)),
        ];
        Part {
            held: self.allowance.held(),
            unused: if is_live { self.unused() } else { 0 },
            demand: if is_live && !self.is_drained { self.demand } else { 0 },
            is_unknown: self.standing == Standing::Unknown,
            turn: turn.map(|(turn, _)| turn),
            recalled_at: (is_live && self.unused() > 0).then_some(self.recalled_at),
            changes_at: changes.into_iter().flatten().min(),
        }
    }

    /// Returns whether there is an account, open or closed.
    const fn has_account(&self) -> bool {
        matches!(self.standing, Standing::Closed | Standing::Open)
    }

    /// The time at which the last pass of the account is void, by the clock of the global ledger.
    fn spent_at(&self, rules: &EscrowRules) -> Timestamp {
        self.lease_end + rules.margin() + rules.session
    }

    /// The number of slots that the site lacks.
    fn shortage(&self) -> u64 {
        self.need.shortage(self.used, self.allowance.held())
    }

    /// The next turn of a site that lacks slots, and the number of slots that it may get then.
    pub(super) fn next_turn(&self) -> Option<(Turn, u64)> {
        self.need.turn(self.shortage())
    }

    fn note_shortage(&mut self, now: Timestamp) {
        if self.shortage() > 0 {
            self.need.note_shortage(now);
        }
    }
}
