//! Outages of the store, and its return.

use std::{num::NonZeroU32, time::Duration};

use futures_util::FutureExt;
use http::Request;
use tokio::time::timeout;
use tower_waiting_room::{
    StoreFailure, WaitingRoomConfig,
    config::WaitingRoomConfigBuilder,
    room::{MemoryStore, RoomRules, StoreErrorKind},
    time::{ManualClock, Timestamp},
};
use waiting_room_doubles::{Mood, StoreDouble, Verb};

use crate::support::{House, Seen, Visitor, config, on_store};

const BUSY: Mood = Mood::Fails(StoreErrorKind::Busy);

/// One of two nodes of a room with six slots.
fn house(on_failure: StoreFailure) -> (House, StoreDouble) {
    let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
    let config = config().total_active_users(6).build().unwrap();
    let remote = StoreDouble::with_clock(config.room().unwrap().clone(), &clock);
    let layer = on_store(config, remote.clone(), on_failure);
    (House::with_store(layer, clock), remote)
}

fn local_share() -> StoreFailure {
    StoreFailure::LocalShare { nodes: NonZeroU32::new(2).unwrap() }
}

fn codes(house: &House) -> Vec<&'static str> {
    house
        .layer
        .handle()
        .misconfigurations()
        .iter()
        .map(|misconfiguration| misconfiguration.code())
        .collect()
}

/// The store may have admitted the visitor although its answer arrived too late. That session must
/// still last when the visitor asks again.
#[tokio::test]
async fn a_visitor_returns_before_a_session_of_an_unanswered_call_ends() {
    let cases =
        [(300, 20, "5"), (10, 20, "5"), (5, 20, "3"), (2, 20, "1"), (300, 4, "4"), (300, 2, "2")];
    for (session, refresh, retry_after) in cases {
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
        let [session, refresh] = [session, refresh].map(Duration::from_secs);
        let config = config().session_duration(session).refresh_interval(refresh);
        let config = config.build().unwrap();
        let remote = StoreDouble::with_clock(config.room().unwrap().clone(), &clock);
        let layer = on_store(config, remote.clone(), StoreFailure::Wait);
        remote.cut();
        let seen = Visitor::default().get(&House::with_store(layer, clock)).await;
        assert_eq!(seen.header("retry-after"), Some(retry_after), "{session:?}, {refresh:?}");
    }
}

#[tokio::test]
async fn a_store_that_may_lose_writes_is_reported_once_known() {
    let (house, remote) = house(StoreFailure::Wait);
    newcomer(&house).await;
    assert_eq!(codes(&house), ["peer_unknown"]);
    remote.says_it_may_evict();
    newcomer(&house).await;
    assert_eq!(codes(&house), ["peer_unknown", "store_may_evict"]);
}

#[test]
fn a_room_has_the_rules_of_its_store() {
    let rules = RoomRules::new("shop", 6).session_duration(Duration::from_secs(70));
    let store = MemoryStore::new(rules.clone()).unwrap();
    let bare = || WaitingRoomConfig::builder("shop").room_store(store.clone(), StoreFailure::Wait);
    let config = bare().build().unwrap();
    assert_eq!(config.room(), Some(&rules));
    // A configuration may have the same rules, as one from a file does.
    let again = config.into_builder().total_active_users(6).build().unwrap();
    assert_eq!(again.room(), Some(&rules));
    let same = bare().total_active_users(6).session_duration(Duration::from_secs(70));
    assert_eq!(same.build().unwrap().room(), Some(&rules));

    let error = |config: WaitingRoomConfigBuilder| config.build().unwrap_err().to_string();
    assert_eq!(
        error(bare().total_active_users(7).session_duration(Duration::from_secs(70))),
        "room_store is a store with total_active_users = 6, expected total_active_users = 7, as in \
         the configuration, or a configuration without rules"
    );
    assert!(error(bare().total_active_users(6)).starts_with("room_store is a store with session"));
    assert!(error(bare().line_capacity(7)).starts_with("room_store is a store with"));
    let other = WaitingRoomConfig::builder("sale").room_store(store.clone(), StoreFailure::Wait);
    assert_eq!(
        error(other),
        "room_store is one of \"shop\", expected a store for the room \"sale\""
    );
}

/// Admits newcomers until the room is full.
async fn fill(house: &House) {
    while newcomer(house).await.1 == "admitted:slot" {}
}

/// A request of a client that reads JSON.
fn poll() -> http::request::Builder {
    http::Request::get("/").header("accept", "application/json")
}

/// The time of arrival that is reported to a waiting visitor.
fn waiting_since(seen: &Seen) -> String {
    let since = &seen.json()["waitingRoom"]["waitingSince"];
    since.as_str().unwrap_or_else(|| panic!("{}", seen.body)).to_owned()
}

