use tower_waiting_room::room::{
    QueueingMethod,
    event::{Event as SaleEvent, Seed},
};

use super::*;

#[tokio::test(start_paused = true)]
async fn a_free_slot_is_announced_within_a_second_and_taken_by_a_request() {
    let room = Room::new(pushing());
    let mut guest = room.guest().await;
    let (mut ann, mut stream) = room.streaming().await;
    let (mut bob, mut behind) = room.streaming().await;
    assert_eq!(position(&stream.event().await.unwrap()), 1);
    assert_eq!(position(&behind.event().await.unwrap()), 2);
    assert!(stream.has_no_turn_for(secs(30)).await);
    guest.get("/end").await;
    assert!(stream.turn().await <= secs(1));
    // The slot is reserved, but not taken: a newcomer does not get it, nor does the next in line.
    assert!(!room.visitor().is_inside().await);
    assert!(behind.has_no_turn_for(secs(2)).await);
    let active = || async { room.layer.handle().room().unwrap().snapshot().await.unwrap().active };
    assert_eq!(active().await, 0);
    assert!(ann.is_inside().await);
    assert_eq!(active().await, 1);
    assert!(!bob.is_inside().await);
    // The stream of an admitted visitor ends by itself.
    assert_eq!(stream.event().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_visitor_takes_its_slot_by_asking_for_another_stream() {
    let room = Room::new(pushing());
    let mut guest = room.guest().await;
    let (mut visitor, mut stream) = room.streaming().await;
    stream.event().await;
    drop(stream);
    guest.get("/end").await;
    let asked = Request::get(PATH).header("accept", "text/event-stream");
    let answer = visitor.send(asked.header("origin", "https://a.example")).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    assert!(answer.headers.contains_key("access-control-expose-headers"));
    let active = room.layer.handle().room().unwrap().snapshot().await.unwrap().active;
    assert_eq!(active, 1);
    assert!(visitor.is_inside().await);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_lapses_frees_its_slot_within_a_second_too() {
    let room = Room::new(pushing());
    room.guest().await;
    let since = Instant::now();
    let (_, mut stream) = room.streaming().await;
    stream.turn().await;
    let lapsed = secs(90);
    assert!(since.elapsed() >= lapsed && since.elapsed() <= lapsed + secs(1));
}

#[tokio::test(start_paused = true)]
async fn no_slot_is_idle_while_visitors_with_streams_wait() {
    let room = Room::new(lasting().total_active_users(10));
    let mut inside = Vec::new();
    for _ in 0..10 {
        inside.push(room.guest().await);
    }
    let mut line = room.crowd(60).await;
    // In each round, three visitors leave, and the first three in line come in.
    for _ in 0..20 {
        for mut guest in inside.drain(..3) {
            guest.get("/end").await;
        }
        let since = Instant::now();
        for (mut visitor, mut stream) in line.drain(..3) {
            stream.turn().await;
            assert!(visitor.is_inside().await);
            inside.push(visitor);
        }
        assert!(since.elapsed() <= secs(1), "{:?}", since.elapsed());
        // It is the turn of no other visitor.
        let reads = line.iter_mut().map(|(_, stream)| stream.has_no_turn_for(secs(2)));
        assert!(join_all(reads).await.into_iter().all(|is_read| is_read));
    }
}

#[tokio::test(start_paused = true)]
async fn a_higher_limit_calls_all_admissible_visitors_at_once() {
    for method in [QueueingMethod::Fifo, QueueingMethod::Random] {
        let room = Room::new(lasting().queueing_method(method));
        room.guest().await;
        let mut line = room.crowd(100).await;
        sleep(secs(30)).await;
        room.layer.handle().room().unwrap().set_limits(41, None).await.unwrap();
        let turns = line.iter_mut().map(|(_, stream)| timeout(secs(1), stream.turn()));
        let turns = join_all(turns).await;
        assert_eq!(turns.iter().filter(|turn| turn.is_ok()).count(), 40, "{method:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_visitor_that_misses_its_turn_gives_way_and_keeps_its_place() {
    let room = Room::new(pushing());
    let mut guest = room.guest().await;
    let (mut ann, mut first) = room.streaming().await;
    let (mut bob, mut second) = room.streaming().await;
    guest.get("/end").await;
    first.turn().await;
    let (rest, waited) = tokio::join!(async { first.event().await }, second.turn());
    assert_eq!(rest, None, "the stream ends when the time for the turn is over");
    // The last stay is at most a second before the end of the ten seconds, and lasts for three.
    assert!(waited >= secs(11) && waited <= secs(14), "{waited:?}");
    // Both may come now, and the first to come is let in.
    assert!(ann.is_inside().await);
    assert!(!bob.is_inside().await);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_disconnects_holds_no_slot() {
    let room = Room::new(pushing());
    let mut guest = room.guest().await;
    let (_, first) = room.streaming().await;
    let (_, mut second) = room.streaming().await;
    sleep(secs(1)).await;
    drop(first);
    guest.get("/end").await;
    let waited = second.turn().await;
    assert!(waited <= secs(4), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn an_event_is_the_json_answer_and_the_page_gets_its_sentences() {
    let room = Room::new(pushing());
    room.guest().await;
    let mut visitor = room.visitor();
    let told = visitor.get("/").await.json().await;
    assert_eq!(told["waitingRoom"]["push"], PATH);
    let mut stream = visitor.open().await;
    let Some(Event::Named { name, data, retry_ms }) = stream.next().await else { panic!() };
    assert_eq!((name.as_str(), retry_ms.is_some()), ("position", true));
    let event = data["waitingRoom"].as_object().unwrap();
    for field in ["position", "ahead", "waitSeconds", "waitingSince", "placeKeptForSeconds"] {
        assert!(!event[field].is_null(), "{field}: {data}");
    }
    assert_eq!((&event["reason"], event.get("message")), (&"queued:active_limit".into(), None));
    visitor.headers.insert("accept-language", "de".parse().unwrap());
    let page = visitor.events(&format!("{PATH}?page")).await;
    let data = Stream::of(page).event().await.unwrap().1;
    let sentence = data["waitingRoom"]["message"]["position"].as_str().unwrap();
    assert!(sentence.starts_with("Sie sind"), "{sentence}");
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_is_sent_after_an_interval_without_events() {
    let push = Push::at(PATH).heartbeat(secs(7));
    let room = Room::new(lasting().push(push));
    room.guest().await;
    let mut crowd = room.crowd(20).await;
    let (_, stream) = crowd.last_mut().unwrap();
    // The events so far were sent while the crowd arrived.
    while stream.next().await != Some(Event::Heartbeat) {}
    let mut sent = Instant::now();
    let mut beats = 0;
    for _ in 0..10 {
        let next = stream.next().await.unwrap();
        let silence = sent.elapsed();
        assert!(silence <= secs(7), "{silence:?}");
        if next == Event::Heartbeat {
            assert_eq!(silence, secs(7));
            beats += 1;
        }
        sent = Instant::now();
    }
    assert!(beats >= 5, "{beats}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_at_a_random_time_and_its_client_returns_at_another() {
    let room = Room::new(config().push(Push::at(PATH).lifetime(secs(100))));
    let mut guest = room.guest().await;
    let mut ends = Vec::new();
    let mut retries = Vec::new();
    for _ in 0..20 {
        let (mut visitor, mut stream) = room.streaming().await;
        let since = Instant::now();
        let Some(Event::Named { retry_ms, .. }) = stream.next().await else { panic!() };
        while stream.next().await.is_some() {
            // The guest stays, so no turn comes.
            guest.get("/").await;
        }
        ends.push(since.elapsed().as_millis());
        retries.push(retry_ms.unwrap());
        visitor.cookie = None;
    }
    assert!(ends.iter().all(|end| (80_000..=100_000).contains(end)), "{ends:?}");
    assert!(retries.iter().all(|retry| (1_000..4_000).contains(retry)), "{retries:?}");
    for mut times in [ends, retries.into_iter().map(u128::from).collect()] {
        times.sort_unstable();
        times.dedup();
        assert!(times.len() > 10, "{times:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_is_kept_over_many_streams_for_longer_than_a_ticket_lasts() {
    let room = Room::new(pushing());
    let mut guest = room.guest().await;
    let (mut ann, mut stream) = room.streaming().await;
    let (_, mut behind) = room.streaming().await;
    let since = Instant::now();
    let mut lasts = 0;
    while since.elapsed() < secs(1_200) {
        let next = tokio::join!(stream.event(), timeout(secs(10), behind.event())).0;
        guest.get("/").await;
        match next {
            Some(event) => assert_eq!(position(&event), 1),
            None => (stream, lasts) = (ann.open().await, lasts + 1),
        }
    }
    assert!(lasts >= 10, "{lasts}");
    guest.get("/end").await;
    stream.turn().await;
    // The last stream may have been opened at this very instant, in which its ticket is not due.
    sleep(Duration::from_nanos(1)).await;
    assert!(ann.is_inside().await);
}

#[tokio::test(start_paused = true)]
async fn last_event_id_has_no_effect() {
    let room = Room::new(pushing());
    room.guest().await;
    let (mut ann, mut stream) = room.streaming().await;
    let (mut bob, _behind) = room.streaming().await;
    stream.event().await;
    let huge = "9".repeat(100_000);
    for id in ["0", "-1", "1", "queued:turn", "18446744073709551616", "\u{1}", &huge] {
        let Ok(id) = http::HeaderValue::from_bytes(id.as_bytes()) else { continue };
        bob.headers.insert("last-event-id", id);
        let told = bob.open().await.event().await.unwrap();
        assert_eq!(position(&told), 2);
    }
    assert!(!ann.is_inside().await);
}

#[tokio::test(start_paused = true)]
async fn the_application_can_end_all_streams_and_prevent_new_ones() {
    let room = Room::new(pushing());
    room.guest().await;
    let (mut visitor, mut stream) = room.streaming().await;
    stream.event().await;
    let ended = async {
        sleep(secs(1)).await;
        room.layer.handle().end_push_streams();
    };
    let (rest, ()) =
        tokio::join!(timeout(secs(2), async { while stream.event().await.is_some() {} }), ended);
    assert!(rest.is_ok());
    let answer = visitor.events(PATH).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.json().await["reason"], "refused:push_ended");
    assert_eq!(visitor.get("/").await.json().await["waitingRoom"]["status"], "waiting");
}

#[tokio::test(start_paused = true)]
async fn suspending_a_room_calls_all_waiting_visitors() {
    let room = Room::new(lasting());
    room.guest().await;
    let mut streams = room.crowd(30).await;
    room.layer.handle().room().unwrap().suspend().await.unwrap();
    let turns = streams.iter_mut().map(|(_, stream)| stream.turn());
    let turns = join_all(turns).await;
    assert!(turns.iter().all(|turn| *turn <= secs(1)), "{turns:?}");
    for (mut visitor, _) in streams {
        assert!(visitor.is_inside().await);
        assert_eq!(visitor.events(PATH).await.status, StatusCode::NO_CONTENT);
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_draw_the_streams_check_in_the_drawn_order() {
    let at = |secs: u64| Timestamp::from_secs(1_700_000_000 + secs);
    let event = SaleEvent::new("doors", at(60), at(4_000)).prequeue_start(at(10));
    let room = Room::new(lasting().total_active_users(5).event(event).event_seed("doors", SEED));
    sleep(secs(11)).await;
    let line = room.crowd(40).await;
    // Each visitor follows its stream until it learns its place.
    let drawn = line.into_iter().map(|(visitor, mut stream)| async move {
        loop {
            let (_, data) = stream.event().await.expect("the stream is open until the start");
            if let Some(place) = data["waitingRoom"]["event"]["place"].as_u64() {
                return (place, visitor, stream);
            }
        }
    });
    let mut line = join_all(drawn).await;
    let arrived: Vec<_> = line.iter().map(|(place, ..)| *place).collect();
    line.sort_unstable_by_key(|(place, ..)| *place);
    assert!(!arrived.is_sorted(), "the draw changes the order: {arrived:?}");
    let mut inside = Vec::new();
    for (_, mut visitor, stream) in line.drain(..5) {
        assert!(visitor.is_inside().await);
        inside.push(visitor);
        drop(stream);
    }
    for (place, mut visitor, mut stream) in line.drain(..12) {
        sleep(Duration::from_millis(2_700)).await;
        inside.remove(0).get("/end").await;
        let waited = timeout(secs(9), stream.turn()).await.expect("a slot is free");
        assert!(waited <= Duration::from_millis(500), "place {place}: {waited:?}");
        assert!(visitor.is_inside().await);
        inside.push(visitor);
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_start_of_an_event_all_streams_learn_their_turns_in_half_a_second() {
    let opened = Timestamp::from_secs(1_700_000_000);
    let created = Instant::now();
    let start = secs(60);
    let doors = SaleEvent::new("doors", opened + start, opened + secs(3_600))
        .prequeue_start(opened + secs(1));
    let room = Room::new(lasting().total_active_users(20).event(doors).event_seed("doors", SEED));
    sleep(secs(2)).await;
    let crowd = room.crowd(60).await;
    sleep(start - created.elapsed()).await;
    let half = Duration::from_millis(500);
    let waits = crowd.into_iter().map(|(visitor, mut stream)| async move {
        let waits = stream.has_no_turn_for(half).await;
        (visitor, stream, waits)
    });
    let told = join_all(waits).await;
    assert_eq!(told.iter().filter(|(.., waits)| !waits).count(), 20);
    for (mut visitor, _stream, waits) in told {
        assert_eq!(visitor.is_inside().await, !waits);
    }
}

const SEED: Seed = Seed::new([9; 32]);
