//! The state that the global ledger has for its sites, without their connections.

use std::mem;

use waiting_room_core::{Timestamp, VisitorId};
use waiting_room_ledger::{
    Incarnation, SiteId, Term,
    model::{Admission, GlobalLedger, SiteAction, SiteLedger},
};

use crate::{
    case::{Case, Group, Repeat},
    ledger::process::{RULES, SLOTS},
};

/// The memory of a site: a ledger of all sites, each of which has slots and lacks some.
pub(crate) const MEMORY: Group = Group::new("ledger-memory", &[ACCOUNT]);
/// The only case.
pub(super) const ACCOUNT: Case = Case { name: "an account", set_up: accounts };

fn accounts() -> Repeat {
    Repeat::new(|sites| mem::forget(ledger(u16::try_from(sites).unwrap_or(u16::MAX))))
}

/// A ledger after each of its sites has joined and has asked for more slots than there are. All of
/// it is stored.
fn ledger(sites: u16) -> Option<GlobalLedger> {
    let now = Timestamp::from_secs(1);
    let numbers = (1..=sites).map(SiteId::new);
    let limit = SLOTS * u32::from(sites);
    let mut global = GlobalLedger::new(limit, numbers.clone(), Term::new(1), RULES).ok()?;
    for number in numbers {
        let mut site = SiteLedger::new(number, Incarnation::new(1), RULES, now).ok()?;
        let joins = site.tick(now);
        talk((number, &mut site), &mut global, joins, now);
        for visitor in 0..u128::from(2 * SLOTS) {
            site.arrived();
            let visitor = VisitorId::new(visitor);
            if let Admission::Borrow { request: Some(request), .. } = site.admit(visitor, now) {
                talk((number, &mut site), &mut global, vec![SiteAction::Send(request)], now);
            }
        }
    }
    drop(global.changes());
    Some(global)
}

/// Carries the messages of a site to the ledger, and the answers back, until both are silent.
fn talk(
    (number, site): (SiteId, &mut SiteLedger),
    global: &mut GlobalLedger,
    actions: Vec<SiteAction>,
    now: Timestamp,
) {
    let mut actions = actions;
    for _ in 0..MAX_TURNS {
        let messages = actions.iter().filter_map(|action| {
            if let SiteAction::Send(message) = action { Some(message) } else { None }
        });
        let answers: Vec<_> = messages.flat_map(|message| global.receive(message, now)).collect();
        let answers = answers.iter().filter(|answer| answer.to == number);
        actions = answers.flat_map(|answer| site.receive(&answer.message, now)).collect();
        if actions.is_empty() {
            return;
        }
    }
}

/// The most messages of a site before the ledger has told it what it may use.
const MAX_TURNS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// With debug assertions, each message costs a visit of all sites.
    const SITES: u16 = 200;

    #[test]
    fn a_site_takes_less_than_a_kibibyte_of_the_ledger() {
        let mut kept = None;
        let counted = allocation_counter::measure(|| kept = ledger(SITES));
        let kept = kept.unwrap();
        assert!(kept.held() > 9 * u64::from(SITES), "the sites hold {}", kept.held());
        let bytes = counted.bytes_current / i64::from(SITES);
        println!("{bytes} bytes a site");
        assert!((1..=1_024).contains(&bytes), "{bytes} bytes");
    }
}
