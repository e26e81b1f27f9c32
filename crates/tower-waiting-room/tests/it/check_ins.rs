//! Check-ins of visitors in line. The rate limits of the service do not count them; a pace of their
//! own bounds them.

use std::net::SocketAddr;

use http::{Request, request::Builder};
use tower_waiting_room::{
    Key, Quota, RateLimit, config::WaitingRoomConfigBuilder, request::PeerAddr,
};

use crate::support::{House, Seen, Visitor, config};

/// A limit for each address of two requests per second, with bursts of 20.
fn limited(slots: u32) -> WaitingRoomConfigBuilder {
    let per_ip = RateLimit::new("per_ip", Quota::per_minute(120).burst(20), Key::address());
    config().total_active_users(slots).rate_limit(per_ip)
}

fn from(address: u8) -> Builder {
    Request::get("/").extension(peer(address))
}

fn peer(address: u8) -> PeerAddr {
    PeerAddr(SocketAddr::from(([192, 0, 2, address], 1_000)))
}

fn seconds(seen: &Seen) -> u64 {
    seen.header("retry-after").unwrap().parse().unwrap()
}

#[tokio::test]
async fn forty_obedient_browsers_behind_one_address_are_refused_by_no_limit() {
    let house = House::new(limited(8));
    // One client arrives in each second, stays for 20 s after it is admitted, and ends its session.
    let mut clients: Vec<_> = (0..40).map(|due| (Visitor::default(), due, false)).collect();
    let mut waits = 0;
    let mut left = 0;
    for second in 0..600 {
        for (client, due, is_inside) in &mut clients {
            if second != *due {
                continue;
            }
            if *is_inside {
                left += 1;
                assert!(client.send(&house, from(1).header("x-end", "1")).await.is_inside());
                continue;
            }
            let seen = client.send(&house, from(1)).await;
            *is_inside = seen.is_inside();
            waits += u32::from(!*is_inside);
            assert!(*is_inside || seen.reason.starts_with("queued:"), "{}", seen.reason);
            *due = second + if *is_inside { 20 } else { seconds(&seen) };
        }
        house.advance(1);
    }
    assert_eq!(left, 40);
    assert!(waits > 120, "{waits}: more than the limit allows in a minute");
}

#[tokio::test]
async fn a_visitor_is_charged_on_admission_and_not_before() {
    let quota = Quota::per_minute(1).burst(2);
    let per_ip = RateLimit::new("per_ip", quota, Key::address());
    let house = House::new(config().rate_limit(per_ip));
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
    assert!(ann.send(&house, from(1)).await.is_inside());
    let mut seen = bob.send(&house, from(1)).await;
    // The quota of two requests is used up, so a newcomer is refused, and so is a visitor with a
    // pass.
    assert_eq!(Visitor::default().send(&house, from(1)).await.reason, "refused:rate:per_ip");
    assert_eq!(ann.send(&house, from(1)).await.reason, "refused:rate:per_ip");
    for _ in 0..3 {
        house.advance(seconds(&seen));
        seen = bob.send(&house, from(1)).await;
        assert!(seen.reason.starts_with("queued:"), "{}", seen.reason);
    }
}

#[tokio::test]
async fn a_pass_reaches_its_visitor_with_the_refusal_of_a_limit() {
    let per_ip = RateLimit::new("per_ip", Quota::per_hour(2).burst(2), Key::address());
    let house = House::new(config().rate_limit(per_ip));
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
    ann.send(&house, from(1)).await;
    let queued = bob.send(&house, from(1)).await;
    house.advance(90.max(seconds(&queued)));
    let refused = bob.send(&house, from(1)).await;
    assert_eq!(refused.reason, "refused:rate:per_ip");
    assert!(refused.cookie().is_some(), "the slot is taken, so its pass is sent");
    house.advance(20);
    let other_address = bob.send(&house, from(2)).await;
    assert_eq!((other_address.is_inside(), &*other_address.reason), (true, "admitted"));
}

