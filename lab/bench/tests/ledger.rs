//! The memory that the global ledger takes for its sites, without their connections.

use std::time::Duration;

use waiting_room_core::{Timestamp, VisitorId};
use waiting_room_ledger::{
    EscrowRules, SiteId,
    model::{Admission, GlobalLedger, Incarnation, SiteAction, SiteLedger, Term},
};

#[test]
fn a_site_takes_less_than_a_kibibyte_of_the_ledger() {
    let mut kept = None;
    let counted = allocation_counter::measure(|| kept = Some(ledger()));
    let kept = kept.unwrap();
    assert!(kept.held() > 9 * u64::from(SITES), "the sites hold {}", kept.held());
    let bytes = counted.bytes_current / i64::from(SITES);
    println!("{bytes} bytes a site");
    assert!((1..=1_024).contains(&bytes), "{bytes} bytes");
}

/// A ledger after each of its sites has joined and has asked for more slots than there are. All of
/// it is stored.
fn ledger() -> GlobalLedger {
    let now = Timestamp::from_secs(1);
    let numbers = (1..=SITES).map(SiteId::new);
    let limit = SLOTS * u32::from(SITES);
    let mut global = GlobalLedger::new(limit, numbers.clone(), Term::new(1), RULES)
        .expect("the rules are valid");
    for number in numbers {
        let mut site =
            SiteLedger::new(number, Incarnation::new(1), RULES, now).expect("the rules are valid");
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
    global
}

/// Carries the messages of a site to the ledger, and the answers back, until both are silent.
fn talk(
    (number, site): (SiteId, &mut SiteLedger),
    global: &mut GlobalLedger,
    mut actions: Vec<SiteAction>,
    now: Timestamp,
) {
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

/// With debug assertions, each message costs a visit of all sites.
const SITES: u16 = 200;

/// The slots for each site.
const SLOTS: u32 = 10;

const RULES: EscrowRules =
    EscrowRules::new().session(Duration::from_secs(10)).heartbeat(Duration::from_secs(1));

/// The maximum number of messages of a site before the ledger has told it what it may use.
const MAX_TURNS: u32 = 8;
