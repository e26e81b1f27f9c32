//! A crowd of real clients comes to a scheduled event.

use std::{net::SocketAddr, time::Duration};

use axum::{Router, routing::get};
use tokio::{net::TcpListener, time::sleep};
use tower_waiting_room::{
    WaitingRoomConfig, WaitingRoomLayer,
    room::event::{Event, Seed},
    time::{Clock, SystemClock},
    token::CookieSettings,
};
use waiting_room_crowd::{Crowd, Outcome};
use waiting_room_sim::{EventPromise, Limits, seeds};

/// Uses real sockets, and thus real time: it takes about twenty seconds.
#[tokio::test(flavor = "multi_thread")]
async fn sixty_visitors_of_a_sale_are_admitted_in_the_published_order() {
    let seed = seeds(1)[0];
    let limits = Limits {
        total_active_users: 8,
        new_users_per_minute: Some(3_000),
        session_duration: Duration::from_secs(1),
        place_retention: Duration::from_secs(300),
        refresh_interval: Duration::from_secs(20),
    };
    // A room that begins in the middle of a prequeue gives no numbers for a while, because there may
    // have been a room before it.
    let opens = SystemClock::new().now() + Duration::from_secs(1);
    let start = opens + Event::PREQUEUE.0;
    let end = start + Duration::from_secs(3_600);
    let config = WaitingRoomConfig::builder("shop")
        .total_active_users(limits.total_active_users)
        .new_users_per_minute(3_000)
        .session_duration(limits.session_duration)
        .cookie(CookieSettings::default().insecure())
        .event(Event::new("doors", start, end).prequeue_start(opens))
        .event_seed("doors", Seed::new([u8::try_from(seed % 251).unwrap(); 32]));
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    let page = || get(async || "Welcome.").post(async || "Thank you.");
    let paths = ["/", "/products/chair", "/checkout", "/api/products", "/api/checkout"];
    let shop = paths.into_iter().fold(Router::new(), |shop, path| shop.route(path, page()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = shop.layer(layer).into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(axum::serve(listener, service).into_future());

    let promise = EventPromise {
        prequeue_start: opens,
        start,
        end,
        is_drawn: true,
        total_active_users: limits.total_active_users,
        new_users_per_minute: limits.new_users_per_minute,
    };
    let crowd = Crowd::even(60, Duration::from_secs(13), Some(seed), limits);
    let crowd = crowd.coming_to("shop", "doors", promise);
    let witness = crowd.witness();
    sleep(opens.since(SystemClock::new().now())).await;
    crowd.visit(&[address], Duration::from_secs(5)).await;

    let outcome = Outcome::new(&witness, seed);
    let report = outcome.report();
    assert!(report.violations().is_empty(), "{outcome}");
    let event = report.event.unwrap();
    assert!(event.entrants >= 20 && report.admitted >= 8, "{event:?}");
    assert_eq!((event.event_early, event.draw_mismatches), (0, 0));
    let draw = witness.recomputed().unwrap();
    assert_eq!((draw.recomputed, draw.mismatches), (draw.entrants, 0));
}
