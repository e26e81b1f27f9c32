//! Tests that errors state the position of a mistake, the given value and the expected value.

use super::*;
use crate::rules_file::fields::any_of;

#[track_caller]
fn refused(name: &str, text: &str) -> String {
    let error = parse(name, text).expect_err(text);
    // The form that a `main` function prints.
    assert_eq!(format!("{error:?}"), error.to_string());
    error.to_string()
}

/// Returns the message for a YAML file with these lines as its descriptors, which begin on line 3.
#[track_caller]
fn refused_descriptors(lines: &str) -> String {
    refused("limits.yaml", &format!("domain: d\ndescriptors:\n{lines}"))
}

#[test]
fn an_invalid_outer_structure_is_named() {
    for (text, message) in [
        ("", "1:1: domain is missing, expected a name for all rules of the file"),
        ("# nothing\n", "1:1: domain is missing, expected a name for all rules of the file"),
        ("domain: ''\n", "1:9: domain is \"\", expected a string of 1 to 256 bytes"),
        ("\u{feff}domain: ''\n", "1:9: domain is \"\", expected a string of 1 to 256 bytes"),
        ("domain: d\n", "1:1: descriptors is missing, expected a list"),
        ("domain: d\ndescriptors:\n", "2:12: descriptors is empty, expected a list"),
        ("- 1\n", "1:1: the file is a list, expected a table"),
        (
            "domain: d\ndescriptors: []\nreplaces: 1\n",
            "3:1: replaces is not a field, expected domain or descriptors",
        ),
        (
            "domain: d\ndomain: e\n",
            "2:1: domain is given twice, expected once: the first is on line 1",
        ),
        (
            "domain: &d d\ndescriptors: *d\n",
            "2:14: an alias is not supported, expected the value itself",
        ),
        ("訊息: !!str x\n", "1:5: a tag is not supported, expected the value without it"),
        (
            "domain: d\ndescriptors: []\n---\ndomain: e\n",
            "3:1: a second document begins, expected only one",
        ),
        ("? [a]\n: b\n", "1:3: the name of a field is a list, expected a string"),
    ] {
        assert_eq!(refused("limits.yaml", text), format!("limits.yaml:{message}"), "{text}");
    }
}

#[test]
fn the_same_errors_are_found_in_toml() {
    for (text, message) in [
        ("", "1:1: domain is missing, expected a name for all rules of the file"),
        ("[domain]\n", "1:1: domain is a table, expected a string of 1 to 256 bytes"),
        (
            "domain = 'd'\ndescriptors = []\nx.y = 1\na = 1\n",
            "3:1: x is not a field, expected domain or descriptors",
        ),
        (
            "domain = 'd'\n[[descriptors]]\nkey = 'user'\nvalue = 2026-11-21\n\
             [descriptors.rate_limit]\nunit = 'fortnight'\nrequests_per_unit = 5\n",
            "6:8: descriptors[0].rate_limit.unit is \"fortnight\", \
             expected second, minute, hour, day or week",
        ),
        (
            "domain = 'd'\n[[descriptors]]\nkey = 'path'\n\
             rate_limit = { unit = 'day', requests_per_unit = 1.5 }\n",
            "4:50: descriptors[0].rate_limit.requests_per_unit is 1.5, expected a whole number \
             from 0 to 999999999999999, without quotes or leading zeros",
        ),
        (
            "domain = 'd'\n[[descriptors]]\nkey = 'path'\n[[descriptors]]\nkey = 'user'\n\
             rate_limit.unlimited = true\n",
            "2:1: descriptors[0] is without effect, \
             expected a rate_limit, or descriptors that have one; an exemption is rate_limit: { unlimited: true }",
        ),
    ] {
        assert_eq!(refused("limits.toml", text), format!("limits.toml:{message}"), "{text}");
    }
}

