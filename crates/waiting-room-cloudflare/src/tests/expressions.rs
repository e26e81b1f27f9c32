//! Expressions of the Rules language.

use proptest::prelude::*;

use super::*;
use crate::expression::branches;

/// Returns each branch as its tests, or as the text that has no counterpart.
fn read(expression: &str) -> Vec<String> {
    let branches = branches(expression).unwrap_or_else(|why| panic!("{expression}: {why}"));
    let shown = branches.into_iter().map(|branch| match branch.unreadable {
        Some(text) => format!("? {text}"),
        None => branch.tests.iter().map(|test| test.to_string()).collect::<Vec<_>>().join(" "),
    });
    shown.collect()
}

#[test]
fn each_simple_form_is_a_test() {
    assert_eq!(read("http.request.uri.path eq \"/a\""), [r#"{"path":"/a"}"#]);
    assert_eq!(read("(http.request.uri.path == \"/a\")"), [r#"{"path":"/a"}"#]);
    assert_eq!(
        read("http.request.uri.path in {\"/a\" \"/b\"}"),
        [r#"{"path":"/a"}"#, r#"{"path":"/b"}"#]
    );
    assert_eq!(read("starts_with(http.request.uri.path, \"/a\")"), [r#"{"path_prefix":"/a"}"#]);
    assert_eq!(read("http.host eq \"a.example\""), [r#"{"host":"a.example"}"#]);
    assert_eq!(read("http.request.method eq \"POST\""), [r#"{"method":"POST"}"#]);
    assert_eq!(read("ip.src==192.0.2.1"), [r#"{"network":"192.0.2.1"}"#]);
    assert_eq!(
        read("ip.src in {192.0.2.0/24 2001:db8::/32}"),
        [r#"{"network":"192.0.2.0/24"}"#, r#"{"network":"2001:db8::/32"}"#]
    );
    assert_eq!(read(r#"http.request.uri.path eq "/a\"b\\c""#), [r#"{"path":"/a\"b\\c"}"#]);
}

#[test]
fn and_binds_tighter_than_or_and_parentheses_bind_tightest() {
    let a = "http.host eq \"a\"";
    let [b, c] = ["b", "c"].map(|path| format!("http.request.uri.path eq \"/{path}\""));
    let [a_test, b_test, c_test] = [r#"{"host":"a"}"#, r#"{"path":"/b"}"#, r#"{"path":"/c"}"#];
    assert_eq!(
        read(&format!("{a} or {b} and {c}")),
        [a_test.to_owned(), format!("{b_test} {c_test}")]
    );
    assert_eq!(
        read(&format!("{a} && ({b} || {c})")),
        [format!("{a_test} {b_test}"), format!("{a_test} {c_test}")]
    );
    assert_eq!(
        read(&format!("(({a}) or ({b})) and {c}")),
        [format!("{a_test} {c_test}"), format!("{b_test} {c_test}")]
    );
}

#[test]
fn unsupported_terms_keep_their_text_and_drop_their_branch() {
    for text in [
        "ends_with(http.request.uri.path, \".js\")",
        "ip.src in $list",
        "ip.src in {192.0.2.1..192.0.2.9}",
        "ip.src eq \"192.0.2.1\"",
        "ip.src.country eq \"DE\"",
        "http.cookie contains \"staff=1\"",
        "http.request.uri.path ne \"/a\"",
        "http.request.uri.path matches \"^/a\"",
        "http.request.uri.path wildcard \"/a*\"",
        "http.request.uri.path eq r\"/a\"",
        "http.request.uri.path in {}",
        "lower(http.request.uri.path) eq \"/a\"",
        "starts_with(http.host, \"a\")",
        "starts_with(lower(http.request.uri.path), \"/a\")",
        "any(http.request.headers[\"x-a\"][*] eq \"and\")",
        "not http.host eq \"a\"",
        "!(http.host eq \"a\" or http.host eq \"b\")",
        "http.host eq \"a\" xor http.host eq \"b\"",
        "(http.host eq \"a\") ^^ (http.host eq \"b\")",
        "ssl",
    ] {
        assert_eq!(read(text), [format!("? {text}")], "{text}");
        assert_eq!(
            read(&format!("http.host eq \"c\" and {text}")),
            [format!("? {text}")],
            "{text}"
        );
        assert_eq!(
            read(&format!("http.host eq \"c\" or {text}")),
            [r#"{"host":"c"}"#.to_owned(), format!("? {text}")],
            "{text}"
        );
    }
}

#[test]
fn an_expression_that_cannot_be_read_is_unsupported_with_its_text() {
    for (expression, why) in [
        ("(http.host eq \"a\"", "its parentheses do not match"),
        ("http.host eq \"a\")", "its parentheses do not match"),
        ("http.host eq \"a", "it has a string that does not end"),
        ("http.host eq \"\\x\"", "it has an escape in a string that is neither \\\" nor \\\\"),
        ("", "a condition is missing"),
        ("http.host eq \"a\" or", "a condition is missing"),
        ("and", "a condition is missing"),
        (&*"(".repeat(40), "it has more than 32 nested parentheses"),
        (&*"!".repeat(4_000), "it has more than 32 nested parentheses"),
        (&*"a".repeat(4_097), "it is longer than 4096 bytes"),
    ] {
        assert_eq!(branches(expression), Err(why), "{expression}");
        let rules = json!([{ "expression": expression }]).to_string();
        let room = room(json!({})).with_rules(&rules).unwrap();
        let last = room.unsupported().pop().unwrap();
        assert_eq!(last.field, "rules[0].expression");
        assert!(last.why.contains(why), "{last}");
    }
}

#[test]
fn an_expression_that_stands_for_too_many_rules_is_unsupported() {
    let list = |number: usize| {
        let paths = (0..number).map(|index| format!("\"/{index}\"")).collect::<Vec<_>>().join(" ");
        format!("http.request.uri.path in {{{paths}}}")
    };
    assert_eq!(branches(&format!("{} and {}", list(10), list(10))).unwrap().len(), 100);
    let why = Err("it stands for more than 100 rules");
    assert_eq!(branches(&format!("{} and {}", list(10), list(11))), why);
    assert_eq!(branches(&format!("{} or {}", list(50), list(51))), why);
    let tests = vec!["http.host eq \"a\""; 17].join(" and ");
    let rules = json!([{ "expression": tests }]).to_string();
    let room = room(json!({})).with_rules(&rules).unwrap();
    assert!(room.unsupported().pop().unwrap().why.starts_with("a rule has at most 16 tests"));
    assert!(room.config().is_ok() && !room.fields().contains_key("bypass"));
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(expression in "[ -~é\n]{0,80}") {
        let _ = branches(&expression);
    }

    /// A rule exempts no request that its expression does not match.
    #[test]
    fn a_branch_never_covers_more_than_the_expression(
        expression in expression(), facts in prop::array::uniform4(any::<bool>()),
    ) {
        let (text, meaning) = expression;
        let is_covered = branches(&text).unwrap().iter().any(|branch| {
            branch.unreadable.is_none() && branch.tests.iter().all(|test| {
                let host = test["host"].as_str().unwrap();
                facts["abcd".find(host).unwrap()]
            })
        });
        prop_assert!(!is_covered || meaning.holds(&facts), "{}", text);
    }
}

/// An expression as a tree, whose tests are the hosts `a` to `d`.
#[derive(Clone, Debug)]
enum Meaning {
    And(Box<Meaning>, Box<Meaning>),
    Host(usize),
    Not(Box<Meaning>),
    Or(Box<Meaning>, Box<Meaning>),
}

impl Meaning {
    fn holds(&self, facts: &[bool; 4]) -> bool {
        match self {
            Self::And(a, b) => a.holds(facts) && b.holds(facts),
            Self::Host(host) => facts[*host],
            Self::Not(it) => !it.holds(facts),
            Self::Or(a, b) => a.holds(facts) || b.holds(facts),
        }
    }
}

/// Returns expressions as text, with their meanings.
fn expression() -> impl Strategy<Value = (String, Meaning)> {
    let host = (0usize..4).prop_map(|host| {
        (format!("http.host eq \"{}\"", &"abcd"[host..=host]), Meaning::Host(host))
    });
    host.prop_recursive(4, 16, 2, |inner| {
        let boxed = |a: Meaning, b: Meaning| (Box::new(a), Box::new(b));
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(move |((a, x), (b, y))| {
                let (x, y) = boxed(x, y);
                (format!("({a}) and ({b})"), Meaning::And(x, y))
            }),
            (inner.clone(), inner.clone()).prop_map(move |((a, x), (b, y))| {
                let (x, y) = boxed(x, y);
                (format!("(({a}) or ({b}))"), Meaning::Or(x, y))
            }),
            inner.prop_map(|(a, x)| (format!("not ({a})"), Meaning::Not(Box::new(x)))),
        ]
    })
}
