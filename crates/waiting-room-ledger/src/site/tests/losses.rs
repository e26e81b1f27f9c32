//! A site without a lease, after a loss, and when a clock is wrong. The test acts as the global
//! ledger.

use std::time::Duration;

use waiting_room_core::{
    Reason, Store, Verdict, VisitorId,
    room::{Renewal, RoomMode},
    time::Clock,
};
use waiting_room_redis::site::GlobalNews;

use super::site::{ActiveVisitors, BEGIN, LEASE, SHORT, Site, on_each};
use crate::site::messages::times;

#[tokio::test(flavor = "multi_thread")]
async fn a_room_has_the_slots_of_its_account_under_any_rules() {
    on_each(async |engine| {
        let mut site = Site::of_slots(engine, 2).await;
        site.admitted().await;
        site.admitted().await;
        site.waits(Reason::QueuedActiveLimit).await;
        // A change of the rules by an operator does not bring back the slots in the rules.
        site.room.configure(|rules| rules.mode(RoomMode::QueueAll)).await.unwrap();
        site.room.configure(|rules| rules.mode(RoomMode::Auto)).await.unwrap();
        site.waits(Reason::QueuedActiveLimit).await;
        site.grant(ActiveVisitors, 1).await;
        site.admitted().await;
        site.waits(Reason::QueuedActiveLimit).await;
        let said = site.say().await;
        assert_eq!(
            (said.slots.granted, said.slots.returned, said.slots.used, said.free),
            (3, 0, 3, 0)
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_another_epoch_term_or_life_grant_nothing() {
    on_each(async |engine| {
        let mut site = Site::of_slots(engine, 1).await;
        // The room is lost, so its account is over, and the site gets another one.
        site.flush().await;
        site.clock.advance(LEASE);
        site.join(ActiveVisitors, 1).await;
        let before = site.say().await;
        assert_eq!((before.slots.epoch, before.slots.granted, before.free), ((1, 2), 1, 0));
        site.clock.advance(Duration::from_secs(1));
        let heard = site.say().await.at;
        let lease = LEASE;
        let incarnation = before.slots.incarnation;
        let grant = |epoch| GlobalNews::Grant {
            epoch,
            heard,
            lease,
            granted: 50,
            reserve: 9,
            recall: false,
        };
        let welcome = |epoch, incarnation| GlobalNews::Welcome {
            epoch,
            incarnation,
            heard,
            lease,
            inherited: 50,
        };
        let refused =
            |incarnation, over| GlobalNews::Refused { incarnation, over, is_fenced: true };
        for news in [
            // These grants are late, or come from a ledger that knows more than the site.
            grant((1, 1)),
            grant((1, 3)),
            grant((0, 2)),
            grant((2, 2)),
            // The site has an account.
            welcome((1, 2), incarnation),
            welcome((1, 3), incarnation),
            welcome((1, 3), 99),
            GlobalNews::Stale { over: (1, 1), current: (1, 1) },
            refused(99, (1, 2)),
            refused(incarnation, (1, 1)),
        ] {
            site.receive(ActiveVisitors, news).await;
            let said = site.say().await;
            assert_eq!(
                (said.slots.epoch, said.slots.granted, said.free),
                ((1, 2), 1, 0),
                "{news:?}"
            );
            assert_eq!(
                (said.slots.has_account, said.slots.incarnation, said.slots.lease_end),
                (true, incarnation, before.slots.lease_end),
                "{news:?}"
            );
        }
        // A ledger of an earlier term, after the site has heard of a later one.
        site.room
            .hear_for_site(ActiveVisitors, 2, &GlobalNews::Report, &times(&SHORT))
            .await
            .unwrap();
        site.receive(ActiveVisitors, grant((1, 2))).await;
        let said = site.say().await;
        assert_eq!(
            (said.slots.term, said.slots.granted, said.slots.lease_end),
            (2, 1, before.slots.lease_end)
        );
        site.room.hear_for_site(ActiveVisitors, 2, &grant((1, 2)), &times(&SHORT)).await.unwrap();
        assert_eq!(site.say().await.slots.granted, 50, "a grant of the account's own epoch counts");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_lease_no_visitor_enters_and_no_session_is_extended() {
    on_each(async |engine| {
        let mut site = Site::of_slots(engine, 3).await;
        let pass = site.admitted().await;
        site.clock.advance(Duration::from_secs(20));
        let pass = site.renewed(pass).await;
        assert_eq!(pass.expires_at, BEGIN + Duration::from_secs(20 + 90), "it is prolonged");
        site.clock.advance(Duration::from_secs(10));
        site.waits(Reason::QueuedActiveLimit).await;
        let refused = site.renewed(pass).await;
        assert_eq!(refused.expires_at, pass.expires_at, "it is not prolonged");
        // The pass is due again after a ninth of the 80 s that are left.
        let is_due_at = |secs| {
            site.room.rules().timing().is_renewal_due(&refused, BEGIN + Duration::from_secs(secs))
        };
        assert_eq!([30 + 8, 30 + 9].map(is_due_at), [false, true]);
        assert_eq!(site.say().await.slots.lease_end, BEGIN + LEASE);

        site.grant(ActiveVisitors, 0).await;
        site.admitted().await;
        assert_eq!(site.renewed(pass).await.expires_at, BEGIN + Duration::from_secs(30 + 90));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_room_counts_all_slots_as_in_use_until_the_session_is_over() {
    on_each(async |engine| {
        let mut site = Site::of_slots(engine, 3).await;
        let passes = [site.admitted().await, site.admitted().await, site.admitted().await];
        site.clock.advance(Duration::from_secs(1));
        site.flush().await;
        // Without an account, passes stay as they are, even if they are shown twice.
        for _ in 0..2 {
            let pass = site.renewed(passes[0]).await;
            assert_eq!(pass.expires_at, passes[0].expires_at);
        }
        site.waits(Reason::QueuedActiveLimit).await;
        assert_eq!(site.say().await.slots.incarnation, 2);

        site.join(ActiveVisitors, 3).await;
        assert_eq!(site.say().await.slots.used, 3);
        site.waits(Reason::QueuedActiveLimit).await;
        for pass in passes {
            site.renewed(pass).await;
            assert_eq!(site.say().await.slots.used, 3, "its slot is one of those that are kept");
        }
        // A pass that this site has given to no visitor finds no slot.
        let mut foreign = passes[0];
        foreign.id = VisitorId::new(99);
        assert_eq!(site.room.renew(foreign).await.unwrap(), Renewal::End);
        site.waits(Reason::QueuedActiveLimit).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_slots_of_lost_visitors_are_free_after_a_session_and_a_margin() {
    on_each(async |engine| {
        let mut site = Site::of_slots(engine, 2).await;
        site.admitted().await;
        site.admitted().await;
        site.flush().await;
        site.join(ActiveVisitors, 2).await;
        let [_, _, (_, margin), ..] = SHORT.times();
        for _ in 0..6 {
            site.clock.advance(SHORT.times()[0].1 / 6);
            site.grant(ActiveVisitors, 0).await;
            site.waits(Reason::QueuedActiveLimit).await;
        }
        site.clock.advance(margin);
        site.admitted().await;
        site.admitted().await;
        site.waits(Reason::QueuedActiveLimit).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_sessions_continue_and_lost_ones_are_not_replaced() {
    on_each(async |engine| {
        let mut site = Site::of_slots(engine, 4).await;
        let pass = site.admitted().await;
        site.admitted().await;
        site.clock.advance(Duration::from_secs(1));
        site.restart().await;
        site.waits(Reason::QueuedActiveLimit).await;
        let said = site.say().await;
        assert_eq!((said.slots.has_account, said.slots.incarnation), (false, 2));

        site.join(ActiveVisitors, 4).await;
        // Two visitors are known, but the server may have lost others.
        site.waits(Reason::QueuedActiveLimit).await;
        let said = site.say().await;
        assert_eq!((said.slots.used, said.slots.wanted), (4, 0));
        let renewed = site.renewed(pass).await;
        assert!(renewed.expires_at > pass.expires_at, "the session goes on");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_key_ends_the_life_of_the_site() {
    on_each(async |engine| {
        let mut site = Site::of_slots(engine, 2).await;
        site.admitted().await;
        site.lose("visitors").await;
        site.waits(Reason::QueuedActiveLimit).await;
        assert!(!site.say().await.slots.has_account);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_life_is_over_and_the_next_one_waits_for_slots_for_its_visitors() {
    on_each(async |engine| {
        let mut site = Site::of_slots(engine, 2).await;
        let pass = site.admitted().await;
        let incarnation = 1;
        let over = site.say().await.slots.epoch;
        let is_fenced = true;
        site.receive(ActiveVisitors, GlobalNews::Refused { incarnation: 9, over, is_fenced }).await;
        assert!(site.say().await.slots.has_account, "another life was refused");
        site.receive(ActiveVisitors, GlobalNews::Refused { incarnation, over, is_fenced }).await;
        site.lives += 1;
        site.waits(Reason::QueuedActiveLimit).await;
        site.join(ActiveVisitors, 0).await;
        assert_eq!(site.say().await.slots.used, 1, "the site owes a slot");
        let clock = Duration::from_secs(5);
        site.clock.advance(clock);
        assert_eq!(site.renewed(pass).await.expires_at, pass.expires_at, "it has no slot");
        site.grant(ActiveVisitors, 1).await;
        assert!(site.renewed(pass).await.expires_at > pass.expires_at);
        site.waits(Reason::QueuedActiveLimit).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_is_over_by_the_clock_of_a_node_is_over() {
    on_each(async |engine| {
        let mut site = Site::of_slots(engine, 3).await;
        site.admitted().await;
        let end = BEGIN + LEASE;
        assert_eq!(site.report(end.before(Duration::from_micros(1))).await.slots.lease_end, end);
        site.admitted().await;
        assert_eq!(site.report(end).await.slots.lease_end, BEGIN);
        site.waits(Reason::QueuedActiveLimit).await;
        // The next message begins another lease.
        site.clock.advance(Duration::from_secs(1));
        site.grant(ActiveVisitors, 0).await;
        site.admitted().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_that_the_line_will_use_are_not_given_back() {
    on_each(async |engine| {
        let mut site = Site::of_slots(engine, 1).await;
        site.admitted().await;
        // Two visitors get places in the line.
        let mut tickets = Vec::new();
        for _ in 0..2 {
            let Verdict::Wait { ticket, .. } = site.enter().await else { panic!("it waits") };
            site.clock.advance(Duration::from_secs(2));
            tickets.push(match site.room.check_in(ticket).await.unwrap() {
                Verdict::Wait { ticket, .. } => ticket,
                other => panic!("{other:?}"),
            });
        }
        let said = site.say().await;
        assert_eq!((said.slots.used, said.slots.wanted), (1, 2));

        // One slot is granted, and everything unused is recalled.
        site.recall(ActiveVisitors).await;
        site.grant(ActiveVisitors, 1).await;
        let said = site.say().await;
        assert_eq!(
            (said.slots.returned, said.slots.used, said.slots.wanted, said.free),
            (0, 2, 1, 1)
        );

        // No visitor takes the slot, so the slot goes back.
        site.clock.advance(Duration::from_secs(4));
        let epoch = said.slots.epoch;
        let heard = site.clock.now();
        let lease = LEASE;
        let granted = said.slots.granted;
        let reserve = 0;
        let recall = true;
        let grant = GlobalNews::Grant { epoch, heard, lease, granted, reserve, recall };
        site.receive(ActiveVisitors, grant).await;
        let said = site.say().await;
        assert_eq!((said.slots.returned, said.free), (1, 0));

        // A slot that is granted again is taken at the check-in.
        site.grant(ActiveVisitors, 1).await;
        let admitted = site.room.check_in(tickets[0]).await.unwrap();
        assert!(matches!(admitted, Verdict::Admit { .. }), "{admitted:?}");
        assert_eq!(site.say().await.free, 0);
    })
    .await;
}
