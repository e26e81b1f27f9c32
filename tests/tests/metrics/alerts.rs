//! Each alert fires if a layer is in the state that the alert warns of, and none fires otherwise.

use std::{collections::BTreeSet, fs, sync::Arc};

use axum::body::Body;
use http::Request;
use tests::{until, workspace};
use tower_waiting_room::{
    Concurrency, Key, KeyRing, Quota, RateLimit, TokenKey, rate::RateStoreFailure, room::Shares,
};
use waiting_room_doubles::RateStoreDouble;

use crate::scene::{House, Scene, Visitor, shop};

fn request() -> Request<Body> {
    Request::get("/").body(Body::empty()).unwrap()
}

fn send(house: &House, times: usize) {
    for _ in 0..times {
        house.send(request());
    }
}

/// A visitor that occupies the only slot, for as long as it visits once a minute.
fn guest(house: &House, guest: &mut Visitor) {
    assert!(guest.get(house));
}

#[test]
fn a_store_that_does_not_answer_sets_off_store_away() {
    let mut scene = Scene::new(shop());
    scene.play(3, |_| {}).house.store.cut();
    scene.play(4, |_| {}).assert_fires("WaitingRoomStoreAway");
}

/// Two nodes of one room. At the first, the line is nearly full in the first minute, and then the
/// node is cut off from the store. At the other, the line has this many visitors.
fn cut_off_beside_a_line_of(visitors: usize) -> Scene {
    let play = |minutes: usize, visitors: usize, is_cut: bool| {
        let mut scene = Scene::new(shop().line_capacity(10));
        let mut ann = Visitor::default();
        let mut line = vec![Visitor::default(); visitors];
        scene.play(minutes, |house| {
            guest(house, &mut ann);
            line.iter_mut().for_each(|visitor| _ = visitor.get(house));
        });
        if is_cut {
            scene.house.store.cut();
            scene.play(10, |_| {});
        }
        scene
    };
    play(2, 9, true).beside(play(12, visitors, false))
}

#[test]
fn the_last_figures_of_a_node_that_is_cut_off_are_not_those_of_the_room() {
    let scene = cut_off_beside_a_line_of(0);
    scene.assert_fires("WaitingRoomStoreAway");
    scene.assert_ended("WaitingRoomLineNearlyFull");
    cut_off_beside_a_line_of(9).assert_fires_at_the_end("WaitingRoomLineNearlyFull");
}

#[test]
fn a_line_without_free_places_sets_off_line_nearly_full() {
    let mut scene = Scene::new(shop().line_capacity(10));
    let mut ann = Visitor::default();
    let mut line = vec![Visitor::default(); 9];
    scene.play(6, |house| {
        guest(house, &mut ann);
        line.iter_mut().for_each(|visitor| _ = visitor.get(house));
    });
    scene.assert_fires("WaitingRoomLineNearlyFull");
}

#[test]
fn a_wait_of_an_hour_sets_off_wait_is_long() {
    let mut scene = Scene::new(shop());
    let [mut ann, mut bob] = <[Visitor; 2]>::default();
    scene.play(68, |house| {
        guest(house, &mut ann);
        bob.get(house);
    });
    scene.assert_fires("WaitingRoomWaitIsLong");
    scene.assert_fires("WaitingRoomAdmitsNoVisitor");
}

#[test]
fn a_room_that_is_closed_for_long_sets_off_held() {
    let mut scene = Scene::new(shop());
    scene.play(3, |_| {});
    let room = scene.house.handle.room().unwrap();
    scene.house.run(room.queue_all()).unwrap();
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
    scene.play(30, |house| _ = (ann.get(house), bob.get(house))).assert_fires("WaitingRoomHeld");
    scene.assert_silent("WaitingRoomAdmitsNoVisitor");
}

#[test]
fn a_line_that_stands_still_sets_off_admits_no_visitor() {
    let mut scene = Scene::new(shop());
    let [mut ann, mut bob] = <[Visitor; 2]>::default();
    scene.play(18, |house| {
        guest(house, &mut ann);
        bob.get(house);
    });
    scene.assert_fires("WaitingRoomAdmitsNoVisitor");
}

