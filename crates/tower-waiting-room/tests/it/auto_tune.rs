//! The rate of new users, tuned to what a gate can handle.

use std::time::Duration;

use tower_waiting_room::{
    Concurrency, WaitingRoomConfig,
    handle::{AutoTune, LastTuning, TuningCause},
    room::event::Event,
    time::Timestamp,
};

use crate::support::{House, Visitor, config};

/// A room with 100 new users per minute, and a gate with one permit and no queue.
fn house() -> House {
    let gate = Concurrency::limit(1).queue(0).name("service");
    House::new(config().total_active_users(500).new_users_per_minute(100).concurrency(gate))
}

/// Lets seconds pass, for the room and for the tuner.
async fn pass(house: &House, secs: u64) {
    for _ in 0..secs {
        house.advance(1);
        tokio::time::advance(Duration::from_secs(1)).await;
        // The tuner runs between two seconds.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
}

fn rate(house: &House) -> Option<u32> {
    house.handle().room().unwrap().rules().new_users_per_minute
}

fn start(house: &House) -> LastTuning {
    let tuner = house.handle().auto_tune(AutoTune::between(10, 200, "service")).unwrap();
    let last = tuner.last();
    tokio::spawn(tuner.run());
    last
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_refuses_requests_lowers_the_rate() {
    let house = house();
    let last = start(&house);
    pass(&house, 5).await;
    assert_eq!((rate(&house), last.get()), (Some(100), None));
    // The permit is taken away, so the gate refuses the visitor that the room admits.
    house.handle().gate("service").unwrap().set_limit(0).unwrap();
    assert_eq!(Visitor::default().get(&house).await.reason, "refused:gate_full");
    pass(&house, 6).await;
    assert_eq!(rate(&house), Some(70));
    let tuning = last.get().unwrap();
    assert_eq!(tuning.cause, TuningCause::Overloaded);
    assert_eq!(tuning.new_users_per_minute, Some(70));
}

#[tokio::test(start_paused = true)]
async fn a_gate_with_spare_permits_raises_the_rate_while_visitors_wait() {
    let house = house();
    let last = start(&house);
    pass(&house, 11).await;
    assert_eq!(last.get().unwrap().cause, TuningCause::NotNeeded);
    for _ in 0..100 {
        assert!(Visitor::default().get(&house).await.is_inside());
    }
    let mut ann = Visitor::default();
    assert_eq!(ann.queue(&house).await.reason, "queued:rate");
    for _ in 0..10 {
        let is_inside = ann.get(&house).await.is_inside();
        assert!(!is_inside || rate(&house) == Some(110));
        pass(&house, 1).await;
    }
    assert_eq!((rate(&house), last.get().unwrap().cause), (Some(110), TuningCause::Spare));
    // An operator's rate is the new starting point.
    house.handle().room().unwrap().set_limits(500, 300).await.unwrap();
    pass(&house, 10).await;
    assert_eq!(
        (rate(&house), last.get().unwrap().cause),
        (Some(300), TuningCause::ChangedElsewhere)
    );
    // Without the limit there is nothing to tune.
    house.handle().room().unwrap().set_limits(500, None).await.unwrap();
    pass(&house, 10).await;
    assert_eq!((rate(&house), last.get().unwrap().cause), (None, TuningCause::NoLimit));
}

#[test]
fn a_tuner_that_cannot_work_is_refused_with_the_field_and_both_values() {
    let error = |house: &House, tune| house.handle().auto_tune(tune).unwrap_err().to_string();
    let house = house();
    for (tune, expected) in [
        (AutoTune::between(0, 9, "service"), "auto_tune.least is 0, expected at least 1"),
        (
            AutoTune::between(9, 8, "service"),
            "auto_tune.most is 8, expected at least 9, the lower bound",
        ),
        (
            AutoTune::between(1, 9, "servise"),
            "auto_tune.gate is \"servise\", expected the name of a gate of this layer",
        ),
    ] {
        assert_eq!(error(&house, tune), expected);
    }
    let unlimited = House::new(config().concurrency(Concurrency::limit(1).name("service")));
    let limits_alone =
        House::new(WaitingRoomConfig::builder("api").concurrency(Concurrency::limit(1)));
    for (house, field) in
        [(unlimited, "new_users_per_minute"), (limits_alone, "total_active_users")]
    {
        let text = error(&house, AutoTune::between(1, 9, "service"));
        assert!(text.starts_with(field), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_an_event_overrides_is_left_alone() {
    let gate = Concurrency::limit(1).queue(0).name("service");
    let config = config().total_active_users(500).new_users_per_minute(100).concurrency(gate);
    let opened = Timestamp::from_secs(1_700_000_000);
    let times = [1, 25].map(|secs| opened + Duration::from_secs(secs));
    let event = Event::new("doors", times[0], times[1]).limits(500, 300);
    let house = House::new(config.event(event));
    let last = start(&house);
    pass(&house, 5).await;
    assert_eq!(rate(&house), Some(300), "the event overrides the rate");
    house.handle().gate("service").unwrap().set_limit(0).unwrap();
    assert_eq!(Visitor::default().get(&house).await.reason, "refused:gate_full");
    pass(&house, 6).await;
    let tuning = last.get().unwrap();
    assert_eq!(tuning.cause, TuningCause::Overridden);
    assert_eq!((tuning.new_users_per_minute, rate(&house)), (Some(300), Some(300)));
    // The end of the event is a change like that of an operator.
    pass(&house, 20).await;
    let tuning = last.get().unwrap();
    assert_eq!((rate(&house), tuning.cause), (Some(100), TuningCause::ChangedElsewhere));
    // The tuner waits for half a session, and then lowers the room's own rate.
    pass(&house, 45).await;
    assert_eq!(Visitor::default().get(&house).await.reason, "refused:gate_full");
    pass(&house, 5).await;
    assert_eq!((rate(&house), last.get().unwrap().cause), (Some(70), TuningCause::Overloaded));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_an_event_overrides_is_not_waited_for() {
    let gate = Concurrency::limit(1).queue(0).name("service");
    let config = config().total_active_users(500).new_users_per_minute(100).concurrency(gate);
    let opened = Timestamp::from_secs(1_700_000_000);
    let event = Event::new("doors", opened + Duration::from_secs(1), opened + DAY);
    let house = House::new(config.event(event.limits(500, 300)));
    let last = start(&house);
    house.handle().gate("service").unwrap().set_limit(0).unwrap();
    pass(&house, 5).await;
    // Each period has a refusal, and the tuner reports the same cause after each of them.
    for _ in 0..4 {
        assert_eq!(Visitor::default().get(&house).await.reason, "refused:gate_full");
        pass(&house, 10).await;
        assert_eq!(last.get().unwrap().cause, TuningCause::Overridden);
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
