//! Protocols with one rule left out, each of which admits too many visitors.

use std::time::Duration;

use waiting_room_core::Timestamp;
use waiting_room_ledger::{
    EscrowRules, SiteId,
    model::{Heartbeat, RulesDigest, SiteAction, SiteLedger, ToGlobal, ToSite},
};

use crate::world::World;

/// The rule that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mutant {
    /// Messages leave the global ledger before the keeper has stored what they depend on.
    AnswerBeforeKeeping,
    /// An answer that changes nothing leaves before earlier changes are stored.
    AnswerOvertakes,
    /// A grant contains the number of additional slots, and not the total.
    Deltas,
    /// The slots of a dead site are reclaimed when its lease ends, while its passes are valid.
    EarlyReclaim,
    /// A recovered global ledger keeps the account of a site whose lease is over, although visitors
    /// of the site may have been claimed.
    AdoptAnyLease,
    /// A slot is claimed for a visitor that is not on the account yet, so that another visitor can
    /// take it.
    ClaimBeforeSession,
    /// A slot may be claimed by a site that took the visitor on while its home was alive.
    ClaimUnaware,
    /// A new global ledger does not know which sites were fenced, and a site that was off continues
    /// with its ledger.
    ForgetFences,
    /// A new incarnation counts the slots that it inherits as unused.
    NoGhosts,
    /// A lease starts when the site receives the grant.
    LeaseFromReceipt,
    /// A message about an earlier epoch counts for the current one.
    NoEpochCheck,
    /// No rule is left out.
    None,
    /// A message to or from an earlier global ledger counts for the current one.
    NoTermCheck,
    /// Sites have sessions that are twice as long as the global ledger knows.
    OtherRules,
    /// A site that was off continues with its ledger.
    Resume,
    /// A site gives back slots that are in use.
    ReturnInUse,
    /// A slot of a rolling minute is held for a minute by the clock of its site, however fast that
    /// runs.
    ShortMinute,
    /// A repeated request leaves no trace, so that a withdrawal frees the slot of a pass that was
    /// sent.
    WithdrawSent,
}

impl Mutant {
    pub(crate) fn global_rules(self, rules: EscrowRules) -> EscrowRules {
        match self {
            Self::EarlyReclaim => rules.session(Duration::from_nanos(1)),
            _ => rules,
        }
    }

    pub(crate) fn site_rules(self, rules: EscrowRules, session: u64) -> EscrowRules {
        match self {
            Self::OtherRules => rules.session(Duration::from_secs(2 * session)),
            _ => rules,
        }
    }

    /// Whether a site that was off continues with its ledger.
    pub(crate) const fn resumes(self) -> bool {
        matches!(self, Self::ForgetFences | Self::Resume)
    }

    /// Rewrites a message before the global ledger receives it.
    pub(crate) fn rewrite_up(self, message: &ToGlobal, world: &World) -> ToGlobal {
        let mut message = message.clone();
        match &mut message {
            ToGlobal::Claim { heartbeat, pass, death } => {
                self.rewrite_heartbeat(heartbeat, world);
                match self {
                    Self::ClaimBeforeSession => heartbeat.used = heartbeat.used.saturating_sub(1),
                    Self::ClaimUnaware => *death = world.death_for(heartbeat, pass),
                    _ => {}
                }
            }
            ToGlobal::Heartbeat(heartbeat) => self.rewrite_heartbeat(heartbeat, world),
            ToGlobal::Join(join) if self != Self::None => {
                join.rules = RulesDigest::of(&world.kept.rules)
            }
            _ => {}
        }
        message
    }

    fn rewrite_heartbeat(self, heartbeat: &mut Heartbeat, world: &World) {
        if self != Self::None {
            heartbeat.rules = RulesDigest::of(&world.kept.rules);
        }
        match self {
            Self::NoEpochCheck => {
                heartbeat.epoch = world.global.epoch_of(heartbeat.site).unwrap();
            }
            Self::AdoptAnyLease => heartbeat.lease_end = Timestamp::MAX,
            Self::NoTermCheck => heartbeat.term = world.global.term(),
            Self::ReturnInUse => heartbeat.returned = heartbeat.granted,
            _ => {}
        }
    }

    /// Rewrites a message when the global ledger sends it.
    pub(crate) fn rewrite_sent(self, mut message: ToSite, to: SiteId, world: &mut World) -> ToSite {
        if self == Self::Deltas {
            match &mut message {
                ToSite::Grant(grant) => {
                    let told = world.told.insert(to, grant.granted).unwrap_or(0);
                    grant.granted = grant.granted.saturating_sub(told);
                }
                ToSite::Welcome(_) => {
                    world.told.remove(&to);
                }
                _ => {}
            }
        }
        message
    }

    /// Rewrites a message before a site receives it.
    pub(crate) fn rewrite_down(
        self,
        message: &ToSite,
        site: &SiteLedger,
        now: Timestamp,
    ) -> ToSite {
        let mut message = message.clone();
        match (self, &mut message) {
            (Self::Deltas, ToSite::Grant(grant)) => {
                grant.granted += heartbeat_of(site, now).map_or(0, |heartbeat| heartbeat.granted);
            }
            (Self::LeaseFromReceipt, ToSite::Grant(grant)) => {
                grant.heard = now;
            }
            (Self::NoEpochCheck, ToSite::Grant(grant)) => grant.epoch = site.epoch(),
            (Self::NoGhosts, ToSite::Welcome(welcome)) => welcome.inherited = 0,
            (Self::NoTermCheck, ToSite::Grant(grant)) => {
                grant.term = site.term();
            }
            _ => {}
        }
        message
    }
}

/// The heartbeat that a site would send now.
fn heartbeat_of(site: &SiteLedger, now: Timestamp) -> Option<Heartbeat> {
    let question = ToSite::Report { term: site.term() };
    let actions = site.clone().receive(&question, now);
    actions.into_iter().find_map(|action| match action {
        SiteAction::Send(ToGlobal::Heartbeat(heartbeat)) => Some(heartbeat),
        _ => None,
    })
}