#[test]
fn a_line_also_stands_still_at_a_node_that_has_admitted_no_visitor() {
    let mut scene = Scene::new(shop());
    let [mut ann, mut bob] = <[Visitor; 2]>::default();
    // As at another node: there is no recorder yet.
    guest(&scene.house, &mut ann);
    scene.play(18, |house| {
        guest(house, &mut ann);
        bob.get(house);
    });
    scene.assert_fires("WaitingRoomAdmitsNoVisitor");
}

#[test]
fn impatient_visitors_set_off_many_abandon() {
    let mut scene = Scene::new(shop());
    let mut ann = Visitor::default();
    let mut newcomers = Vec::<Visitor>::new();
    scene.play(20, |house| {
        guest(house, &mut ann);
        // Each visitor takes a place, and never comes back.
        newcomers.drain(..).for_each(|mut visitor| _ = visitor.get(house));
        newcomers = vec![Visitor::default(); 3];
        newcomers.iter_mut().for_each(|visitor| _ = visitor.get(house));
    });
    scene.assert_fires("WaitingRoomManyAbandon");
}

#[test]
fn a_pause_that_no_estimate_foresaw_sets_off_estimates_off() {
    let mut scene = Scene::new(shop().total_active_users(20));
    let mut crowd = vec![Visitor::default(); 60];
    scene.play(3, |house| crowd.iter_mut().for_each(|visitor| _ = visitor.get(house)));
    let room = scene.house.handle.room().unwrap();
    scene.house.run(room.queue_all()).unwrap();
    scene.play(20, |house| crowd[20..].iter_mut().for_each(|visitor| _ = visitor.get(house)));
    scene.house.run(room.set_limits(100, 4)).unwrap();
    scene.house.run(room.resume()).unwrap();
    scene.play(14, |house| crowd[20..].iter_mut().for_each(|visitor| _ = visitor.get(house)));
    scene.assert_fires("WaitingRoomEstimatesOff");
}

#[test]
fn a_full_gate_sets_off_gate_refuses() {
    let gate = Concurrency::limit(0).queue(0);
    let mut scene = Scene::new(shop().total_active_users(100).concurrency(gate));
    scene.play(12, |house| send(house, 4)).assert_fires("WaitingRoomGateRefuses");
}

#[test]
fn requests_over_a_limit_set_off_limit_refuses() {
    let limit = RateLimit::new("all", Quota::per_minute(2), Key::global());
    let mut scene = Scene::new(shop().total_active_users(100).rate_limit(limit));
    scene.play(22, |house| send(house, 5)).assert_fires("WaitingRoomLimitRefuses");
}

#[test]
fn more_keys_than_places_set_off_limit_table_full() {
    let limit = RateLimit::new("each", Quota::per_hour(10), Key::header("x-api-key")).max_keys(64);
    let mut scene = Scene::new(shop().total_active_users(1_000).rate_limit(limit));
    let mut number = 0;
    scene.play(10, |house| {
        for _ in 0..100 {
            number += 1;
            let request = Request::get("/").header("x-api-key", number.to_string());
            house.send(request.body(Body::empty()).unwrap());
        }
    });
    scene.assert_fires("WaitingRoomLimitTableFull");
}

#[test]
fn limits_that_cannot_be_charged_set_off_limit_store_away() {
    let limit = RateLimit::new("all", Quota::per_minute(2), Key::global());
    let config = shop()
        .rate_limit(limit)
        .rate_store(RateStoreDouble::unavailable(), RateStoreFailure::Admit);
    let mut scene = Scene::new(config);
    scene.play(9, |house| send(house, 2)).assert_fires("WaitingRoomLimitStoreAway");
}

