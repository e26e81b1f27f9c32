//! Visitors who arrive at one site with a pass of another. Each site has a room and a clock of its own.

use std::{num::NonZeroU32, time::Duration};

use http::Request;
use tower_waiting_room::{
    KeyRing, StoreFailure,
    config::WaitingRoomConfigBuilder,
    room::{QueueingMethod, SessionRenewal, StoreErrorKind},
    time::{ManualClock, Timestamp},
};
use waiting_room_core::{Store, room::PassHome};
use waiting_room_doubles::{Mood, StoreDouble, Verb};

use crate::support::{House, Seen, Visitor, config, key, on_store, post};

/// Calls overlap.
const WORKS: Mood = Mood::Late(Duration::ZERO);
const BUSY: Mood = Mood::Fails(StoreErrorKind::Busy);
const CUT: Mood = Mood::Fails(StoreErrorKind::Unavailable);

/// The visitors whom a store was asked about.
fn asked(room: &StoreDouble) -> u32 {
    room.calls(&Verb::OF_VISITORS)
}

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

/// A site of this number, or a room without other sites, whose clock shows `now`.
fn site_at(
    number: Option<u16>,
    config: WaitingRoomConfigBuilder,
    now: Timestamp,
    on_failure: StoreFailure,
) -> (House, StoreDouble) {
    let config = config.build().unwrap();
    let clock = ManualClock::new(now);
    let home = number.map(|number| PassHome::new(number, 7, 3));
    let room = StoreDouble::with_clock(config.room().unwrap().clone(), &clock).at_home(home);
    room.set(&Verb::OF_VISITORS, WORKS);
    let layer = on_store(config, room.clone(), on_failure);
    (House::with_store(layer, clock), room)
}

fn site(number: u16, config: WaitingRoomConfigBuilder) -> (House, StoreDouble) {
    site_at(Some(number), config, START, StoreFailure::Wait)
}

/// Another node of a site.
fn another_node(house: &House, room: StoreDouble) -> House {
    let config = config().build().unwrap();
    let layer = on_store(config, room, StoreFailure::Wait);
    House::with_store(layer, house.clock.clone())
}

/// Two sites with one slot each.
fn two_sites() -> [(House, StoreDouble); 2] {
    [site(1, config()), site(2, config())]
}

/// A visitor whom a site has admitted.
async fn admitted(house: &House) -> Visitor {
    let mut visitor = Visitor::default();
    assert_eq!(visitor.get(house).await.reason, "admitted:slot");
    visitor
}

/// A request of a client that reads JSON.
async fn poll(visitor: &mut Visitor, house: &House) -> Seen {
    visitor.send(house, Request::get("/").header("accept", "application/json")).await
}

/// The seconds after which a visitor is asked to come back.
fn due(seen: &Seen) -> u64 {
    seen.header("retry-after").unwrap().parse().unwrap()
}

fn position(seen: &Seen) -> u64 {
    seen.json()["waitingRoom"]["position"].as_u64().unwrap_or_else(|| panic!("{}", seen.body))
}

#[tokio::test]
async fn moving_gives_a_slot_and_a_pass_of_the_new_site() {
    let [(paris, _), (tokyo, room)] = two_sites();
    let mut ann = admitted(&paris).await;
    let from_paris = ann.cookie.clone();
    let moved = ann.get(&tokyo).await;
    assert_eq!((moved.is_inside(), &*moved.reason), (true, "admitted:moved"));
    assert_ne!(ann.cookie, from_paris);
    assert_eq!((tokyo.active().await, asked(&room)), (1, 1));
    // From now on its pass is one of this site: no call to the store, and renewals as usual.
    assert_eq!((ann.get(&tokyo).await.reason.as_str(), asked(&room)), ("admitted", 1));
    // Paris keeps its slot for a while, so the visitor is inside there, too.
    assert_eq!(ann.clone().get(&paris).await.reason, "admitted");
    assert_eq!(paris.active().await, 1);
    for _ in 0..3 {
        paris.advance(80);
        tokyo.advance(80);
        assert!(ann.get(&tokyo).await.is_inside());
    }
    assert_eq!((paris.active().await, tokyo.active().await), (0, 1));
    assert_eq!(ann.get(&paris).await.reason, "admitted:moved");
}