#[test]
fn an_error_separates_the_given_value_from_the_expected_one() {
    let error = parse("limits.yaml", "domain: d\ndescriptors: ', expected x'\n").unwrap_err();
    assert_eq!(error.given(), "limits.yaml:2:14: descriptors is \", expected x\"");
    assert_eq!((error.line(), error.column()), (Some(2), Some(14)));
    assert_eq!(error.expected(), Some("a list"));

    let error = parse("limits.toml", "domain = 'd'\ndomain = 'e'\n").unwrap_err();
    assert!(error.given().starts_with("limits.toml:2:1: is not TOML: "), "{error}");
    assert_eq!(error.expected(), None);
}

/// The parsers write these messages, but this crate adds the position.
#[test]
fn a_file_that_cannot_be_parsed_is_named_with_the_place() {
    for (name, text, message) in [
        ("limits.yaml", "domain: d\ndescriptors: [\n", "limits.yaml:2:14: is not YAML: "),
        ("limits.yaml", "domain: *d\n", "limits.yaml:1:9: is not YAML: "),
        ("limits.toml", "domain = 'd'\ndomain = 'e'\n", "limits.toml:2:1: is not TOML: "),
        ("limits.toml", "domain = d\n", "limits.toml:1:10: is not TOML: "),
    ] {
        let error = refused(name, text);
        assert!(error.starts_with(message), "{error:?} should start with {message:?}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn an_invalid_descriptor_is_named() {
    for (lines, message) in [
        ("  - 5\n", "3:5: descriptors[0] is 5, expected a table"),
        (
            "  - value: x\n",
            "3:5: descriptors[0].key is missing, expected the part of a request to match",
        ),
        ("  - key: ''\n", "3:10: descriptors[0].key is \"\", expected a string of 1 to 256 bytes"),
        (
            "  - key: plan\n",
            "3:10: descriptors[0].key is \"plan\", expected everyone, method, path, remote_address, \
             visitor, path_prefix, cookie.<name>, header.<name>, message_type, tenant or user \
             (other keys have to be registered in code)",
        ),
        (
            "  - key: header.X-Plan\n",
            "3:10: descriptors[0].key is \"header.X-Plan\", \
             expected the name of the header in lower case",
        ),
        (
            "  - key: header.\n",
            "3:10: descriptors[0].key is \"header.\", expected the name of a header",
        ),
        (
            "  - key: cookie.a b\n",
            "3:10: descriptors[0].key is \"cookie.a b\", expected the name of a cookie",
        ),
        (
            "  - key: path\n    value:\n",
            "4:10: descriptors[0].value is empty, expected a string of 1 to 256 bytes",
        ),
        (
            "  - key: path\n    value: /a\n    Value: /b\n",
            "5:12: descriptors[0].Value is \"/b\", expected either value or Value, but not both",
        ),
        (
            "  - key: path\n    limit: 1\n",
            "4:5: descriptors[0].limit is not a field, expected key, value, Value, rate_limit, \
             shadow_mode, soft or descriptors",
        ),
        (
            "  - key: path\n",
            "3:5: descriptors[0] is without effect, \
             expected a rate_limit, or descriptors that have one; an exemption is rate_limit: { unlimited: true }",
        ),
        (
            "  - key: path\n    descriptors: []\n",
            "3:5: descriptors[0] is without effect, \
             expected a rate_limit, or descriptors that have one; an exemption is rate_limit: { unlimited: true }",
        ),
        (
            "  - key: path_prefix\n    soft: true\n",
            "3:5: descriptors[0].value is missing, expected the beginning of the paths",
        ),
        ("  - key: path\n    soft: 1\n", "4:11: descriptors[0].soft is 1, expected true or false"),
        (
            "  - key: path\n    soft: true\n",
            "4:11: descriptors[0].soft is true, expected no value without a rate_limit",
        ),
        (
            "  - key: path\n    soft: true\n    shadow_mode: true\n",
            "4:11: descriptors[0].soft is true, expected no value together with shadow_mode",
        ),
        (
            "  - key: path\n    soft: true\n    rate_limit: { unlimited: true }\n",
            "4:11: descriptors[0].soft is true, expected no value together with unlimited",
        ),
        (
            "  - key: path\n    descriptors:\n      - key: path\n",
            "5:14: descriptors[0].descriptors[0].key is \"path\", \
             expected a key that no outer descriptor has",
        ),
        (
            "  - key: path\n    value: []\n",
            "4:12: descriptors[0].value is an empty list, expected at least one value",
        ),
    ] {
        assert_eq!(refused_descriptors(lines), format!("limits.yaml:{message}"), "{lines}");
    }
}

/// A rule for a value that no request can have would never apply.
#[test]
fn a_value_that_no_request_can_have_is_named() {
    const ADDRESS: &str = "an address or a network, such as 10.0.0.0/8";
    const METHOD: &str = "the name of a method in upper case, such as POST";
    const PATH: &str = "a path that starts with '/', in printable ASCII and without a query, and '*' only as '/*' at its end";
    const PREFIX: &str =
        "the beginning of a path, such as /reports/, in printable ASCII and without a query or '*'";
    const WHOLE: &str = "a whole value, because only a path may end with '*'";
    for (key, value, expected) in [
        ("remote_address", "localhost", ADDRESS),
        ("remote_address", "10.0.0", ADDRESS),
        ("remote_address", "10.0.0.0/33", ADDRESS),
        ("remote_address", "10.0.0.1/8", "the address 10.0.0.1 or the network 10.0.0.0/8"),
        ("method", "post", METHOD),
        ("method", "Post", METHOD),
        ("method", "PO ST", METHOD),
        ("path", "login", PATH),
        ("path", "/api*", PATH),
        ("path", "/a/*/b", PATH),
        ("path", "/login?next=1", PATH),
        ("path", "/log in", PATH),
        ("path", "/訊息", PATH),
        ("path_prefix", "reports/", PREFIX),
        ("path_prefix", "/reports/*", PREFIX),
        // In the original format, such a value stands for all values that begin with `free`.
        ("header.x-plan", "free*", WHOLE),
        ("cookie.plan", "free*", WHOLE),
        ("user", "free*", WHOLE),
        ("method", "P*", METHOD),
        ("header.x-plan", "free ", "the value of a header"),
        ("header.x-plan", "a\\u0007", "the value of a header"),
        ("cookie.plan", "free;", "the value of a cookie"),
        ("everyone", "x", "no value, because all requests share this key"),
    ] {
        let given = refused_descriptors(&format!("  - key: {key}\n    value: \"{value}\"\n"));
        let shown = value.replace("\\u0007", "\\u{7}");
        let place = format!("limits.yaml:4:12: descriptors[0].value is \"{shown}\"");
        assert_eq!(given, format!("{place}, expected {expected}"));
    }
}

#[test]
fn one_address_in_two_notations_is_the_same() {
    for value in ["192.0.2.7/32", "::ffff:192.0.2.7"] {
        let error = refused_descriptors(&format!(
            "  - {{ key: remote_address, value: 192.0.2.7, rate_limit: {{ unlimited: true }} }}
  - {{ key: remote_address, value: '{value}', rate_limit: {{ unlimited: true }} }}\n"
        ));
        let message = "descriptors[1] is \"d/remote_address=192.0.2.7\", the name of the rule on line \
                       3, expected a unique name";
        assert_eq!(error, format!("limits.yaml:4:5: {message}"));
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn an_invalid_limit_is_named() {
    const NUMBER: &str =
        "a whole number from 0 to 999999999999999, without quotes or leading zeros";
    let algorithms = Algorithm::ALL.map(|algorithm| algorithm.as_str());
    for (fields, column, message) in [
        (
            "unit: fortnight, requests_per_unit: 5",
            25,
            "unit is \"fortnight\", expected second, minute, hour, day or week",
        ),
        (
            "requests_per_unit: 5",
            17,
            "unit is missing, expected second, minute, hour, day or week, or a window",
        ),
        (
            "unit: day",
            17,
            "requests_per_unit is missing, expected the number of requests in each window",
        ),
        (
            "unit: day, requests_per_unit: -5",
            49,
            &format!("requests_per_unit is -5, expected {NUMBER}"),
        ),
        (
            "unit: day, requests_per_unit: 010",
            49,
            &format!("requests_per_unit is 010, expected {NUMBER}"),
        ),
        (
            "unit: day, requests_per_unit: '5'",
            49,
            &format!("requests_per_unit is \"5\", expected {NUMBER}"),
        ),
        (
            "unit: day, requests_per_unit: 99999999999999999999",
            49,
            &format!("requests_per_unit is 99999999999999999999, expected {NUMBER}"),
        ),
        (
            "unit: day, requests_per_unit: 1000000000000000",
            49,
            &format!("requests_per_unit is 1000000000000000, expected {NUMBER}"),
        ),
        (
            "unit: day, requests_per_unit: 5, algorithm: leaky",
            63,
            &format!("algorithm is \"leaky\", expected {}", any_of(&algorithms)),
        ),
        (
            "unit: day, requests_per_unit: 5, algorithm: fixed_window, burst: 5",
            84,
            "burst is 5, expected none: only the token bucket, GCRA and the leaky queue have one",
        ),
        (
            "unit: day, requests_per_unit: 5, burst: 0",
            59,
            "burst is 0, expected at least 1; to allow nothing, set the limit to 0",
        ),
        (
            "unit: day, requests_per_unit: 2000000, algorithm: sliding_log",
            49,
            "requests_per_unit is 2000000, expected at most 1000000 for a sliding log; \
             try the sliding counter",
        ),
        (
            "unit: day, requests_per_unit: 5, burst: 2, cost: 3",
            68,
            "cost is 3, expected a whole number from 1 to 2, without quotes or leading zeros",
        ),
        (
            "unit: day, requests_per_unit: 5, cost: 0",
            58,
            "cost is 0, expected a whole number from 1 to 5, without quotes or leading zeros",
        ),
        (
            "unit: day, requests_per_unit: 5, refusals: count",
            62,
            "refusals is \"count\", expected no value unless the algorithm is sliding_log",
        ),
        (
            "unit: day, requests_per_unit: 5, algorithm: sliding_log, alignment: epoch",
            87,
            "alignment is \"epoch\", expected no value unless the algorithm is fixed_window",
        ),
        (
            "unit: day, requests_per_unit: 5, algorithm: fixed_window, alignment: clock",
            88,
            "alignment is \"clock\", expected epoch or first_hit",
        ),
        (
            "unit: day, requests_per_unit: 5, max_keys: 0",
            62,
            "max_keys is 0, expected a whole number from 1 to 16777216, \
             without quotes or leading zeros",
        ),
        (
            "unit: day, requests_per_unit: 5, missing_key: admit",
            65,
            "missing_key is \"admit\", expected address, bypass or refuse",
        ),
        (
            "unit: day, requests_per_unit: 5, quota_unit: bytes",
            64,
            "quota_unit is \"bytes\", expected content_bytes or requests",
        ),
        (
            "unit: day, window: 5s, requests_per_unit: 5",
            38,
            "window is 5s, expected either unit or window, but not both",
        ),
        (
            "window: 5, requests_per_unit: 5",
            27,
            "window is 5, expected a duration such as 10s or 1m 30s",
        ),
        ("window: 0s, requests_per_unit: 5", 27, "window is 0 s, expected at least 1 ms"),
        (
            "window: 9000h, requests_per_unit: 5",
            27,
            "window is 32400000 s, expected at most 366 days",
        ),
        ("unlimited: yes", 30, "unlimited is \"yes\", expected true or false"),
        (
            "unlimited: true, unit: day",
            36,
            "unit is \"day\", expected no value together with unlimited",
        ),
        (
            "unlimited: true, name: a\"b",
            42,
            "name is \"a\\\"b\", expected printable ASCII without spaces, quotes or backslashes",
        ),
        (
            "replaces: [{ name: other }]",
            19,
            "replaces is not a field, expected unit, requests_per_unit, window, algorithm, \
             refusals, alignment, burst, cost, max_keys, missing_key, quota_unit, adjustable, name \
             or unlimited",
        ),
    ] {
        let given =
            refused_descriptors(&format!("  - key: path\n    rate_limit: {{ {fields} }}\n"));
        let expected = format!("limits.yaml:4:{column}: descriptors[0].rate_limit.{message}");
        assert_eq!(given, expected, "{fields}");
    }
}

#[test]
fn two_rules_with_one_name_are_refused() {
    let error = refused_descriptors(
        "  - { key: path, value: /a/user, rate_limit: { unlimited: true } }
  - { key: path, value: /a, descriptors: [{ key: user, rate_limit: { unlimited: true } }] }\n",
    );
    assert_eq!(
        error,
        "limits.yaml:4:43: descriptors[1].descriptors[0] is \"d/path=/a/user\", \
         the name of the rule on line 3, expected a unique name"
    );
}

#[test]
fn the_size_of_a_file_is_bounded() {
    let long = format!("domain: {}\n", "x".repeat(257));
    let shown = "x".repeat(60);
    assert_eq!(
        refused("limits.yaml", &long),
        format!("limits.yaml:1:9: domain is \"{shown}…\", expected a string of 1 to 256 bytes")
    );

    let rules = |count: usize| {
        let rule =
            |i| format!("  - {{ key: path, value: /{i}, rate_limit: {{ unlimited: true }} }}\n");
        let rules: String = (0..count).map(rule).collect();
        parse("limits.yaml", &format!("domain: d\ndescriptors:\n{rules}"))
    };
    assert!(rules(1_000).is_ok());
    assert_eq!(
        rules(1_001).unwrap_err().to_string(),
        "limits.yaml:1003:5: descriptors[1000] is one rule too many, \
         expected at most 1000 in a file"
    );

    let large = " ".repeat((1 << 20) + 1);
    let message = "limits.yaml: is longer than the limit of 1048576 bytes";
    assert_eq!(refused("limits.yaml", &large), message);
}

#[test]
fn descriptors_are_nested_at_most_eight_deep() {
    let nested = |depth: usize| {
        let open: String =
            (0..depth).map(|i| format!("{{ key: header.h{i}, descriptors: [")).collect();
        let close = "] }".repeat(depth);
        let rule = "{ key: path, rate_limit: { unit: day, requests_per_unit: 1 } }";
        parse("limits.yaml", &format!("domain: d\ndescriptors: [{open}{rule}{close}]"))
    };
    assert_eq!(nested(7).unwrap()[0].key.to_string().split('+').count(), 8);
    let error = nested(8).unwrap_err().to_string();
    assert!(error.ends_with(".descriptors is at depth 9, expected at most 8"), "{error}");
    let error = nested(40).unwrap_err().to_string();
    assert!(error.ends_with("nested too deeply, expected at most 32 levels"), "{error}");
}

#[test]
fn aliases_do_not_multiply() {
    let mut bomb = "a0: &a0 [x, x]\n".to_owned();
    for i in 1..40 {
        let inner = i - 1;
        bomb += &format!("a{i}: &a{i} [*a{inner}, *a{inner}]\n");
    }
    let message = "limits.yaml:2:10: an alias is not supported, expected the value itself";
    assert_eq!(refused("limits.yaml", &bomb), message);
}

#[test]
fn the_extension_selects_the_format() {
    for name in ["limits", "limits.json", "limits.YAML.bak"] {
        let message = format!("{name}: does not have the extension .yaml, .yml or .toml");
        assert_eq!(refused(name, "domain: d"), message);
    }
}

#[test]
fn a_file_that_is_not_utf_8_is_named_with_the_place() {
    let error =
        descriptors::parse(Path::new("limits.yaml"), b"domain: d\nx: \xff\n", &registered());
    assert_eq!(error.unwrap_err().to_string(), "limits.yaml:2:4: 0xff is not UTF-8");
}
