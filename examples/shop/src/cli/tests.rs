use clap::CommandFactory;

use super::*;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split_whitespace())
}

fn crowd(line: &str) -> CrowdOrder {
    match parse(line).unwrap().mode() {
        Mode::Crowd(order) => order,
        Mode::Serve => panic!("{line} asks for a crowd"),
    }
}

#[test]
fn the_definition_of_the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn without_a_crowd_it_serves() {
    let cli = parse("shop --listen 0.0.0.0:8080 --limit 7 --rate 9 --session 10m").unwrap();
    assert!(matches!(cli.mode(), Mode::Serve));
    assert_eq!(cli.listen, SocketAddr::from(([0, 0, 0, 0], 8080)));
    let promises = cli.room.promises();
    assert_eq!((promises.total_active_users, promises.new_users_per_minute), (7, Some(9)));
    assert_eq!(promises.session_duration, Duration::from_secs(600));
}

#[test]
fn the_dashboard_is_served_on_request_and_not_with_a_crowd() {
    assert!(!parse("shop").unwrap().admin);
    assert!(parse("shop --admin").unwrap().admin);
    assert!(parse("shop --admin --crowd 5").is_err());
}

#[test]
fn a_collector_is_an_address_and_not_for_a_crowd() {
    assert!(parse("shop").unwrap().otlp.is_none());
    assert!(parse("shop --otlp http://127.0.0.1:4318").unwrap().otlp.is_some());
    assert!(parse("shop --otlp http://127.0.0.1:4318 --crowd 5").is_err());
    let error = parse("shop --otlp 127.0.0.1:4318").unwrap_err().to_string();
    let expected = "invalid value '127.0.0.1:4318' for '--otlp <URL>': expected http://HOST:PORT";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_session_is_shorter_for_a_crowd_unless_it_is_given() {
    let session = |line| parse(line).unwrap().room.for_crowd(false).promises().session_duration;
    assert_eq!(parse("shop").unwrap().room.promises().session_duration, Duration::from_secs(300));
    assert_eq!(session("shop --crowd 5"), Duration::from_secs(60));
    assert_eq!(session("shop --crowd 5 --session 90s"), Duration::from_secs(90));
}

#[test]
fn a_crowd_comes_over_a_minute_unless_another_time_is_given() {
    let even = |line| match crowd(line).arrivals {
        Arrivals::Even { visitors, over } => (visitors, over.as_secs()),
        other @ (Arrivals::Replay(_) | Arrivals::Sale { .. }) => {
            panic!("{line} is an even crowd, but {other:?}")
        }
    };
    assert_eq!(even("shop --crowd 500"), (500, 60));
    assert_eq!(even("shop --crowd 500 --duration 90"), (500, 90));
    assert_eq!(even("shop --crowd 500 --duration 1m30s"), (500, 90));
}

#[test]
fn a_sale_has_other_limits_unless_they_are_given() {
    let sale = |line: &str| {
        let promises = parse(line).unwrap().room.for_sale().promises();
        let session = promises.session_duration.as_secs();
        (promises.total_active_users, promises.new_users_per_minute.unwrap(), session)
    };
    assert_eq!(sale("shop --crowd 5 --event"), (600, 3_000, 20));
    let given = "shop --crowd 5 --event --limit 7 --rate 9 --session 30s";
    assert_eq!(sale(given), (7, 9, 30));
    let times = |line| match crowd(line).arrivals {
        Arrivals::Sale { visitors, over, prequeue } => {
            (visitors, over.as_secs(), prequeue.as_secs())
        }
        other @ (Arrivals::Even { .. } | Arrivals::Replay(_)) => {
            panic!("{line} is a sale, but {other:?}")
        }
    };
    assert_eq!(times("shop --crowd 500 --event"), (500, 60, 15));
    assert_eq!(times("shop --crowd 5 --event --prequeue 20s --duration 30s"), (5, 30, 20));
}

#[test]
fn a_replay_is_the_steepest_hour_in_three_minutes_by_default() {
    let window = |line| match crowd(line).arrivals {
        Arrivals::Replay(args) => args.window,
        other @ (Arrivals::Even { .. } | Arrivals::Sale { .. }) => {
            panic!("{line} replays a file, but {other:?}")
        }
    };
    let default = window("shop --replay day.csv --json");
    assert_eq!((default.from, default.minutes, default.press.as_secs()), (None, 60, 180));
    assert_eq!(default.peak_factor.to_bits(), 3.0_f64.to_bits());
    let other = window("shop --replay d --from 14:30 --minutes 20 --press 30s --peak-factor 1.5");
    assert_eq!((other.from.as_deref(), other.minutes), (Some("14:30"), 20));
    assert_eq!(other.press, Duration::from_secs(30));
}

#[test]
fn contradictory_or_excessive_arguments_are_refused() {
    for line in [
        "shop --crowd 5 --replay day.csv",
        "shop --crowd 0",
        "shop --crowd 5 --duration 0",
        "shop --crowd 5 --drain 46s",
        "shop --crowd 5 --listen 127.0.0.1:80",
        "shop --crowd 5 --secure",
        "shop --replay day.csv --duration 90",
        "shop --replay day.csv --press 181s",
        "shop --replay day.csv --peak-factor 0",
        "shop --replay day.csv --peak-factor NaN",
        "shop --replay day.csv --minutes 0",
        "shop --event",
        "shop --replay day.csv --event",
        "shop --crowd 5 --event --restart-at 30s",
        "shop --crowd 5 --event --one-address",
        "shop --crowd 5 --event --prequeue 9s",
        "shop --crowd 5 --prequeue 15s",
        "shop --restart-at 30s",
        "shop --json",
        "shop --seed 7",
        "shop --drain 5",
        "shop --duration 5",
        "shop --crowd 5 --from 14:30",
        "shop --crowd 5 --minutes 10",
        "shop --crowd 5 --press 10",
        "shop --crowd 5 --peak-factor 2",
        "shop --session soon",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn the_first_key_seals_and_a_wrong_one_is_never_shown() {
    let key = |byte: &str| byte.repeat(43);
    let room = |keys: &str| parse(&format!("shop --keys {keys}")).unwrap().room;
    assert!(room(&format!("{},{}", key("A"), key("Q"))).own_keys().unwrap().is_some());
    let error = room("c2VjcmV0").own_keys().unwrap_err().to_string();
    assert_eq!(error, "token_key is 6 bytes long, expected 32 bytes in base64");
}

#[test]
fn the_allowance_of_a_minute_is_the_scarcer_of_both_limits() {
    let allowed = |line| parse(line).unwrap().room.for_crowd(false).allowed_per_minute().to_bits();
    assert_eq!(allowed("shop --crowd 1"), 200.0_f64.to_bits());
    assert_eq!(allowed("shop --crowd 1 --limit 100"), 100.0_f64.to_bits());
    assert_eq!(allowed("shop --crowd 1 --limit 100 --session 30s"), 200.0_f64.to_bits());
}
