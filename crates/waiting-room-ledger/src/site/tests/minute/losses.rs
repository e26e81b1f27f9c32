//! A site that loses its room, or its life in one of the accounts.

use std::time::Duration;

use waiting_room_core::Reason;

use super::TICK;
use crate::site::tests::site::{
    ActiveVisitors, BEGIN, MINUTE, NewVisitors, SLOTS, Site, held, on_each,
};

/// The time after which no place from before a loss can be in use, in whole microseconds.
fn gone() -> Duration {
    let [(_, held), _, (_, margin), ..] = MINUTE.times();
    let micros = (held + margin).as_nanos().div_ceil(1_000);
    Duration::from_micros(u64::try_from(micros).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_room_counts_all_places_as_taken_until_the_minute_is_over() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 9, 3).await;
        for _ in 0..3 {
            site.admitted().await;
        }
        site.pass(Duration::from_secs(1));
        site.flush().await;
        site.waits(Reason::QueuedActiveLimit).await;
        let said = site.say().await;
        assert_eq!([said.slots, said.minute.unwrap()].map(|account| account.incarnation), [2, 2]);
        // There are free slots, but it is not known who was admitted in the last minute.
        site.join(ActiveVisitors, 0).await;
        site.grant(ActiveVisitors, 9).await;
        site.waits(Reason::QueuedRate).await;
        site.join(NewVisitors, 3).await;
        site.waits(Reason::QueuedRate).await;
        site.at_door = 1;
        assert_eq!(site.figures(NewVisitors).await, [3, 0, 3, 1]);
        site.grant(NewVisitors, 1).await;
        site.admitted().await;
        site.waits(Reason::QueuedRate).await;

        site.pass_with_leases(gone() - TICK).await;
        // The visitor that was admitted after the loss no longer counts as a visitor of the last
        // minute.
        site.admitted().await;
        site.waits(Reason::QueuedRate).await;
        site.pass(TICK);
        for _ in 0..3 {
            site.admitted().await;
        }
        site.waits(Reason::QueuedRate).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loss_of_the_times_of_admissions_ends_both_lives_of_the_site() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 9, 3).await;
        site.admitted().await;
        site.lose("minute").await;
        site.waits(Reason::QueuedActiveLimit).await;
        let said = site.say().await;
        assert!(!said.slots.has_account && !said.minute.as_ref().unwrap().has_account, "{said:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_the_places_of_known_visitors_count_twice() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 9, 4).await;
        site.admitted().await;
        site.admitted().await;
        site.pass(Duration::from_secs(1));
        site.restart().await;
        site.waits(Reason::QueuedActiveLimit).await;
        site.join(ActiveVisitors, 0).await;
        site.grant(ActiveVisitors, 9).await;
        site.join(NewVisitors, 4).await;
        site.at_door = 1;
        // The server may have lost two other visitors.
        site.waits(Reason::QueuedRate).await;
        assert_eq!(site.figures(NewVisitors).await, [4, 0, 4, 0]);
        site.clock.advance_to(BEGIN + held());
        site.grant(ActiveVisitors, 0).await;
        site.grant(NewVisitors, 0).await;
        assert_eq!(site.figures(NewVisitors).await, [4, 0, 4, 1], "the two are not new any more");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_life_that_is_fenced_in_one_account_goes_on_in_the_other_one() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 9, 3).await;
        let pass = site.admitted().await;
        site.fence(NewVisitors).await;
        site.waits(Reason::QueuedRate).await;
        let said = site.say().await;
        assert_eq!((said.slots.has_account, said.slots.incarnation), (true, 1));
        let minute = said.minute.unwrap();
        assert_eq!((minute.has_account, minute.incarnation), (false, 2));
        site.pass(Duration::from_secs(5));
        assert!(site.renewed(pass).await.expires_at > pass.expires_at, "the session goes on");

        // The visitor from the site's last life counts, so the site owes a place.
        site.join(NewVisitors, 0).await;
        site.grant(NewVisitors, 1).await;
        site.waits(Reason::QueuedRate).await;
        site.grant(NewVisitors, 1).await;
        site.admitted().await;
        site.fence(ActiveVisitors).await;
        let said = site.say().await;
        let minute = said.minute.unwrap();
        assert_eq!((said.slots.has_account, minute.has_account), (false, true));
        site.waits(Reason::QueuedActiveLimit).await;
        assert!(SLOTS.times()[0].1 > gone());
    })
    .await;
}