async fn newcomer(house: &House) -> (Visitor, String) {
    let mut visitor = Visitor::default();
    let reason = visitor.get(house).await.reason;
    (visitor, reason)
}

#[tokio::test]
async fn each_failure_policy_acts_as_named() {
    for (policy, is_inside) in [(StoreFailure::Admit, true), (StoreFailure::Wait, false)] {
        let (house, remote) = house(policy);
        let (mut ann, _) = newcomer(&house).await;
        remote.cut();
        house.advance(60);
        let mut bob = Visitor::default();
        let seen = bob.get(&house).await;
        assert_eq!((seen.is_inside(), seen.reason.as_str()), (is_inside, "store_unavailable"));
        assert_eq!(bob.cookie, None, "no node has counted the session");
        assert!(ann.get(&house).await.is_inside(), "a pass goes on");
    }
}

#[tokio::test]
async fn an_overloaded_store_makes_visitors_wait_under_every_policy() {
    for policy in [StoreFailure::Admit, StoreFailure::Wait, local_share()] {
        let (house, remote) = house(policy);
        let (mut ann, _) = newcomer(&house).await;
        remote.set(&Verb::ALL, BUSY);
        let mut bob = Visitor::default();
        for advanced in [0, 3] {
            house.advance(advanced);
            let seen = newcomer(&house).await;
            assert_eq!(seen.1, "queued:store_busy", "{policy:?}");
        }
        let seen = bob.get(&house).await;
        assert_eq!((seen.is_inside(), &*seen.reason), (false, "queued:store_busy"));
        let interval: u64 = seen.header("retry-after").unwrap().parse().unwrap();
        assert!((6..=21).contains(&interval), "{interval} s");
        assert!(ann.get(&house).await.is_inside(), "a pass goes on");

        // Bob keeps his ticket, and is admitted with it once the store can be asked again.
        house.advance(interval);
        assert!(bob.cookie.is_some());
        assert_eq!(bob.get(&house).await.reason, "queued:store_busy", "{policy:?}");
        remote.mend();
        assert_eq!(bob.get(&house).await.reason, "admitted:slot", "{policy:?}");
    }
}

/// A first ticket keeps its order for 30 s, and a place for 300 s. A node prolongs either by as much,
/// counted from the time at which the store had asked the visitor to come back.
#[tokio::test]
async fn a_visitor_that_returns_on_time_keeps_its_order_through_an_outage() {
    let cases = [(true, false, 50), (false, false, 50), (true, true, 590), (false, true, 590)];
    for (is_busy, is_placed, lasts) in cases {
        for (lasts, is_kept) in [(lasts, true), (lasts + 20, false)] {
            let (house, remote) = house(StoreFailure::Wait);
            fill(&house).await;
            let mut bob = Visitor::default();
            let arrived = waiting_since(&bob.send(&house, poll()).await);
            if is_placed {
                house.advance(2);
                assert_eq!(waiting_since(&bob.send(&house, poll()).await), arrived);
            }
            if is_busy {
                remote.set(&Verb::ALL, BUSY);
            } else {
                remote.cut();
            }
            for _ in 0..lasts / 10 {
                house.advance(10);
                bob.send(&house, poll()).await;
            }
            remote.mend();
            remote.mend();
            fill(&house).await;
            house.advance(5);
            let since = waiting_since(&bob.send(&house, poll()).await);
            let case = format!("busy {is_busy}, placed {is_placed}, after {lasts} s");
            assert_eq!(since == arrived, is_kept, "{case}");
        }
    }
}

#[tokio::test]
async fn an_order_of_arrival_that_has_lapsed_is_not_brought_back_by_an_outage() {
    for (is_busy, secs, is_kept) in [(true, 31, false), (false, 31, false), (true, 29, true)] {
        let (house, remote) = house(StoreFailure::Wait);
        fill(&house).await;
        let mut bob = Visitor::default();
        let arrived = waiting_since(&bob.send(&house, poll()).await);
        house.advance(secs);
        if is_busy {
            remote.set(&Verb::ALL, BUSY);
        } else {
            remote.cut();
        }
        bob.send(&house, poll()).await;
        remote.mend();
        house.advance(10);
        let since = waiting_since(&bob.send(&house, poll()).await);
        assert_eq!(since == arrived, is_kept, "busy {is_busy}, after {secs} s");
    }
}

