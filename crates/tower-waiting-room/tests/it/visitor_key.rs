//! Limits by visitor, while visitors end their sessions and come back with the passes.

use std::{net::SocketAddr, time::Duration};

use http::{Request, request::Builder};
use tokio::time::timeout;
use tower_waiting_room::{
    Key, Quota, RateLimit, config::WaitingRoomConfigBuilder, rate::Algorithm, request::PeerAddr,
};

use crate::support::{House, Visitor, config, post};

fn limited(per_hour: u64) -> WaitingRoomConfigBuilder {
    let limit = RateLimit::new("visitor", Quota::per_hour(per_hour), Key::visitor());
    config().total_active_users(1_000).leave_path("/leave").rate_limit(limit)
}

fn from(last: u8, request: Builder) -> Builder {
    request.extension(PeerAddr(SocketAddr::from(([192, 0, 2, last], 40_000))))
}

/// A visitor with a new session, which the visitor or the application then ends; a copy of the pass
/// is sent again.
#[tokio::test]
async fn a_pass_whose_session_was_ended_is_no_key_of_its_own() {
    let logout: fn() -> Builder = || Request::get("/").header("x-end", "now");
    for (end, expected) in [((|| post("/leave")) as fn() -> Builder, 5), (logout, 10)] {
        let house = House::new(limited(5));
        let mut honest = Visitor::default();
        assert!(honest.send(&house, from(2, Request::get("/"))).await.is_inside());
        let mut mallory = Visitor::default();
        for round in 0..1_000 {
            mallory.send(&house, from(1, Request::get("/"))).await;
            mallory.clone().send(&house, from(1, end())).await;
            if round % 250 == 0 {
                assert!(honest.send(&house, from(2, Request::get("/"))).await.is_inside());
            }
        }
        // Five newcomers of the address, of whom each may have sent one request to log out.
        assert_eq!(house.forwarded() - 5, expected);
        assert_eq!(house.active().await, 1, "a refused newcomer takes no slot");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_session_ends_while_it_is_held_is_charged_as_a_newcomer() {
    let queue = RateLimit::new("queue", Quota::per_second(1).burst(9), Key::global());
    let house = House::new(limited(2).rate_limit(queue.algorithm(Algorithm::LeakyQueue)));
    let mut mallory = Visitor::default();
    for mut visitor in [Visitor::default(), Visitor::default()] {
        assert!(visitor.send(&house, from(1, Request::get("/"))).await.is_inside());
        mallory = visitor;
    }
    let [mut leaving, mut held] = [mallory.clone(), mallory];
    let (left, held) = timeout(Duration::from_secs(60), async {
        tokio::join!(
            leaving.send(&house, from(1, post("/leave"))),
            held.send(&house, from(1, Request::get("/"))),
        )
    })
    .await
    .unwrap();
    assert_eq!((&*left.reason, &*held.reason), ("left", "refused:rate:visitor"));
    assert_eq!((house.forwarded(), house.active().await), (2, 1));
}
