//! Each assertion fails for a service that violates it, and says what happened.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use axum::{Router, http::StatusCode, response::AppendHeaders, routing::get};
use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomLayer,
    room::{QueueingMethod, RoomMode},
    token::CookieSettings,
};
use waiting_room_core::time::Clock;
use waiting_room_test::{Arrivals, Crowd, CrowdRecord, Ending, Habits};

use crate::fakes::{MINUTE, SECOND, arbitrary_shop, config, message_of, open_shop, shop};

/// The end of each message.
const REPEAT: &str = "\nto repeat this crowd: WAITING_ROOM_SEED=17";

fn crowd(count: u32, arrivals: Arrivals) -> Crowd {
    Crowd::new().seed(17).group(count, Habits::browser().staying(MINUTE), arrivals)
}

/// Ten visitors, one each second.
fn one_by_one() -> Crowd {
    crowd(10, Arrivals::at((0..10).map(|number| SECOND * number)))
}

#[test]
fn never_above_fails_for_a_shop_without_a_room() {
    waiting_room_test::run(async |clock| {
        let record = one_by_one().visit(open_shop(), clock).await;
        record.never_above(10);
        let message = message_of(|| record.never_above(4));
        let expected = "never_above(4) is broken: 5 visitors were inside at 4.000 s, the last of \
                        them visitor 4 (browser)";
        assert_eq!(message, expected.to_owned() + REPEAT);
    });
}

#[test]
fn never_above_fails_for_a_room_with_one_slot_too_many() {
    waiting_room_test::run(async |clock| {
        let record = one_by_one().visit(shop(config(5), clock), clock).await;
        record.never_above(5);
        let message = message_of(|| record.never_above(4));
        assert!(message.contains("5 visitors were inside at 4.000 s"), "{message}");
    });
}

#[test]
fn never_above_counts_visitors_of_a_single_page_that_come_at_the_same_time() {
    waiting_room_test::run(async |clock| {
        let habits = Habits::api_client().staying(Duration::ZERO);
        let crowd = Crowd::new().seed(17).group(3, habits, Arrivals::at_once());
        let record = crowd.visit(open_shop(), clock).await;
        record.never_above(3);
        let message = message_of(|| record.never_above(2));
        assert!(message.contains("3 visitors were inside at 0.000 s"), "{message}");
        assert!(message.contains("visitor 2 (API client)"), "{message}");
    });
}

#[test]
fn never_above_does_not_count_a_visitor_that_was_last_seen_as_another_came() {
    waiting_room_test::run(async |clock| {
        let habits = Habits::browser().staying(MINUTE).page_every(MINUTE);
        let crowd = Crowd::new().seed(17).group(2, habits, Arrivals::at([Duration::ZERO, MINUTE]));
        crowd.visit(open_shop(), clock).await.never_above(1);
    });
}

#[test]
fn never_above_does_not_count_a_session_that_ends_with_its_first_answer() {
    waiting_room_test::run(async |clock| {
        let last = get(async || ([("waiting-room-command", "revoke")], "Good-bye."));
        let layer = WaitingRoomLayer::with_clock(config(1).build().unwrap(), clock);
        let shop = Router::new().route("/", last).layer(layer);
        let habits = Habits::api_client().staying(Duration::ZERO);
        let crowd = Crowd::new().seed(17).group(3, habits, Arrivals::at_once());
        let record = crowd.visit(shop, clock).await;
        record.never_above(1).every_visitor_admitted().waits_at_most(SECOND);
    });
}

#[test]
fn never_above_knows_the_end_of_a_session_by_the_name_of_the_token_cookie() {
    waiting_room_test::run(async |clock| {
        let last = get(async || ([("waiting-room-command", "revoke")], "Good-bye."));
        let config = config(1).cookie(CookieSettings::new().name("__Secure-line"));
        let layer = WaitingRoomLayer::with_clock(config.build().unwrap(), clock);
        let shop = Router::new().route("/", last).layer(layer);
        let habits = Habits::api_client().staying(Duration::ZERO);
        let crowd = Crowd::new().seed(17).group(3, habits, Arrivals::at_once());
        let named = crowd.clone().token_cookie("__Secure-line");
        named.visit(shop.clone(), clock).await.never_above(1);
        message_of_crowd(&crowd.visit(shop, clock).await, 1);
    });
}

