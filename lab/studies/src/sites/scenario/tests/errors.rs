//! The files that are refused, and the messages.

use super::*;

/// The error when `new` replaces `old`.
#[track_caller]
fn error(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    parse(&GOOD.replace(old, new)).unwrap_err().to_string()
}

#[test]
fn an_error_names_the_line_and_the_field() {
    let cases = [
        ("seed = 7", "seed = -7", "test.toml:2: seed: invalid value: integer `-7`, expected u64"),
        (
            "total_active_users = 200",
            "total_active_users = 0",
            "test.toml:5: limits.total_active_users: is 0, expected 1 to 10000000",
        ),
        (
            "new_users_per_minute = 100",
            "new_users_per_minute = \"many\"",
            "test.toml:6: limits.new_users_per_minute: invalid type: string \"many\", expected u32",
        ),
        (
            "session_s = 60",
            "session_s = 86400",
            "test.toml:7: limits.session_s: is 86400, expected 1 to 86399",
        ),
        (
            "nodes = [3, 6, 1]",
            "nodes = [3, 0, 1]",
            "test.toml:10: sites.nodes: is 0, expected 1 to 1000",
        ),
        (
            "nodes = [3, 6, 1]",
            "nodes = []",
            "test.toml:10: sites.nodes: has 0 sites, expected 1 to 1000",
        ),
        (
            "nodes = [3, 6, 1]",
            "nodes = [3, 6, 1]\ncount = 3",
            "test.toml:11: sites.count: contradicts nodes, which has a number for each site",
        ),
        (
            "nodes = [3, 6, 1]",
            "nodes = [3, 6, 1]\nweights = [1, 2]",
            "test.toml:11: sites.weights: has 2 numbers, expected one for each of 3 sites",
        ),
        (
            "nodes = [3, 6, 1]",
            "nodes = [3, 6, 1]\nweights = [1, 2, 3]\nsite_skew = 1.0",
            "test.toml:12: sites.site_skew: contradicts weights, 3 of them",
        ),
        (
            "[[0, 0.5], [10, 1.0]]",
            "[\n    [0, 0.5],\n    [10, 1.0],\n    [5, 1.0],\n]",
            "test.toml:16: traffic.points: minute is 5, expected 10 to 43200",
        ),
        (
            "[[0, 0.5], [10, 1.0]]",
            "[[0, 0.5], [10, nan]]",
            "test.toml:13: traffic.points: is NaN at minute 10, expected up to 10000000 visitors in a minute",
        ),
        (
            "[[0, 0.5], [10, 1.0]]",
            "[[0, 0.5]]",
            "test.toml:13: traffic.points: is over at once, expected a point after minute 0",
        ),
    ];
    for (old, new, expected) in cases {
        assert_eq!(error(old, new), expected);
    }
}

/// The place of an error is known from the parsed file, not from the appearance of a line.
#[test]
fn a_place_is_found_in_every_notation_of_the_file() {
    let cases = [
        // A comment that looks like a field.
        (
            "[[0, 0.5], [10, 1.0]]",
            "[\n[0, 0.5], # from = here\n    # [to] = there\n[nan, 1.0],\n]",
            "test.toml:16: traffic.points: minute is NaN, expected 0 to 43200",
        ),
        (
            "[sites]\nnodes = [3, 6, 1]",
            "  [ sites ]\n  nodes = [3, 0, 1]",
            "test.toml:10: sites.nodes: is 0, expected 1 to 1000",
        ),
        (
            "[sites]\nnodes = [3, 6, 1]",
            "  [ sites ] # nodes",
            "test.toml:9: sites: expected nodes, a number for each site, or count",
        ),
        (
            "seed = 7\n",
            "seed = 7\nnetwork = { news_every_s = 2, news_delay_s = 601 }\n",
            "test.toml:3: network.news_delay_s: is 601, expected 0 to 600",
        ),
        (
            "seed = 7\n",
            "seed = 7\nvisitors.bots = 2\n",
            "test.toml:3: visitors.bots: is 2, expected 0 to 1",
        ),
        ("[sites]\nnodes = [3, 6, 1]", "", "test.toml: missing field `sites`"),
    ];
    for (old, new, expected) in cases {
        assert_eq!(error(old, new), expected);
    }
    let without = format!("# A world.\n\n{}", GOOD.replace("[sites]\nnodes = [3, 6, 1]", ""));
    assert_eq!(parse(&without).unwrap_err().to_string(), "test.toml: missing field `sites`");
    let syntax = error("seed = 7", "seed = = 7");
    assert!(syntax.starts_with("test.toml:2: ") && !syntax.contains("seed:"), "{syntax}");
}