#[tokio::test]
async fn moving_to_a_full_room_waits_at_the_front_and_keeps_the_turn() {
    let [(paris, _), (tokyo, _)] = two_sites();
    let mut ann = admitted(&paris).await;
    let mut bob = admitted(&tokyo).await;
    let mut carol = Visitor::default();
    let carol_due = due(&carol.queue(&tokyo).await);
    let waits = poll(&mut ann, &tokyo).await;
    assert_eq!((&*waits.reason, position(&waits)), ("queued:active_limit", 1));
    bob.send(&tokyo, Request::get("/").header("x-end", "1")).await;
    tokyo.advance(carol_due);
    assert_eq!(poll(&mut carol, &tokyo).await.reason, "queued:behind_others");
    tokyo.advance(due(&waits).saturating_sub(carol_due));
    assert_eq!(ann.get(&tokyo).await.reason, "admitted:slot");
}

#[tokio::test]
async fn a_moving_visitor_waits_even_in_a_room_without_a_line() {
    let rejects = config().queueing_method(QueueingMethod::Reject);
    let (paris, _) = site(1, config());
    let (tokyo, _) = site(2, rejects);
    let mut ann = admitted(&paris).await;
    admitted(&tokyo).await;
    assert_eq!(Visitor::default().get(&tokyo).await.reason, "refused:reject");
    assert_eq!(ann.get(&tokyo).await.reason, "queued:active_limit");
}

#[tokio::test]
async fn fifty_parallel_requests_with_one_foreign_pass_make_one_call() {
    let [(paris, _), (tokyo, room)] = two_sites();
    let ann = admitted(&paris).await;
    let visits = (0..50).map(|_| {
        let mut copy = ann.clone();
        let tokyo = tokyo.clone();
        tokio::spawn(async move { (copy.get(&tokyo).await, copy.cookie) })
    });
    let mut moved = 0;
    let mut others = 0;
    for visit in visits.collect::<Vec<_>>() {
        let (seen, cookie) = visit.await.unwrap();
        assert!(seen.is_inside() && cookie != ann.cookie);
        moved += u32::from(seen.reason == "admitted:moved");
        others += u32::from(seen.reason == "admitted");
    }
    assert_eq!((asked(&room), moved, others), (1, 1, 49));
    // A request that comes later with the old cookie gets the pass without the store.
    let seen = ann.clone().get(&tokyo).await;
    assert_eq!((&*seen.reason, seen.cookie().is_some(), asked(&room)), ("admitted", true, 1));
    // Once that pass is due, the store is asked, and the session goes on.
    tokyo.advance(11);
    assert_eq!((ann.clone().get(&tokyo).await.reason.as_str(), asked(&room)), ("admitted", 2));
    assert_eq!(tokyo.active().await, 1);
}

#[tokio::test]
async fn in_an_outage_a_moving_visitor_keeps_its_pass_and_retries() {
    let failures = [
        (StoreFailure::Wait, CUT, false, "store_unavailable"),
        (StoreFailure::Admit, CUT, true, "store_unavailable"),
        (StoreFailure::Wait, BUSY, false, "queued:store_busy"),
        (StoreFailure::Admit, BUSY, false, "queued:store_busy"),
    ];
    for (policy, mood, is_inside, reason) in failures {
        let (paris, _) = site(1, config());
        let (tokyo, room) = site_at(Some(2), config(), START, policy);
        let mut ann = admitted(&paris).await;
        let from_paris = ann.cookie.clone();
        room.set(&Verb::OF_VISITORS, mood);
        for _ in 0..2 {
            let seen = ann.get(&tokyo).await;
            assert_eq!((seen.is_inside(), &*seen.reason), (is_inside, reason), "{policy:?}");
            assert_eq!((seen.cookie(), &ann.cookie), (None, &from_paris), "{policy:?}");
        }
        room.set(&Verb::OF_VISITORS, WORKS);
        assert_eq!(ann.get(&tokyo).await.reason, "admitted:moved", "{policy:?}");
    }
}