#[tokio::test]
async fn a_node_without_its_store_admits_its_share_and_no_more() {
    let (house, remote) = house(local_share());
    remote.cut();
    assert_eq!(newcomer(&house).await.1, "store_unavailable");
    house.advance(1);
    assert_eq!(newcomer(&house).await.1, "store_unavailable", "it may just be slow");
    house.advance(1);
    for _ in 0..3 {
        assert_eq!(newcomer(&house).await.1, "admitted:local_share");
    }
    assert_eq!(newcomer(&house).await.1, "queued:active_limit");
}

/// The end of a session that is owed to the store delays no local decision.
#[tokio::test]
async fn a_node_without_its_store_decides_despite_an_unreported_end() {
    let (house, remote) = house(local_share());
    let (mut ann, _) = newcomer(&house).await;
    remote.cut();
    ann.send(&house, Request::get("/").header("x-end", "1")).await;
    assert_eq!(newcomer(&house).await.1, "store_unavailable");
    house.advance(2);
    assert_eq!(newcomer(&house).await.1, "admitted:local_share");
    remote.mend();
    newcomer(&house).await;
    tokio::task::yield_now().await;
    assert_eq!(house.active().await, 2, "the end was delivered");
}

#[tokio::test]
async fn two_failures_with_hours_between_them_are_no_outage() {
    let (house, remote) = house(local_share());
    for _ in 0..3 {
        remote.cut();
        assert_eq!(newcomer(&house).await.1, "store_unavailable");
        remote.mend();
        house.advance(7_200);
    }
}

#[tokio::test]
async fn a_node_without_its_store_counts_and_renews_the_passes_it_sees() {
    let (house, remote) = house(local_share());
    let (mut ann, _) = newcomer(&house).await;
    let (mut bob, _) = newcomer(&house).await;
    remote.cut();
    assert_eq!(newcomer(&house).await.1, "store_unavailable");
    house.advance(11);
    // Both passes are due, and the node renews them.
    for visitor in [&mut ann, &mut bob] {
        let before = visitor.cookie.clone();
        assert!(visitor.get(&house).await.is_inside());
        assert_ne!(visitor.cookie, before);
    }
    assert_eq!(newcomer(&house).await.1, "admitted:local_share");
    assert_eq!(newcomer(&house).await.1, "queued:active_limit");
    house.advance(85);
    assert_eq!(ann.get(&house).await.reason, "admitted");
}

#[tokio::test]
async fn a_recovered_store_learns_of_all_admissions() {
    let (house, remote) = house(local_share());
    remote.cut();
    newcomer(&house).await;
    house.advance(2);
    let (mut ann, _) = newcomer(&house).await;
    newcomer(&house).await;
    remote.mend();
    newcomer(&house).await;
    tokio::task::yield_now().await;
    assert_eq!(house.active().await, 3);
    assert!(ann.get(&house).await.is_inside());

    // Another outage starts from the beginning: the node does not decide at once.
    remote.cut();
    assert_eq!(newcomer(&house).await.1, "store_unavailable");
}

/// The passes of the outage are reported by a task, and without a runtime there is none.
#[test]
fn without_a_runtime_a_store_that_answers_again_serves_as_before() {
    let (house, remote) = house(local_share());
    let ask = || newcomer(&house).now_or_never().expect("nothing has to be waited for").1;
    remote.cut();
    assert_eq!(ask(), "store_unavailable");
    house.advance(2);
    assert_eq!(ask(), "admitted:local_share");
    remote.mend();
    assert_eq!(ask(), "admitted:slot");
}

#[tokio::test]
async fn a_visitor_that_left_in_an_outage_is_gone_after_it() {
    let (house, remote) = house(StoreFailure::Wait);
    let (mut ann, _) = newcomer(&house).await;
    remote.cut();
    let end = http::Request::get("/").header("x-end", "1");
    assert!(ann.send(&house, end).await.is_inside());
    assert_eq!(newcomer(&house).await.1, "store_unavailable");
    remote.mend();
    assert_eq!(newcomer(&house).await.1, "admitted:slot");
    assert_eq!(house.active().await, 1);
}

#[tokio::test(start_paused = true)]
async fn an_end_outlives_the_request_that_was_to_report_it() {
    let (house, remote) = house(StoreFailure::Wait);
    let (mut ann, _) = newcomer(&house).await;
    remote.set(&[Verb::Leave], Mood::Hangs);
    // Ann's client disconnects before the end was reported to the store. The next request reports it
    // again, but does not wait for that.
    let second = Duration::from_secs(1);
    let end = http::Request::get("/").header("x-end", "1");
    assert!(timeout(second, ann.send(&house, end)).await.is_err());
    assert_eq!(timeout(second, newcomer(&house)).await.unwrap().1, "admitted:slot");
    assert_eq!(house.active().await, 2);
    remote.mend();
    tokio::time::sleep(second).await;
    assert_eq!(house.active().await, 1);
}