#[test]
fn sites_without_visitors_are_refused() {
    let weights = error("nodes = [3, 6, 1]", "nodes = [3, 6, 1]\nweights = [0, 0, 0.0]");
    assert_eq!(weights, "test.toml:11: sites.weights: are all 0, expected one that is more");
    let dead = |site| format!("[[fault]]\nkind = \"dead\"\nsite = {site}\nfrom_min = 3\n");
    let all = format!("{GOOD}\n{}{}{}", dead(2), dead(0), dead(1));
    assert_eq!(
        parse(&all).unwrap_err().to_string(),
        "test.toml:25: fault.site: is 1, the last site that visitors come to, \
         and no site would be left to take them"
    );
    let weightless = GOOD.replace("nodes = [3, 6, 1]", "nodes = [3, 6]\nweights = [1, 0]");
    let error = parse(&format!("{weightless}\n{}", dead(0))).unwrap_err().to_string();
    assert!(error.starts_with("test.toml:18: fault.site: is 0, the last site"), "{error}");
    parse(&format!("{GOOD}\n{}{}", dead(2), dead(0))).unwrap();
}

#[test]
fn settings_without_an_effect_are_refused() {
    let points = "points = [[0, 0.5], [10, 1.0]]";
    assert_eq!(
        error(points, "points = [[0, 0.5], [10, 1.0]]\nvisitors = 100"),
        "test.toml:14: traffic.visitors: contradicts points, which contain the arrivals"
    );
    assert_eq!(
        error(points, "replay = \"day.csv\"\nunit = \"load\""),
        "test.toml:14: traffic.unit: contradicts replay, whose numbers are visitors"
    );
    assert_eq!(
        error("nodes = [3, 6, 1]", "nodes = [3, 6, 1]\nnodes_each = 2"),
        "test.toml:11: sites.nodes_each: contradicts nodes, which has a number for each site"
    );
    assert_eq!(
        error("[\"even\", \"ideal\"]", "[\"even\", \"ideal\", \"even\"]"),
        "test.toml:1: policies: has even twice"
    );
    assert_eq!(
        error("[10, 1.0]]", "[10, 1.0, 7]]"),
        "test.toml:13: traffic.points: has 3 numbers, expected a minute and a number"
    );
    let with_slots =
        |policies, slots| error("[\"even\", \"ideal\"]", &format!("{policies}\nslots.{slots}"));
    let unused = "is for a policy that is not among the policies";
    assert_eq!(
        with_slots("[\"even\"]", "curve_factor = 2.0"),
        format!("test.toml:2: slots.curve_factor: {unused}")
    );
    assert_eq!(
        with_slots("[\"escrow\", \"ideal\"]", "pacing = \"linear\""),
        format!("test.toml:2: slots.pacing: {unused}")
    );
}

#[test]
fn faults_that_come_too_late_or_twice_are_refused() {
    let with = |table: &str| parse(&format!("{GOOD}\n{table}")).map_err(|error| error.to_string());
    let cut = |from, until| {
        format!("[[fault]]\nkind = \"cut\"\nsite = 0\nfrom_min = {from}\nuntil_min = {until}\n")
    };
    assert_eq!(
        with(&cut(10, 12)).unwrap_err(),
        "test.toml:18: fault.from_min: is 10, when the traffic is over"
    );
    assert_eq!(
        with("[[move]]\nat_min = 11\nshare = 0.5\nto = 0\n").unwrap_err(),
        "test.toml:16: move.at_min: is 11, when the traffic is over"
    );
    for (first, second) in [((1, 4), (3, 5)), ((3, 5), (1, 4)), ((1, 5), (2, 3)), ((1, 3), (3, 4))]
    {
        let both = with(&format!("{}{}", cut(first.0, first.1), cut(second.0, second.1)));
        let (from, until) = first;
        assert_eq!(
            both.unwrap_err(),
            format!(
                "test.toml:23: fault.from_min: is {}, which overlaps with the fault of this \
                 site from minute {from} to {until}",
                second.0
            )
        );
    }
    with(&format!("{}{}", cut(1, 3), cut(4, 5))).unwrap();
    with(&format!("{}{}", cut(1, 3), cut(2, 5).replace("site = 0", "site = 1"))).unwrap();
    let dead = "[[fault]]\nkind = \"dead\"\nsite = 0\nfrom_min = 4\n";
    with(&format!("{}{dead}", cut(1, 3))).unwrap();
    assert_eq!(
        with(&format!("{dead}{}", cut(5, 6))).unwrap_err(),
        "test.toml:22: fault.from_min: is 5, which overlaps with the fault of this site from \
         minute 4 on"
    );
    assert_eq!(
        with(&format!("{dead}[[move]]\nat_min = 5\nshare = 0.5\nto = 0\n")).unwrap_err(),
        "test.toml:22: move.to: is 0, a site that is dead by then"
    );
    with(&format!("{dead}[[move]]\nat_min = 3\nshare = 0.5\nto = 0\n")).unwrap();
}

