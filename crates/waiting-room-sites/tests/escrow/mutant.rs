//! Protocols with a rule left out, each of which lets too many in.

use std::time::Duration;

use waiting_room_core::Timestamp;
use waiting_room_sites::{
    SiteId,
    escrow::{EscrowRules, Heartbeat, SiteAction, SiteLedger, ToGlobal, ToSite},
};

use crate::world::World;

/// Which rule is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mutant {
    /// A grant says how many slots there are more, and not how many there are in all.
    Deltas,
    /// The slots of a dead site are taken back when its lease is over, while its passes are valid.
    EarlyReclaim,
    /// A lost global ledger takes over what a site says whose lease is over, and whose visitors may
    /// have been claimed.
    AdoptAnyLease,
    /// A slot is claimed for a visitor who is not on the account yet, so that it goes to whoever
    /// comes first.
    ClaimBeforeSession,
    /// A slot may be claimed by a site that took the visitor on while its home was alive.
    ClaimUnaware,
    /// A new incarnation takes what it inherits for unused.
    NoGhosts,
    /// A lease runs from when the site hears of it.
    LeaseFromReceipt,
    /// What is said of an epoch that is over counts for the one after it.
    NoEpochCheck,
    /// Nothing is left out.
    None,
    /// What is said of an earlier global ledger, or by it, counts for the one after it.
    NoTermCheck,
    /// A site gives back slots that are in use.
    ReturnInUse,
    /// Asking again leaves no trace, so that a withdrawal frees the slot of a pass that was sent.
    WithdrawSent,
}

impl Mutant {
    pub(crate) fn global_rules(self, rules: EscrowRules) -> EscrowRules {
        match self {
            Self::EarlyReclaim => rules.session(Duration::from_nanos(1)),
            _ => rules,
        }
    }

    /// A message as the global ledger hears it.
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
            _ => {}
        }
        message
    }

    fn rewrite_heartbeat(self, heartbeat: &mut Heartbeat, world: &World) {
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

    /// A message as the global ledger sends it.
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

    /// A message as a site hears it.
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

/// What a site would say now.
fn heartbeat_of(site: &SiteLedger, now: Timestamp) -> Option<Heartbeat> {
    let question = ToSite::Report { term: site.term() };
    let actions = site.clone().receive(&question, now);
    actions.into_iter().find_map(|action| match action {
        SiteAction::Send(ToGlobal::Heartbeat(heartbeat)) => Some(heartbeat),
        _ => None,
    })
}