#[test]
fn never_above_fails_although_the_application_deletes_cookies_of_its_own() {
    waiting_room_test::run(async |clock| {
        let cookies = ["cart=; Max-Age=0", "hint=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"];
        let cookies = AppendHeaders(cookies.map(|cookie| ("set-cookie", cookie)));
        let page = get(async move || (cookies, "Welcome."));
        let open = Router::new().route("/", page.clone());
        let full =
            open.clone().layer(WaitingRoomLayer::with_clock(config(5).build().unwrap(), clock));
        for shop in [open, full] {
            let record = one_by_one().visit(shop, clock).await;
            message_of_crowd(&record, 4);
        }
    });
}

#[test]
fn never_above_fails_although_a_limit_refuses_every_second_request() {
    waiting_room_test::run(async |clock| {
        let limit = RateLimit::per_ip(Quota::new(1, 15 * SECOND));
        let shop = shop(config(5).rate_limit(limit), clock);
        let record = one_by_one().visit(shop, clock).await;
        record.never_above(5);
        message_of_crowd(&record, 4);
    });
}

#[test]
fn never_above_does_not_count_a_session_that_lapsed_between_two_requests() {
    waiting_room_test::run(async |clock| {
        let shop = shop(config(1).session_duration(10 * SECOND), clock);
        let slow = Habits::browser().staying(MINUTE).page_every(MINUTE);
        let brief = Habits::browser().staying(Duration::ZERO);
        let crowd = Crowd::new().seed(17).group(1, slow, Arrivals::at_once());
        let crowd = crowd.group(1, brief, Arrivals::at([30 * SECOND]));
        let record = crowd.visit(shop, clock).await;
        record.never_above(1).every_visitor_admitted().waits_at_most(Duration::ZERO);
    });
}