#[test]
fn a_day_that_is_too_long_or_too_busy_is_refused() {
    let directory = std::env::temp_dir().join(format!("sites-long-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let replay = |rows: &str, more: &str| {
        fs::write(directory.join("day.csv"), format!("minute,requests\n{rows}")).unwrap();
        let file = GOOD.replace("points = [[0, 0.5], [10, 1.0]]", "replay = \"day.csv\"");
        let error = Scenario::parse("test".to_owned(), &format!("{file}{more}"), &directory);
        error.map_err(|error| error.to_string())
    };
    assert_eq!(
        replay("0,1\n43200,1\n", "").unwrap_err(),
        ":13: traffic.replay: has 43201 minutes, expected up to 43200"
    );
    assert_eq!(
        replay("0,1\n1,10000001\n", "").unwrap_err(),
        ":13: traffic.replay: is 10000001 at minute 1, expected up to 10000000 visitors in a minute"
    );
    let busy: String = (0..11).map(|minute| format!("{minute},10000000\n")).collect();
    assert_eq!(
        replay(&busy, "").unwrap_err(),
        ":13: traffic.replay: comes to 110000000 visitors, expected up to 100000000"
    );
    assert_eq!(
        replay(&busy, "visitors = 1e9\n").unwrap_err(),
        ":14: traffic.visitors: is 1000000000, expected 1 to 100000000"
    );
    assert_eq!(
        replay("0,0\n1,0\n", "visitors = 10\n").unwrap_err(),
        ":13: traffic.replay: has no visitors, expected one at least"
    );
    replay("0,1\n43199,1\n", "").unwrap();
    fs::remove_dir_all(directory).unwrap();
    assert_eq!(
        error("[[0, 0.5], [10, 1.0]]", "[[0, 5e6], [21, 5e6]]\nunit = \"per_minute\""),
        "test.toml:13: traffic.points: comes to 105000000 visitors, expected up to 100000000"
    );
}

#[test]
fn an_unknown_or_missing_field_is_named() {
    let unknown = error("session_s = 60", "sesion_s = 60");
    assert!(
        unknown.starts_with("test.toml:7: limits.sesion_s: unknown field `sesion_s`"),
        "{unknown}"
    );
    let unknown = error("\"even\"", "\"evn\"");
    assert!(unknown.starts_with("test.toml:1: policies: unknown variant `evn`"), "{unknown}");
    let missing = error("[limits]\ntotal_active_users = 200\n", "[limits]\n");
    assert!(missing.contains("missing field `total_active_users`"), "{missing}");
    assert!(missing.starts_with("test.toml:4: limits"), "{missing}");
    let missing = error("nodes = [3, 6, 1]", "");
    assert_eq!(missing, "test.toml:9: sites: expected nodes, a number for each site, or count");
    let missing = error("points = [[0, 0.5], [10, 1.0]]", "");
    assert_eq!(
        missing,
        "test.toml:12: traffic: expected points, or replay with the name of a file"
    );
    assert_eq!(
        error("[\"even\", \"ideal\"]", "[]"),
        "test.toml:1: policies: is empty, expected at least one policy"
    );
}

#[test]
fn faults_of_a_site_are_checked_as_well() {
    let with = |table: &str| parse(&format!("{GOOD}\n{table}")).unwrap_err().to_string();
    assert_eq!(
        with("[[move]]\nat_min = 1\nshare = 1.5\nto = 0\n"),
        "test.toml:17: move.share: is 1.5, expected 0 to 1"
    );
    assert_eq!(
        with("[[move]]\nat_min = 1\nshare = 0.5\nto = 3\n"),
        "test.toml:18: move.to: is 3, expected 0 to 2"
    );
    assert_eq!(
        with("[[fault]]\nkind = \"dead\"\nsite = 0\nfrom_min = 1\nuntil_min = 2\n"),
        "test.toml:19: fault.until_min: contradicts kind: a dead site does not come back"
    );
    assert_eq!(
        with("[[fault]]\nkind = \"cut\"\nsite = 0\nfrom_min = 3\nuntil_min = 2\n"),
        "test.toml:19: fault.until_min: is 2, expected 3 to 43200"
    );
    assert_eq!(
        with("[network]\nsite_rtt_ms = [10, 2]\n"),
        "test.toml:16: network.site_rtt_ms: is [10, 2], expected [least, most] up to 120000"
    );
    assert_eq!(
        with("[slots]\nany_floor = 2\n"),
        "test.toml:16: slots.any_floor: is 2, expected 0 to 1"
    );
}