#[tokio::test]
async fn a_node_without_its_store_counts_a_moving_visitor() {
    let nodes = StoreFailure::LocalShare { nodes: NonZeroU32::new(1).unwrap() };
    let (paris, _) = site(1, config());
    let (tokyo, room) = site_at(Some(2), config(), START, nodes);
    let mut ann = admitted(&paris).await;
    room.set(&Verb::OF_VISITORS, CUT);
    assert_eq!(ann.get(&tokyo).await.reason, "store_unavailable");
    tokyo.advance(2);
    assert_eq!(ann.get(&tokyo).await.reason, "admitted:local_share");
    assert_eq!(ann.get(&tokyo).await.reason, "admitted");
    assert_eq!(Visitor::default().get(&tokyo).await.reason, "queued:active_limit");
}

#[tokio::test]
async fn a_pass_that_is_forged_or_of_another_room_or_key_gets_no_slot() {
    let [(paris, _), (tokyo, room)] = two_sites();
    let ann = admitted(&paris).await;
    admitted(&tokyo).await;
    let cookie = ann.cookie.clone().unwrap();
    let middle = cookie.len() / 2;
    let other = if cookie.as_bytes()[middle] == b'A' { "B" } else { "A" };
    let forged = format!("{}{other}{}", &cookie[..middle], &cookie[middle + 1..]);
    let (elsewhere, _) = site(1, config().keys(KeyRing::new(key(2))));
    let of_another_key = admitted(&elsewhere).await.cookie;
    for cookie in [Some(forged), of_another_key] {
        let mut visitor = Visitor { cookie };
        assert_eq!(visitor.get(&tokyo).await.reason, "queued:active_limit");
        assert!(poll(&mut visitor, &tokyo).await.reason == "queued:early", "it is a newcomer");
    }
    // Without a line, a newcomer leaves no trace.
    assert_eq!(room.snapshot().await.unwrap().waiting, 0);
}

/// Passes of 80 s expire after 90 s. The clocks of two sites may differ by 30 s.
#[tokio::test]
async fn a_pass_that_expired_beyond_the_clock_tolerance_is_void() {
    for (secs, expected) in [(89, "moved"), (119, "moved"), (120, "slot"), (200, "slot")] {
        let [(paris, _), (tokyo, room)] = two_sites();
        let mut ann = admitted(&paris).await;
        tokyo.advance(secs);
        assert_eq!(ann.get(&tokyo).await.reason, format!("admitted:{expected}"), "{secs} s");
        assert_eq!(asked(&room), 1, "it costs one call");
    }
    // A clock that is five minutes behind takes the pass for one that was issued now.
    for (secs, expected) in [(300, "moved"), (301, "slot")] {
        let (paris, _) = site(1, config());
        let behind = START.before(Duration::from_secs(secs));
        let (tokyo, _) = site_at(Some(2), config(), behind, StoreFailure::Wait);
        let mut ann = admitted(&paris).await;
        assert_eq!(ann.get(&tokyo).await.reason, format!("admitted:{expected}"), "{secs} s");
    }
}

#[tokio::test]
async fn a_fixed_session_is_not_extended_by_a_move() {
    let fixed = || config().session_renewal(SessionRenewal::Fixed);
    let (paris, _) = site(1, fixed());
    let (tokyo, _) = site(2, fixed());
    let mut ann = admitted(&paris).await;
    tokyo.advance(50);
    assert_eq!(ann.get(&tokyo).await.reason, "admitted:moved");
    tokyo.advance(29);
    assert_eq!(ann.get(&tokyo).await.reason, "admitted");
    tokyo.advance(1);
    assert_eq!(ann.get(&tokyo).await.reason, "queued:active_limit", "80 s are over");
}