/// Asserts that `never_above` fails, and that it fails because of one visitor too many.
fn message_of_crowd(record: &CrowdRecord, limit: u32) {
    let message = message_of(|| record.never_above(limit));
    let expected = format!("{} visitors were inside at ", limit + 1);
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn in_order_fails_for_a_shop_that_lets_the_first_visitor_wait() {
    waiting_room_test::run(async |clock| {
        let first = IpAddr::from(Ipv4Addr::new(198, 18, 0, 1));
        let wait = move |client| if client == first { 3 * MINUTE } else { 10 * SECOND };
        let times = Arrivals::at([Duration::ZERO, 20 * SECOND, 40 * SECOND]);
        let record = crowd(3, times).visit(arbitrary_shop(clock, wait), clock).await;
        record.in_order(150 * SECOND);
        let message = message_of(|| record.in_order(26 * SECOND));
        let expected = "in_order(26s) is broken: visitor 0 (browser) came at 0.000 s and waited \
                        until 180.000 s, but visitor 1 (browser) came at 20.000 s and was admitted \
                        at 30.000 s, which is 150s earlier";
        assert_eq!(message, expected.to_owned() + REPEAT);
    });
}

#[test]
fn in_order_gives_no_place_to_a_visitor_that_has_not_returned() {
    waiting_room_test::run(async |clock| {
        let first = IpAddr::from(Ipv4Addr::new(198, 18, 0, 1));
        let wait = move |client| if client == first { 3 * MINUTE } else { Duration::ZERO };
        let times = Arrivals::at([Duration::ZERO, SECOND]);
        // The second touch of the first visitor is after 5 s.
        let record = crowd(2, times).visit(arbitrary_shop(clock, wait), clock).await;
        record.in_order(26 * SECOND);
    });
}

#[test]
fn in_order_fails_for_a_random_line() {
    waiting_room_test::run(async |clock| {
        let config = config(2).queueing_method(QueueingMethod::Random);
        let times = Arrivals::at((0..30).map(|number| 5 * SECOND * number));
        let record = crowd(30, times).visit(shop(config, clock), clock).await;
        record.never_above(2).every_visitor_admitted();
        let message = message_of(|| record.in_order(26 * SECOND));
        assert!(message.starts_with("in_order(26s) is broken: visitor "), "{message}");
    });
}

#[test]
fn never_early_fails_for_a_room_with_a_slot_too_few() {
    waiting_room_test::run(async |clock| {
        let record = one_by_one().visit(shop(config(4), clock), clock).await;
        let claimed = |slots| config(slots).build().unwrap().room().unwrap().clone();
        record.never_early(&claimed(4));
        let message = message_of(|| record.never_early(&claimed(5)));
        let expected = "never_early is broken: visitor 4 (browser) was queued at 4.000 s (503 \
                        queued:active_limit), but at most 4 of 5 slots were taken, and at most 0 \
                        visitors were ahead";
        assert_eq!(message, expected.to_owned() + REPEAT);
    });
}

#[test]
fn never_early_fails_for_a_room_that_admits_fewer_per_minute_than_it_may() {
    waiting_room_test::run(async |clock| {
        let rules = |minute| config(10).new_users_per_minute(minute);
        let record = one_by_one().visit(shop(rules(3), clock), clock).await;
        let claimed = |minute| rules(minute).build().unwrap().room().unwrap().clone();
        record.never_early(&claimed(3));
        let message = message_of(|| record.never_early(&claimed(4)));
        let expected = "visitor 3 (browser) was queued at 3.000 s (503 queued:rate), but at most 3 \
                        of 10 slots were taken, at most 3 of 4 were new";
        assert!(message.contains(expected), "{message}");
    });
}

#[test]
fn never_early_finds_a_slot_that_is_not_given_away() {
    waiting_room_test::run(async |clock| {
        // Two visitors get in, and the third waits for longer than their sessions can last.
        let third = IpAddr::from(Ipv4Addr::new(198, 20, 2, 3));
        let wait = move |client| if client == third { 10 * MINUTE } else { Duration::ZERO };
        let times = Arrivals::at([Duration::ZERO, SECOND, 2 * SECOND]);
        let record = crowd(3, times).visit(arbitrary_shop(clock, wait), clock).await;
        let rules = config(2).build().unwrap().room().unwrap().clone();
        let message = message_of(|| record.never_early(&rules));
        // The last page of the others is at 61 s, and a pass lasts for 67.5 s.
        let expected = "visitor 2 (browser) was queued at 132.000 s (503), but at most 0 of 2";
        assert!(message.contains(expected), "{message}");
    });
}

#[test]
fn never_before_fails_for_doors_that_are_open() {
    waiting_room_test::run(async |clock| {
        let record = one_by_one().visit(open_shop(), clock).await;
        let message = message_of(|| record.never_before(MINUTE));
        let expected = "never_before(60s) is broken: visitor 0 (browser) was forwarded at 0.000 s";
        assert_eq!(message, expected.to_owned() + REPEAT);
    });
}

#[test]
fn never_before_fails_if_no_visitor_came_before() {
    waiting_room_test::run(async |clock| {
        let late = Arrivals::at((0..10).map(|number| MINUTE + SECOND * number));
        let record = crowd(10, late).visit(open_shop(), clock).await;
        let message = message_of(|| record.never_before(MINUTE));
        let expected = "never_before(60s) is broken: no visitor sent a request before, so nothing \
                        is tested";
        assert_eq!(message, expected.to_owned() + REPEAT);
        let early = Arrivals::at([Duration::ZERO]);
        let waits = arbitrary_shop(clock, |_| MINUTE);
        crowd(1, early).visit(waits, clock).await.never_before(MINUTE);
    });
}

#[test]
fn every_visitor_admitted_fails_for_a_path_that_does_not_exist() {
    waiting_room_test::run(async |clock| {
        let habits = Habits::browser().path("/sale");
        let arrivals = Arrivals::at([Duration::ZERO, SECOND]);
        let crowd = Crowd::new().seed(17).group(2, habits, arrivals);
        let record = crowd.visit(shop(config(5), clock), clock).await;
        let message = message_of(|| record.every_visitor_admitted());
        let expected = "every_visitor_admitted is broken: the application answered visitor 0 \
                        (browser) with an error at 0.000 s (404 admitted:slot), and 1 other visitors";
        assert_eq!(message, expected.to_owned() + REPEAT);
    });
}

#[test]
fn waits_at_most_counts_a_visitor_that_is_sent_back_into_the_line() {
    waiting_room_test::run(async |clock| {
        // The shop loses the session after 30 s, and the visitor waits for another five minutes.
        let start = clock.now();
        let page = async move || {
            let since = clock.now().since(start);
            let headers = [("waiting-room", "wait"), ("retry-after", "5")];
            if (30 * SECOND..6 * MINUTE).contains(&since) {
                Err((StatusCode::SERVICE_UNAVAILABLE, headers, "Please wait."))
            } else {
                Ok("Welcome.")
            }
        };
        let shop = Router::new().route("/", get(page));
        let habits = Habits::browser().staying(10 * MINUTE);
        let crowd = Crowd::new().seed(17).group(1, habits, Arrivals::at_once());
        let record = crowd.visit(shop, clock).await;
        record.waits_at_most(330 * SECOND).never_above(1);
        let message = message_of(|| record.waits_at_most(5 * MINUTE));
        let expected =
            "visitor 0 (browser) came at 30.000 s and waited for 330s until it was admitted";
        assert!(message.contains(expected), "{message}");
    });
}

#[test]
fn every_visitor_admitted_fails_for_a_room_that_is_paused() {
    waiting_room_test::run(async |clock| {
        let patient = Habits::browser().patience(MINUTE);
        let arrivals = Arrivals::at((0..3).map(|number| SECOND * number));
        let crowd = Crowd::new().seed(17).group(3, patient, arrivals);
        let paused = shop(config(5).mode(RoomMode::QueueAll), clock);
        let record = crowd.visit(paused, clock).await;
        let message = message_of(|| record.every_visitor_admitted());
        let expected = "every_visitor_admitted is broken: visitor 0 (browser) was not admitted \
                        until it ended at 60.000 s (LostPatience, its last answer was 503 \
                        queue_all), nor were 2 other visitors";
        assert_eq!(message, expected.to_owned() + REPEAT);
        assert_eq!(record.admitted(), 0);
    });
}

#[test]
fn waits_at_most_names_the_longest_wait_even_of_a_visitor_that_gave_up() {
    waiting_room_test::run(async |clock| {
        let wait = |client| if client == IpAddr::from([198, 19, 1, 2]) { MINUTE } else { SECOND };
        let record = one_by_one().visit(arbitrary_shop(clock, wait), clock).await;
        record.waits_at_most(MINUTE);
        let message = message_of(|| record.waits_at_most(30 * SECOND));
        let expected = "waits_at_most(30s) is broken: visitor 1 (browser) came at 1.000 s and \
                        waited for 60s until it was admitted";
        assert_eq!(message, expected.to_owned() + REPEAT);
    });
    waiting_room_test::run(async |clock| {
        let crowd = one_by_one().lasting(2 * MINUTE);
        let record = crowd.visit(arbitrary_shop(clock, |_| 10 * MINUTE), clock).await;
        let message = message_of(|| record.waits_at_most(MINUTE));
        let expected = "visitor 0 (browser) came at 0.000 s and waited for 120s until it was gone";
        assert!(message.contains(expected), "{message}");
        assert_eq!(record.visits()[0].ending(), Ending::CrowdIsOver);
    });
}

#[test]
fn no_refusals_fails_for_a_limit() {
    let crowd_at = |arrivals| crowd(2, arrivals);
    waiting_room_test::run(async |clock| {
        let limited = config(5).rate_limit(RateLimit::per_ip(Quota::per_minute(3)));
        let arrivals = Arrivals::at([Duration::ZERO, SECOND]);
        let record: CrowdRecord = crowd_at(arrivals).visit(shop(limited, clock), clock).await;
        let message = message_of(|| record.no_refusals());
        let expected = "no_refusals is broken: visitor 0 (browser) was refused at 50.000 s (429 \
                        refused:rate:per_ip), and there are ";
        assert!(message.starts_with(expected), "{message}");
    });
}

#[test]
fn no_refusals_fails_for_a_limit_that_states_no_time() {
    waiting_room_test::run(async |clock| {
        let refused = Router::new().route("/", get(async || StatusCode::TOO_MANY_REQUESTS));
        let record = crowd(1, Arrivals::at_once()).visit(refused, clock).await;
        let message = message_of(|| record.no_refusals());
        assert!(message.contains("visitor 0 (browser) was refused at 0.000 s (429)"), "{message}");
        assert_eq!((record.admitted(), record.visits()[0].ending()), (0, Ending::Refused));
    });
}
