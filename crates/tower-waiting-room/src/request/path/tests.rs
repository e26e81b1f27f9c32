//! Tests of the readings of a path, and of the parts from which they are computed.

use super::*;

fn texts(path: &str) -> Vec<String> {
    match Readings::of(path) {
        Readings::Several(it) => {
            it.texts.into_iter().map(|text| String::from_utf8(text.bytes).unwrap()).collect()
        }
        Readings::Escaped | Readings::One | Readings::Unread => Vec::new(),
    }
}

proptest::proptest! {
    #[test]
    fn a_path_without_escapes_and_dot_segments_is_plain(path in "[a/.%2;?#\\\\\0]{0,12}") {
        proptest::prop_assert_eq!(is_plain(path.as_bytes()), Signs::of(path.as_bytes()).total() == 0);
    }
}

#[test]
fn the_remainder_of_a_path_has_no_trailing_slash() {
    for (path, left) in [
        ("/a//b", "/a/b"),
        ("/a/b/..", "/a"),
        ("/a/b/.", "/a/b"),
        ("/a\\b\\", "/a/b"),
        ("/a;b=c/d;e", "/a/d"),
        ("/a/..;/b", "/b"),
        ("/a?b/c", "/a"),
        ("/a/bc/../../../d", "/d"),
        ("/..", "/"),
        ("//", "/"),
        ("", "/"),
        ("a/../b", "/b"),
        ("..\\a/.well-known", "/a/.well-known"),
        ("/a/;/b", "/a/b"),
        ("/a/;b", "/a"),
        ("/a/...//..b/..", "/a/..."),
    ] {
        assert_eq!(String::from_utf8(resolved(path.as_bytes())).unwrap(), left, "{path}");
    }
}

#[test]
fn an_ordinary_path_has_one_reading() {
    for path in ["/", "", "*", "/login", "/login/", "/a..b/c.css", "/%ff", "/a%20b%e4%Bd"] {
        let is_one = matches!(Readings::of(path), Readings::One | Readings::Escaped);
        assert!(is_one && Readings::of(path).is_clear(), "{path}");
    }
}

#[test]
fn a_path_is_decoded_at_most_twice() {
    assert_eq!(texts("/%2fl"), ["/l", "//l"]);
    assert_eq!(texts("/%256c"), ["/l", "/%6c"]);
    assert_eq!(texts("/%25256c"), ["/%6c", "/%256c"]);
    assert_eq!(texts("/%2%zz%"), ["/%2%zz%", "/%2%zz%"]);
}

#[test]
fn an_escape_of_a_byte_without_a_meaning_is_unambiguous() {
    for byte in 0..=u8::MAX {
        let is_clear = !byte.is_ascii_control() && !b"#%./;?\\".contains(&byte);
        for escape in [format!("%{byte:02x}"), format!("%{byte:02X}")] {
            let [_, high, low] = *escape.as_bytes() else { panic!("{escape}") };
            assert_eq!(is_clear_escape(high, low), is_clear, "{escape}");
        }
    }
    for broken in [b"4g", b"g4", b"4/", b"4:", b"/4", b"4 ", b"%4"] {
        assert!(!is_clear_escape(broken[0], broken[1]), "{broken:?}");
    }
}

#[test]
fn a_special_byte_is_found_at_every_position() {
    for length in [0, 1, 2, 3, 31, 32, 33, 127, 128, 129, 300] {
        for (sign, counted) in [("//", 1), ("/.", 1), ("\\", 1), (";", 1), ("%2e", 2), ("%z", 2)] {
            for behind in ["", "a", "aaaa"] {
                let path = format!("{}{sign}{behind}", "a".repeat(length));
                assert_eq!(Signs::of(path.as_bytes()).total(), counted, "{path}");
                if !sign.starts_with('%') {
                    assert_eq!(next_detour(path.as_bytes()), length, "{path}");
                }
            }
        }
    }
    assert_eq!(Signs::of(b"/%E4%BD%A0%41/%42").total(), 2);
}

#[test]
fn the_readings_of_any_path_are_few_and_not_longer() {
    for unit in ["/.", "/..", "//", "/%252e", "a%2f/.;%25", "\\", ";", "/%25%32%65", "%"] {
        let begin = format!("/{}", "a".repeat(100));
        let mut times = 1;
        let mut signs = 0;
        while signs <= Readings::MAX_SIGNS {
            let path = begin.clone() + &unit.repeat(times);
            signs = Signs::of(path.as_bytes()).total();
            match Readings::of(&path) {
                Readings::Several(it) => {
                    assert!(it.texts.len() <= 5, "{path}");
                    assert!(it.texts.iter().all(|text| text.bytes.len() <= path.len()), "{path}");
                    assert!(signs <= Readings::MAX_SIGNS, "{path}");
                }
                Readings::Unread => assert!(signs > Readings::MAX_SIGNS, "{path}"),
                other @ (Readings::Escaped | Readings::One) => panic!("{path}: {other:?}"),
            }
            times += 1;
        }
    }
}
