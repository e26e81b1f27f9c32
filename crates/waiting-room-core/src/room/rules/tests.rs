use super::*;
use crate::{
    MemoryStore, Pass, Room, Timestamp, VisitorId,
    room::event::{RoomPlan, Schedule},
};

fn rules() -> RoomRules {
    RoomRules::new("shop", 200)
}

fn refused(rules: RoomRules) -> (ConfigErrorKind, &'static str, String) {
    let error = rules.validate().unwrap_err();
    (error.kind(), error.field(), error.to_string())
}

#[test]
fn the_shares_of_all_nodes_are_at_most_the_limits() {
    let nodes = |count| NonZeroU32::new(count).unwrap();
    let share = rules().new_users_per_minute(7).share(nodes(3)).unwrap();
    assert_eq!((share.total_active_users, share.new_users_per_minute), (66, Some(2)));
    assert_eq!(rules().new_users_per_minute(7).share(nodes(8)), None);
    assert_eq!(rules().share(nodes(200)).unwrap().total_active_users, 1);
    assert_eq!(rules().share(nodes(201)), None);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn each_wrong_rule_is_refused_by_name_and_value() {
    use ConfigErrorKind::{Contradicts, Malformed, TooLarge, TooSmall};
    let secs = Duration::from_secs;
    let cases = [
        (RoomRules::new("", 1), Malformed, "name is \"\", expected 1 to 64 characters"),
        (
            RoomRules::new("a b", 1),
            Malformed,
            "name is \"a b\", expected letters, digits, '-' and '_' only",
        ),
        (rules().total_active_users(0), TooSmall, "total_active_users is 0, expected at least 1"),
        (
            rules().total_active_users(10_000_001),
            TooLarge,
            "total_active_users is 10000001, expected at most 10000000",
        ),
        (
            rules().new_users_per_minute(0),
            TooSmall,
            "new_users_per_minute is 0, expected at least 1",
        ),
        (rules().line_capacity(0), TooSmall, "line_capacity is 0, expected at least 1"),
        (rules().shares(Shares::Limit(0)), TooSmall, "shares is 0, expected at least 1"),
        (
            rules().shares(Shares::Shadow(10_000_001)),
            TooLarge,
            "shares is 10000001, expected at most 10000000",
        ),
        (
            rules().longest_session_duration(secs(86_401)),
            TooLarge,
            "longest_session_duration is 86401 s, expected at most 86400 s",
        ),
        (
            rules().session_duration(Duration::ZERO),
            TooSmall,
            "session_duration is 0 s, expected at least 1 s",
        ),
        (
            rules().session_duration(secs(86_401)),
            TooLarge,
            "session_duration is 86401 s, expected at most 86400 s",
        ),
        (
            rules().place_retention(secs(1)),
            TooSmall,
            "place_retention is 1 s, expected at least 5 s",
        ),
        (
            rules().refresh_interval(Duration::from_millis(1_500)),
            TooSmall,
            "refresh_interval is 1.5 s, expected at least 2 s",
        ),
        (
            rules().refresh_interval(secs(60)).place_retention(secs(90)),
            Contradicts,
            "place_retention is 90 s, expected at least twice refresh_interval (60 s)",
        ),
        (
            rules().cookie_test(CookieTest::AboveUtilization(101)),
            TooLarge,
            "cookie_test is 101, expected at most 100",
        ),
    ];
    for (rules, kind, message) in cases {
        let (got_kind, field, got) = refused(rules);
        assert_eq!((got_kind, got.as_str()), (kind, message));
        assert!(message.starts_with(field));
    }
}

#[test]
fn a_wrong_value_in_a_field_is_refused_by_every_way_into_a_room() {
    let wrong: [fn(&mut RoomRules); 4] = [
        |rules| rules.name = "a b".to_owned(),
        |rules| rules.total_active_users = 0,
        |rules| rules.session_duration = Duration::MAX,
        |rules| rules.place_retention = Duration::from_secs(39),
    ];
    for write in wrong {
        let mut wrong = rules();
        write(&mut wrong);
        let expected = wrong.clone().validate().unwrap_err();
        assert_eq!(Room::new(wrong.clone()).unwrap_err(), expected);
        assert_eq!(MemoryStore::new(wrong.clone()).unwrap_err(), expected);
        let plan = RoomPlan::new(wrong.clone(), Schedule::default());
        assert_eq!(plan.validate().unwrap_err(), expected);
        let mut room = Room::new(rules()).unwrap();
        assert_eq!(room.configure(wrong, Timestamp::ZERO).unwrap_err(), expected);
        assert_eq!(*room.rules(), rules());
    }
}

#[test]
fn a_sliding_pass_outlives_the_session_by_the_renewal_age() {
    let rules = rules().session_duration(Duration::from_secs(80));
    assert_eq!(rules.timing().renew_after(), Duration::from_secs(10));
    assert_eq!(rules.timing().pass_lifetime(), Duration::from_secs(90));
    let id = VisitorId::new(1);
    let start = Timestamp::ZERO;
    let pass = Pass::new(id, 0, start, start, Timestamp::from_secs(90));
    assert!(!rules.timing().is_renewal_due(&pass, Timestamp::from_millis(9_999)));
    assert!(rules.timing().is_renewal_due(&pass, Timestamp::from_secs(10)));
    let longer = rules.clone().session_duration(Duration::from_secs(7_200));
    assert!(
        longer.timing().is_renewal_due(&pass, Timestamp::from_secs(10)),
        "due by the pass's lifetime"
    );
    let under_way = Duration::from_millis(250);
    assert!(!rules.timing().may_lapse_first(&pass, Timestamp::from_millis(89_750), under_way));
    assert!(rules.timing().may_lapse_first(&pass, Timestamp::from_millis(89_751), under_way));
    // A visitor that was away for less than a session is let through, however slow the store is.
    assert!(!rules.timing().may_lapse_first(&pass, Timestamp::from_secs(80), Duration::MAX));
    let fixed = rules.session_renewal(SessionRenewal::Fixed);
    assert!(!fixed.timing().may_lapse_first(&pass, Timestamp::from_secs(90), under_way));
    assert_eq!(fixed.timing().pass_lifetime(), Duration::from_secs(80));
    assert!(!fixed.timing().is_renewal_due(&pass, Timestamp::from_millis(9_999)));
    assert!(
        fixed.timing().is_renewal_due(&pass, Timestamp::from_secs(10)),
        "the session may have ended"
    );
}
