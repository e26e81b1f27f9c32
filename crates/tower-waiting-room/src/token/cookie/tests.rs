use super::*;
use crate::token::transport::SetCookie;

fn set_cookie(settings: &CookieSettings) -> SetCookie {
    SetCookie::new(settings, "shop").unwrap()
}

fn deleted(settings: &CookieSettings) -> String {
    set_cookie(settings).delete().to_str().unwrap().to_owned()
}

fn refused(settings: &CookieSettings) -> (ConfigErrorKind, String) {
    let error = settings.validate("shop").unwrap_err();
    assert_eq!(SetCookie::new(settings, "shop").unwrap_err(), error);
    (error.kind(), error.to_string())
}

#[test]
fn the_default_cookie_is_bound_to_the_host_and_kept_from_scripts() {
    assert_eq!(
        deleted(&CookieSettings::new()),
        "__Host-wr-shop=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0"
    );
}

#[test]
fn every_setting_is_an_attribute() {
    let settings = CookieSettings::new()
        .name("line")
        .domain("shop.example.com")
        .path("/sale")
        .same_site(SameSite::None)
        .partitioned();
    assert_eq!(
        deleted(&settings),
        "line=; HttpOnly; SameSite=None; Partitioned; Secure; Path=/sale; \
         Domain=shop.example.com; Max-Age=0"
    );
    let strict = CookieSettings::new().same_site(SameSite::Strict);
    assert!(deleted(&strict).contains("; SameSite=Strict; Secure;"));
}

#[test]
fn an_insecure_cookie_loses_its_prefix_too() {
    assert_eq!(
        deleted(&CookieSettings::new().insecure()),
        "wr-shop=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0"
    );
}

#[test]
fn settings_that_contradict_each_other_are_refused_with_both_values() {
    let new = CookieSettings::new;
    let cases = [
        (
            new().domain("example.com"),
            "cookie_domain is \"example.com\", expected none with the name \"__Host-wr-shop\"",
        ),
        (
            new().name("__host-x").path("/sale"),
            "cookie_path is \"/sale\", expected \"/\" with the name \"__host-x\"",
        ),
        (
            new().name("__Host-x").insecure(),
            "cookie_name is \"__Host-x\", expected a name without such a prefix for an insecure \
             cookie",
        ),
        (
            new().name("__Secure-x").insecure(),
            "cookie_name is \"__Secure-x\", expected a name without such a prefix for an \
             insecure cookie",
        ),
        (
            new().insecure().same_site(SameSite::None),
            "cookie_same_site is None, expected Lax or Strict for an insecure cookie",
        ),
        (
            new().insecure().partitioned(),
            "cookie_partitioned is on, expected off for an insecure cookie",
        ),
    ];
    for (settings, message) in cases {
        assert_eq!(refused(&settings), (ConfigErrorKind::Contradicts, message.to_owned()));
    }
}

#[test]
fn a_malformed_name_path_or_domain_is_refused() {
    let new = CookieSettings::new;
    for name in ["", "a b", "a=b", "a;b", "a\"b", "naïve", "a\r\nb"] {
        let (kind, message) = refused(&new().name(name));
        assert_eq!(kind, ConfigErrorKind::Malformed);
        let expected = format!("cookie_name is {name:?}, expected a token");
        assert!(message.starts_with(&expected), "{message}");
    }
    for path in ["", "sale", "/a;b", "/a\r\nSet-Cookie: b", "/é"] {
        let (kind, message) = refused(&new().name("x").path(path));
        assert_eq!(kind, ConfigErrorKind::Malformed);
        assert!(message.starts_with(&format!("cookie_path is {path:?}")), "{message}");
    }
    for domain in ["", ".", "a..b", ".example.com", "a b", "a;b", "a\nb", "exämple.com"] {
        let (kind, message) = refused(&new().name("x").domain(domain));
        assert_eq!(kind, ConfigErrorKind::Malformed);
        assert!(message.starts_with(&format!("cookie_domain is {domain:?}")), "{message}");
    }
}

#[test]
fn a_value_that_is_too_long_is_refused_by_its_length() {
    let long = "x".repeat(256);
    let cases = [
        (CookieSettings::new().name(&long), "cookie_name"),
        (CookieSettings::new().name("x").path(format!("/{long}")), "cookie_path"),
        (CookieSettings::new().name("x").domain(&long), "cookie_domain"),
    ];
    for (settings, field) in cases {
        let (kind, message) = refused(&settings);
        assert_eq!(kind, ConfigErrorKind::TooLarge);
        assert!(message.starts_with(&format!("{field} is 25")), "{message}");
        assert!(message.ends_with("bytes long, expected at most 255"), "{message}");
    }
    assert_eq!(CookieSettings::new().name("x".repeat(255)).validate("shop"), Ok(()));
}