#[tokio::test]
async fn the_answers_to_one_ticket_are_rate_limited() {
    let house = House::new(config());
    Visitor::default().get(&house).await;
    let mut bob = Visitor::default();
    bob.send(&house, from(1)).await;
    let mut reasons = Vec::new();
    for address in 0..=255 {
        let page =
            from(address).header("accept", "text/html").header("origin", "https://a.example");
        let seen = bob.send(&house, page).await;
        reasons.push((seen.status.as_u16(), seen.reason.clone()));
        if seen.reason == "refused:too_often" {
            assert!(seen.header("retry-after").is_some() && seen.body.len() < 200, "{seen:?}");
            assert_eq!(seen.cookie(), None);
            assert!(seen.header("access-control-expose-headers").unwrap().contains("Retry-After"));
            assert_eq!(seen.header("x-content-type-options"), Some("nosniff"));
            assert!(seen.header("vary").is_some_and(|vary| vary.contains("Accept-Language")));
        }
    }
    let answered = reasons.iter().filter(|(_, reason)| reason == "queued:early").count();
    assert_eq!(answered, 20, "{reasons:?}");
    assert!(reasons[20..].iter().all(|answer| *answer == (429, "refused:too_often".to_owned())));
    house.advance(1);
    let again = bob.send(&house, from(1)).await.reason;
    assert!(["queued:active_limit", "queued:early"].contains(&&*again), "{again}");
}

#[tokio::test]
async fn the_store_calls_of_a_due_ticket_are_rate_limited() {
    let house = House::new(config());
    Visitor::default().get(&house).await;
    let mut bob = Visitor::default();
    let first = bob.send(&house, from(1)).await;
    house.advance(seconds(&first));
    // A client that shows copies of one ticket, and never takes the next one.
    let mut asked = 0;
    for _ in 0..200 {
        let seen = bob.clone().send(&house, from(1)).await;
        asked += u32::from(seen.reason == "queued:active_limit");
        assert!(["queued:active_limit", "refused:too_often"].contains(&&*seen.reason));
    }
    assert_eq!(asked, 20);
}

#[tokio::test]
async fn early_answers_to_many_tickets_of_one_address_are_rate_limited() {
    let house = House::new(config());
    Visitor::default().get(&house).await;
    let mut tickets = vec![Visitor::default(); 100];
    for ticket in &mut tickets {
        assert!(ticket.send(&house, from(1)).await.reason.starts_with("queued:"));
    }
    let mut answered = 0;
    for _ in 0..10 {
        for ticket in &mut tickets {
            answered += u32::from(ticket.send(&house, from(1)).await.reason == "queued:early");
        }
    }
    assert_eq!(answered, 500);
    let elsewhere = tickets[0].send(&house, from(2)).await;
    assert_eq!(elsewhere.reason, "queued:early", "another address is not concerned");
}

/// Visitors with places from one address, whose tickets are due.
async fn due(house: &House, visitors: usize) -> Vec<Visitor> {
    Visitor::default().get(house).await;
    let mut tickets = vec![Visitor::default(); visitors];
    for pause in [2, 27] {
        for ticket in &mut tickets {
            assert!(ticket.send(house, from(1)).await.reason.starts_with("queued:"));
        }
        house.advance(pause);
    }
    tickets
}

#[tokio::test]
async fn due_tickets_that_are_shown_again_and_again_count_towards_their_address() {
    let house = House::new(config());
    let mut tickets = due(&house, 100).await;
    let mut obedient = tickets.pop().unwrap();
    let mut next = 0;
    let mut asked = 0;
    for second in 0..60 {
        // The other 99 tickets are never replaced by the ones that the store returns.
        for ticket in &tickets {
            for _ in 0..4 {
                let reason = ticket.clone().send(&house, from(1)).await.reason;
                asked += u32::from(reason.starts_with("queued:"));
            }
        }
        if second == next {
            let seen = obedient.send(&house, from(1)).await;
            assert!(seen.reason.starts_with("queued:"), "{}", seen.reason);
            next += seconds(&seen);
        }
        house.advance(1);
    }
    // 500 at once and 50 a second for the address, and up to four turns of each ticket in a minute.
    assert!((3_500..=500 + 60 * 50 + 4 * 99).contains(&asked), "{asked} of 23760");
}

#[tokio::test]
async fn leaving_with_due_tickets_counts_towards_their_address() {
    let house = House::new(config().leave_path("/leave"));
    let tickets = due(&house, 100).await;
    let mut left = 0;
    for _ in 0..6 {
        for ticket in &tickets {
            let request = crate::support::post("/leave").extension(peer(1));
            left += u32::from(ticket.clone().send(&house, request).await.reason == "left");
        }
    }
    assert_eq!(left, 500);
}
