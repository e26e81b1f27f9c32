//! The limit on new visitors that all sites share, in the room of one site. The test acts as the
//! global ledgers.

mod losses;

use std::time::Duration;

use waiting_room_core::{Reason, Store, time::Clock};

use super::site::{ActiveVisitors, BEGIN, LEASE, NewVisitors, Site, held, on_each};

/// The shortest time that matters.
const TICK: Duration = Duration::from_micros(1);
const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_new_visitor_needs_a_slot_and_a_place_in_the_minute() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 3, 2).await;
        site.admitted().await;
        site.admitted().await;
        site.waits(Reason::QueuedRate).await;
        assert_eq!(site.say().await.free, 0);
        site.grant(NewVisitors, 2).await;
        assert_eq!(site.say().await.free, 1, "one slot, and two places");
        site.admitted().await;
        site.waits(Reason::QueuedActiveLimit).await;
        site.grant(ActiveVisitors, 1).await;
        site.admitted().await;
        site.waits(Reason::QueuedActiveLimit).await;
        assert_eq!(site.figures(ActiveVisitors).await, [4, 0, 4, 0]);
        assert_eq!(site.figures(NewVisitors).await, [4, 0, 4, 0]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_is_held_for_sixty_seconds_by_every_clock_within_the_drift() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 9, 2).await;
        site.admitted().await;
        site.admitted().await;
        // A clock that is fast by one part in 256 shows sixty seconds too early.
        let fast = |time: Duration| time + time / 256;
        site.pass_with_leases(MINUTE).await;
        site.waits(Reason::QueuedRate).await;
        // Neither a sweep nor a snapshot forgets the places, but they no longer belong to the last
        // minute.
        site.room.sweep().await.unwrap();
        assert_eq!(site.room.snapshot().await.unwrap().new_in_last_minute, 0);
        site.waits(Reason::QueuedRate).await;
        // Another admission does not forget them either.
        site.grant(NewVisitors, 1).await;
        site.admitted().await;
        assert_eq!(site.figures(NewVisitors).await, [3, 0, 3, 0]);

        site.clock.advance_to(BEGIN + fast(MINUTE - TICK));
        site.waits(Reason::QueuedRate).await;
        site.clock.advance_to(BEGIN + fast(MINUTE));
        site.admitted().await;
        site.admitted().await;
        site.waits(Reason::QueuedRate).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_frees_the_slot_and_no_place_in_the_minute() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 1, 2).await;
        let pass = site.admitted().await;
        site.room.leave(pass.id).await.unwrap();
        let pass = site.admitted().await;
        site.room.leave(pass.id).await.unwrap();
        site.waits(Reason::QueuedRate).await;
        assert_eq!(site.figures(ActiveVisitors).await, [1, 0, 0, 0]);
        assert_eq!(site.figures(NewVisitors).await, [2, 0, 2, 0]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_lease_on_the_minute_sessions_continue_and_none_begins() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 9, 9).await;
        let pass = site.admitted().await;
        let other = site.admitted().await;
        site.pass(LEASE - TICK);
        site.grant(ActiveVisitors, 0).await;
        site.admitted().await;
        site.pass(TICK);
        site.waits(Reason::QueuedRate).await;
        assert_eq!(site.say().await.free, 0);
        assert!(site.renewed(pass).await.expires_at > pass.expires_at, "it needs no place");
        // A visitor who has left is new when it returns.
        site.room.leave(other.id).await.unwrap();
        let returns = site.room.enter(other.id).await.unwrap();
        assert!(matches!(returns.reason(), Reason::QueuedRate), "{returns:?}");

        site.grant(NewVisitors, 0).await;
        site.admitted().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_lease_on_slots_no_place_in_the_minute_is_requested_or_taken() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 9, 1).await;
        let pass = site.admitted().await;
        site.at_door = 3;
        assert_eq!(site.say_of(NewVisitors).await.wanted, 3);
        site.pass(LEASE);
        site.grant(NewVisitors, 2).await;
        site.waits(Reason::QueuedActiveLimit).await;
        assert_eq!(site.renewed(pass).await.expires_at, pass.expires_at, "it is not extended");
        assert_eq!(site.figures(NewVisitors).await, [3, 0, 1, 0], "nothing is promised");
        assert_eq!(site.say_of(ActiveVisitors).await.wanted, 2, "there are two places");
        site.grant(ActiveVisitors, 0).await;
        assert_eq!(site.figures(NewVisitors).await, [3, 0, 1, 1], "two are unused");
        site.admitted().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_are_requested_only_for_visitors_with_a_place_in_the_minute() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 0, 0).await;
        site.at_door = 3;
        assert_eq!(site.figures(NewVisitors).await, [0, 0, 0, 3]);
        assert_eq!(site.figures(ActiveVisitors).await, [0, 0, 0, 0]);
        // Two places are kept for visitors of this site, even if others wait elsewhere.
        site.recall(NewVisitors).await;
        site.say().await;
        site.grant(NewVisitors, 2).await;
        assert_eq!(site.figures(NewVisitors).await, [2, 0, 2, 1]);
        assert_eq!(site.figures(ActiveVisitors).await, [0, 0, 0, 2]);
        site.recall(ActiveVisitors).await;
        site.say().await;
        site.grant(ActiveVisitors, 2).await;
        assert_eq!(site.figures(ActiveVisitors).await, [2, 0, 2, 0]);
        assert_eq!(site.say().await.free, 2);
        // A place that no visitor takes is not kept for long, and neither is a slot without a
        // place.
        site.admitted().await;
        site.at_door = 2;
        site.pass(Duration::from_secs(3));
        site.recall(NewVisitors).await;
        site.recall(ActiveVisitors).await;
        site.pass(Duration::from_secs(1));
        assert_eq!(site.figures(NewVisitors).await, [2, 1, 1, 2]);
        assert_eq!(site.figures(ActiveVisitors).await, [2, 1, 1, 0]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_requests_nothing_that_it_has_and_may_use() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 1, 3).await;
        site.admitted().await;
        site.at_door = 3;
        assert_eq!(site.say_of(NewVisitors).await.wanted, 1, "two places are unused");
        assert_eq!(site.say_of(ActiveVisitors).await.wanted, 2, "there are two places");
        site.grant(ActiveVisitors, 1).await;
        assert_eq!(site.say_of(ActiveVisitors).await.wanted, 1, "one slot is promised");
        // Visitors wait elsewhere. Visitors of this site keep the places that they find.
        site.recall(NewVisitors).await;
        assert_eq!(site.figures(NewVisitors).await, [3, 0, 3, 1]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_are_returned_while_the_minute_is_exhausted_even_if_visitors_wait() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 0, 2).await;
        site.at_door = 2;
        assert_eq!(site.figures(ActiveVisitors).await, [0, 0, 0, 2]);
        site.grant(ActiveVisitors, 2).await;
        assert_eq!(site.figures(ActiveVisitors).await, [2, 0, 2, 0], "both are promised");
        // Other visitors take both places, and the slot of one of them becomes free.
        let first = site.admitted().await;
        site.admitted().await;
        site.room.leave(first.id).await.unwrap();
        site.recall(ActiveVisitors).await;
        assert_eq!(site.figures(ActiveVisitors).await, [2, 1, 1, 0]);
        assert_eq!(site.say_of(NewVisitors).await.wanted, 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_room_follows_the_node_that_speaks_for_the_site() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 9, 1).await;
        site.admitted().await;
        site.waits(Reason::QueuedRate).await;
        // A node of an earlier release starts.
        site.node = 8;
        site.minute = None;
        let said = site.say().await;
        assert!(!said.speaks && said.minute.is_some());
        site.waits(Reason::QueuedRate).await;
        // This node is the only one left. The limit in the rules is one visitor.
        site.pass(Duration::from_secs(6));
        let said = site.say().await;
        assert!(said.speaks && said.minute.is_none());
        site.waits(Reason::QueuedRate).await;
        site.clock.advance_to(BEGIN + MINUTE);
        site.grant(ActiveVisitors, 0).await;
        site.admitted().await;
        site.waits(Reason::QueuedRate).await;
        // The next release is back, and the visitors of the last minute count.
        site.node = 9;
        site.minute = Some(held());
        site.pass(Duration::from_secs(6));
        site.lives = 2;
        site.join(NewVisitors, 0).await;
        site.grant(NewVisitors, 2).await;
        site.admitted().await;
        site.waits(Reason::QueuedRate).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_on_the_minute_that_is_over_by_the_clock_of_a_node_is_over() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 3, 3).await;
        site.pass(Duration::from_secs(1));
        site.grant(ActiveVisitors, 0).await;
        let end = BEGIN + LEASE;
        let said = site.report(end).await;
        assert_eq!(said.minute.unwrap().lease_end, site.clock.now());
        assert_eq!(said.slots.lease_end, end + Duration::from_secs(1));
        site.waits(Reason::QueuedRate).await;
    })
    .await;
}