#[test]
fn a_single_failure_of_the_limits_sets_off_no_alert() {
    let limit = RateLimit::new("all", Quota::per_minute(2), Key::global());
    let config = shop()
        .rate_limit(limit)
        .rate_store(RateStoreDouble::unavailable(), RateStoreFailure::Admit);
    let mut scene = Scene::new(config);
    scene.play(2, |house| send(house, 1)).play(12, |_| {});
    scene.assert_silent("WaitingRoomLimitStoreAway");
}

#[test]
fn tokens_of_another_key_set_off_tokens_rejected() {
    let other = House::new(shop().keys(KeyRing::new(TokenKey::from_bytes([2; 32]))));
    let mut ann = Visitor::default();
    ann.get(&other);
    let mut scene = Scene::new(shop());
    scene.play(14, |house| (0..20).for_each(|_| _ = ann.clone().get(house)));
    scene.assert_fires("WaitingRoomTokensRejected");
}

#[test]
fn a_rules_file_with_an_error_sets_off_rules_file_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    fs::write(&path, "domain: shop\ndescriptors: []\n").unwrap();
    let mut scene = Scene::new(shop().rate_limits_file(&path));
    // The thread that watches the file has no local recorder.
    metrics::set_global_recorder(Arc::clone(&scene.recorder)).unwrap();
    scene.play(3, |_| {});
    fs::write(folder.path().join("new"), "domain: [").unwrap();
    fs::rename(folder.path().join("new"), &path).unwrap();
    let limits = scene.house.handle.limits();
    scene.house.run(until("the file is refused", async || limits.file_error()));
    // The alert lasts until the file is corrected.
    scene.play(60, |_| {}).assert_fires("WaitingRoomRulesFileRefused");
    fs::write(folder.path().join("new"), "domain: shop\ndescriptors: []\n").unwrap();
    fs::rename(folder.path().join("new"), &path).unwrap();
    let is_applied = async || limits.file_error().is_none().then_some(());
    scene.house.run(until("the file is applied", is_applied));
    scene.play(3, |_| {}).assert_ended("WaitingRoomRulesFileRefused");
}

#[test]
fn a_server_without_addresses_sets_off_misconfigured() {
    let mut scene = Scene::new(shop().rate_limit(RateLimit::per_ip(Quota::per_minute(9))));
    // The first request suffices.
    scene.play(1, |house| send(house, 1)).play(5, |_| {}).assert_fires("WaitingRoomMisconfigured");
}

#[test]
fn a_normal_hour_sets_off_no_alert() {
    let limit = RateLimit::new("all", Quota::per_minute(600), Key::global());
    let config = shop().total_active_users(4).rate_limit(limit).concurrency(Concurrency::limit(8));
    // The visitors here have no addresses.
    let config = config.shares(Shares::Off);
    let mut scene = Scene::new(config);
    let mut visitors = Vec::<Visitor>::new();
    scene.play(60, |house| {
        visitors.push(Visitor::default());
        visitors.iter_mut().for_each(|visitor| _ = visitor.get(house));
        // A visitor stays for at most five minutes.
        if visitors.len() > 5 {
            visitors.remove(0).visit(house, "/end");
        }
    });
    scene.assert_quiet();
}

#[test]
fn each_alert_has_an_action_and_a_test() {
    let rules = fs::read_to_string(workspace("deploy/alerts.yml")).unwrap();
    let alerts = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let alerts: BTreeSet<&str> = alerts.collect();
    let named =
        |line: &str| line.split("assert_fires(\"").nth(1)?.split('"').next().map(str::to_owned);
    let tests = concat!(include_str!("alerts.rs"), include_str!("ledger.rs"));
    let tested: BTreeSet<String> = tests.lines().filter_map(named).collect();
    let tested: BTreeSet<&str> = tested.iter().map(String::as_str).collect();
    assert_eq!(tested.difference(&alerts).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert_eq!(alerts.difference(&tested).collect::<Vec<_>>(), Vec::<&&str>::new());
    for block in rules.split("- alert: ").skip(1) {
        let line = block.lines().find_map(|line| line.trim().strip_prefix("action: \""));
        assert!(line.is_some_and(|line| line.len() > 40 && line.ends_with(".\"")), "{block}");
    }
}
