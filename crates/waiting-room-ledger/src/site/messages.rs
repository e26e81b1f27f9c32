//! The messages between the room of a site and the global ledger, as numbers for the scripts of the
//! room and as the ledgers know them.

use waiting_room_core::Timestamp;
use waiting_room_redis::site::{AccountReport, EpochNumbers, GlobalNews, SiteTimes};

use crate::{
    SiteId,
    escrow::{
        Epoch, EscrowRules, Heartbeat, Incarnation, Join, LineFront, Refusal, RulesDigest, Term,
        ToGlobal, ToSite,
    },
};

/// The message about the account of a site whose room reported at `sent_at`: the state of the
/// account or, if the site has none, a request to open one.
pub(super) fn to_global(
    site: SiteId,
    rules: RulesDigest,
    sent_at: Timestamp,
    report: &AccountReport,
) -> ToGlobal {
    let incarnation = Incarnation::new(report.incarnation);
    let epoch = epoch(report.epoch);
    if !report.has_account {
        return ToGlobal::Join(Join { site, incarnation, after: epoch, sent_at, rules });
    }
    ToGlobal::Heartbeat(Heartbeat {
        site,
        incarnation,
        term: Term::new(report.term),
        epoch,
        sent_at,
        lease_end: report.lease_end,
        rules,
        granted: report.granted,
        returned: report.returned,
        used: report.used,
        want: report.wanted,
        demand: report.demand,
        front: front(report),
    })
}

/// The oldest visitors who want slots.
fn front(report: &AccountReport) -> LineFront {
    let mut front = LineFront::new();
    report.front.iter().for_each(|&(arrived, visitors)| front.add(arrived, visitors));
    front
}

/// The term and the news of a message for the room; `None` if the room has no use for the message.
pub(super) fn for_room(message: &ToSite) -> Option<(u32, GlobalNews)> {
    let news = match message {
        ToSite::Grant(grant) => GlobalNews::Grant {
            epoch: numbers(grant.epoch),
            heard: grant.heard,
            lease: grant.lease,
            granted: grant.granted,
            reserve: grant.reserve,
            recall: grant.recall,
        },
        ToSite::Refused(refused) => GlobalNews::Refused {
            incarnation: refused.incarnation.bits(),
            over: numbers(refused.over),
            is_fenced: refused.reason == Refusal::Fenced,
        },
        ToSite::Report { .. } => GlobalNews::Report,
        ToSite::Stale { over, current, .. } => {
            GlobalNews::Stale { over: numbers(*over), current: numbers(*current) }
        }
        ToSite::Tickets(tickets) => GlobalNews::Tickets {
            incarnation: tickets.incarnation.bits(),
            minute: tickets.minute.number(),
            total: tickets.total,
            is_dry: tickets.is_dry,
        },
        ToSite::Welcome(welcome) => GlobalNews::Welcome {
            epoch: numbers(welcome.epoch),
            incarnation: welcome.incarnation.bits(),
            heard: welcome.heard,
            lease: welcome.lease,
            inherited: welcome.inherited,
        },
        // Rooms do not take over visitors from dead sites, and the agent keeps the world for them.
        ToSite::Dead { .. } | ToSite::World(_) => return None,
    };
    Some((message.term().number(), news))
}

/// The times of the rules that the scripts need.
pub(super) fn times(rules: &EscrowRules) -> SiteTimes {
    let [(_, session), _, (_, margin), (_, heartbeat), _] = rules.times();
    SiteTimes { session, margin, heartbeat }
}

const fn epoch((term, count): EpochNumbers) -> Epoch {
    Epoch::new(Term::new(term), count)
}

const fn numbers(epoch: Epoch) -> EpochNumbers {
    (epoch.term().number(), epoch.count())
}