#[tokio::test]
async fn after_leaving_a_site_a_pass_of_another_does_not_readmit() {
    let [(paris, _), (tokyo, room)] = two_sites();
    let another_node = another_node(&tokyo, room);
    let mut ann = admitted(&paris).await;
    let mut copy = ann.clone();
    ann.get(&tokyo).await;
    ann.send(&tokyo, Request::get("/").header("x-end", "1")).await;
    assert_eq!(tokyo.active().await, 0);
    admitted(&tokyo).await;
    for node in [&tokyo, &another_node] {
        assert_eq!(copy.clone().get(node).await.reason, "queued:active_limit");
    }
    assert_eq!(tokyo.handle().room().unwrap().snapshot().await.unwrap().waiting, 0);
    // An end counts at its site only.
    let (third, _) = site(3, config());
    assert_eq!(copy.get(&third).await.reason, "admitted:moved");
}

#[tokio::test]
async fn a_pass_without_a_home_is_foreign_to_a_site_and_vice_versa() {
    let alone = || site_at(None, config(), START, StoreFailure::Wait);
    for ((from, _), (to, room)) in [(alone(), site(1, config())), (site(1, config()), alone())] {
        let mut ann = admitted(&from).await;
        assert_eq!(ann.get(&to).await.reason, "admitted:moved");
        assert_eq!((ann.get(&to).await.reason.as_str(), asked(&room)), ("admitted", 1));
    }
    // A room without other sites issues passes without a home, which all its nodes accept.
    let (first, _) = alone();
    let (second, room) = alone();
    assert_eq!(admitted(&first).await.get(&second).await.reason, "admitted");
    assert_eq!(asked(&room), 0);
}

#[tokio::test]
async fn a_site_with_another_account_accepts_its_passes_from_before() {
    let (before, _) = site(1, config());
    let (after, room) = site(1, config());
    let room = room.at_home(Some(PassHome::new(1, 8, 1)));
    let after = another_node(&after, room.clone());
    let mut ann = admitted(&before).await;
    assert_eq!((ann.get(&after).await.reason.as_str(), asked(&room)), ("admitted", 0));
}

#[tokio::test]
async fn a_waiting_visitor_keeps_its_order_of_arrival_at_another_site() {
    let [(paris, _), (tokyo, _)] = two_sites();
    admitted(&paris).await;
    admitted(&tokyo).await;
    let mut ann = Visitor::default();
    ann.queue(&paris).await;
    tokyo.advance(3);
    let mut bob = Visitor::default();
    bob.queue(&tokyo).await;
    // Both are due, whatever the jitter is.
    tokyo.advance(30);
    assert_eq!(position(&poll(&mut ann, &tokyo).await), 1);
    assert_eq!(position(&poll(&mut bob, &tokyo).await), 2);
}

#[tokio::test]
async fn a_moving_visitor_is_not_challenged_and_not_sent_to_a_linked_place() {
    let challenges = config()
        .challenge(|_| Some(http::Response::new("How much is that?")))
        .transfer_path("/transfer");
    let (paris, _) = site(1, config());
    let (tokyo, _) = site(2, challenges);
    let mut ann = admitted(&paris).await;
    let from_paris = ann.cookie.clone();
    assert_eq!(Visitor::default().get(&tokyo).await.reason, "refused:challenged");
    // The link is one of the other site.
    let (other, _) = site(1, config().transfer_path("/transfer"));
    admitted(&other).await;
    let mut bob = Visitor::default();
    bob.queue(&other).await;
    let link = bob.send(&other, post("/transfer")).await;
    let link = link.json()["transfer"].as_str().unwrap().to_owned();
    let linked = ann.send(&tokyo, post("/transfer").header("waiting-room-transfer", link)).await;
    assert_eq!((linked.status.as_u16(), &ann.cookie), (204, &from_paris));
    assert_eq!(ann.get(&tokyo).await.reason, "admitted:moved");
}
