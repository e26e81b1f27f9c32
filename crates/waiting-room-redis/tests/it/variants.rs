//! Each variant of each option of a room's rules, on each engine: another node reads it as it was
//! written, and the room decides as it does in memory.
//!
//! The tests in `limits` do the same with each algorithm.

use std::{iter::successors, num::NonZeroU16, time::Duration};

use waiting_room_core::{
    MemoryStore, Pass, RoomRules, Store, Ticket, Verdict, VisitorId,
    rate::Algorithm,
    room::{
        CookieTest, Network, QueueingMethod, Recovery, Renewal, RoomMode, SessionRenewal, Shares,
    },
    time::ManualClock,
};

use crate::{
    limits::support::{START, all},
    support::{connect, on_each, patient, start},
};

#[tokio::test(flavor = "multi_thread")]
async fn every_option_of_the_rules_decides_as_in_memory() {
    on_each(async |engine| {
        let server = start(engine);
        for (number, rules) in variants().into_iter().enumerate() {
            let clock = ManualClock::new(START);
            let memory = MemoryStore::with_clock(rules.clone(), clock.clone()).unwrap();
            let expected = decisions(&memory, &clock).await;

            let clock = ManualClock::new(START);
            let options = patient().prefix(format!("decides:{number}")).clock(clock.clone());
            let store = connect(&server, rules.clone(), options).await.unwrap();
            assert_eq!(decisions(&store, &clock).await, expected, "{engine}: {rules:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_option_of_the_rules_reaches_other_nodes() {
    on_each(async |engine| {
        let server = start(engine);
        for (number, changed) in variants().into_iter().enumerate() {
            let options = || patient().prefix(format!("reaches:{number}"));
            let here = connect(&server, rules(), options()).await.unwrap();
            here.configure(|_| changed.clone()).await.unwrap();
            let there = connect(&server, rules(), options()).await.unwrap();
            assert_eq!(*there.rules(), changed, "{engine}");
        }
    })
    .await;
}

/// If an option had no effect on the decisions, a store that mistakes it for another option would
/// pass.
#[tokio::test]
async fn the_decisions_tell_every_option_from_the_default() {
    let clock = ManualClock::new(START);
    let usual = decisions(&MemoryStore::with_clock(rules(), clock.clone()).unwrap(), &clock).await;
    for changed in variants() {
        let clock = ManualClock::new(START);
        let memory = MemoryStore::with_clock(changed.clone(), clock.clone()).unwrap();
        let is_usual = decisions(&memory, &clock).await == usual;
        // The layer does not ask a suspended room.
        let has_effect = changed != rules() && changed.mode != RoomMode::Suspended;
        assert_eq!(is_usual, !has_effect, "{changed:?}");
    }
}

#[test]
fn every_algorithm_is_listed() {
    let mut names: Vec<_> = all().iter().map(Algorithm::as_str).collect();
    names.dedup();
    assert_eq!(names, Algorithm::ALL.map(|algorithm| algorithm.as_str()));
}

/// Returns what the store decides about a few visitors of one network, and what it counts.
async fn decisions(store: &impl Store, clock: &ManualClock) -> Vec<String> {
    let mut seen = Vec::new();
    let mut passes: Vec<Pass> = Vec::new();
    let mut tickets: Vec<Ticket> = Vec::new();
    for id in 1..=8 {
        let id =
            VisitorId::new(id << 64 | id).of_network(Some(Network::new(NonZeroU16::MIN, 0, 7)));
        clock.advance(Duration::from_millis(100));
        let verdict = store.enter(id).await.unwrap();
        seen.push(said(&verdict, &mut passes, &mut tickets));
    }
    for pause in [2, 2, 2, 2, 45, 15] {
        clock.advance(Duration::from_secs(pause));
        // While all visitors are present, the last visitor to enter checks in first, so only the
        // room determines the order of admission.
        for ticket in std::mem::take(&mut tickets).into_iter().rev() {
            let verdict = store.check_in(ticket).await.unwrap();
            seen.push(said(&verdict, &mut passes, &mut tickets));
        }
        tickets.reverse();
        for pass in std::mem::take(&mut passes) {
            let renewal = store.renew(pass).await.unwrap();
            seen.push(format!("{renewal:?}"));
            if let Renewal::Renew(pass) = renewal {
                passes.push(pass);
            }
        }
        if let Some(pass) = passes.pop() {
            store.leave(pass.id).await.unwrap();
        }
        let snapshot = store.snapshot().await.unwrap();
        seen.push(format!("{} active, {} waiting", snapshot.active, snapshot.waiting));
    }
    seen
}

/// Keeps the proof in a verdict, and returns the parts of the verdict that all stores have in common.
fn said(verdict: &Verdict, passes: &mut Vec<Pass>, tickets: &mut Vec<Ticket>) -> String {
    match verdict {
        Verdict::Admit { pass, reason } => {
            passes.push(*pass);
            format!("{reason} {pass:?}")
        }
        Verdict::Refuse { ticket, reason, .. } => {
            tickets.extend(ticket);
            reason.to_string()
        }
        Verdict::Wait { ticket, reason } => {
            tickets.push(*ticket);
            format!("{reason} {:?}", ticket.shown_position)
        }
    }
}

fn rules() -> RoomRules {
    RoomRules::new("shop", 2)
        .session_duration(Duration::from_secs(40))
        .refresh_interval(Duration::from_secs(20))
        .place_retention(Duration::from_secs(300))
}

/// Returns the rules with each variant of each option. A variant that is added to an option does not
/// compile until it has a place in its order here.
fn variants() -> Vec<RoomRules> {
    let methods = successors(Some(QueueingMethod::Fifo), |method| match method {
        QueueingMethod::Fifo => Some(QueueingMethod::Passthrough),
        QueueingMethod::Passthrough => Some(QueueingMethod::Random),
        QueueingMethod::Random => Some(QueueingMethod::Reject),
        QueueingMethod::Reject => None,
    });
    let modes = successors(Some(RoomMode::Auto), |mode| match mode {
        RoomMode::Auto => Some(RoomMode::Drain),
        RoomMode::Drain => Some(RoomMode::QueueAll),
        RoomMode::QueueAll => Some(RoomMode::Suspended),
        RoomMode::Suspended => None,
    });
    let tests = successors(Some(CookieTest::AboveUtilization(0)), |test| match test {
        CookieTest::AboveUtilization(_) => Some(CookieTest::Off),
        CookieTest::Off => None,
    });
    let renewals = successors(Some(SessionRenewal::Fixed), |renewal| match renewal {
        SessionRenewal::Fixed => Some(SessionRenewal::Sliding),
        SessionRenewal::Sliding => None,
    });
    let shares = successors(Some(Shares::Limit(1)), |share| match share {
        Shares::Limit(_) => Some(Shares::Off),
        Shares::Off => Some(Shares::Shadow(1)),
        Shares::Shadow(_) => Some(Shares::Auto),
        Shares::Auto => None,
    });
    let recoveries = successors(Some(Recovery::AdmitAtOnce), |recovery| match recovery {
        Recovery::AdmitAtOnce => Some(Recovery::Pause),
        Recovery::Pause => None,
    });
    let methods = methods.map(|method| rules().queueing_method(method));
    let modes = modes.map(|mode| rules().mode(mode));
    let tests = tests.map(|test| rules().cookie_test(test));
    let renewals = renewals.map(|renewal| rules().session_renewal(renewal));
    let shares = shares.map(|share| rules().shares(share));
    let recoveries = recoveries.map(|recovery| rules().recovery(recovery));
    methods.chain(modes).chain(tests).chain(renewals).chain(shares).chain(recoveries).collect()
}
