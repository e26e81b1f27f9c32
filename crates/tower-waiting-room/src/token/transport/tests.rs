use http::header::SET_COOKIE;
use proptest::prelude::*;

use super::*;
use crate::token::{
    SameSite,
    tests::{NOW, pass, ticket, tokens},
};

const NAME: &str = "__Host-wr-shop";

fn transport() -> Transport {
    Transport::new(&CookieSettings::new(), "shop").unwrap()
}

/// Returns the headers of a request with these `waiting-room-token` and `Cookie` lines.
fn request<T: AsRef<[u8]>, C: AsRef<[u8]>>(tokens: &[T], cookies: &[C]) -> HeaderMap {
    let value = |bytes: &[u8]| HeaderValue::from_bytes(bytes).unwrap();
    let mut headers = HeaderMap::new();
    for token in tokens {
        headers.append(TOKEN_HEADER, value(token.as_ref()));
    }
    for cookie in cookies {
        headers.append(header::COOKIE, value(cookie.as_ref()));
    }
    headers
}

fn cookies<C: AsRef<[u8]>>(cookies: &[C]) -> HeaderMap {
    request::<&str, C>(&[], cookies)
}

fn candidates(headers: &HeaderMap) -> Vec<String> {
    let text = |(text, _): (&[u8], _)| String::from_utf8_lossy(text).into_owned();
    candidates_of(&transport(), headers).into_iter().map(text).collect()
}

fn candidates_of<'a>(
    transport: &Transport,
    headers: &'a HeaderMap,
) -> Vec<(&'a [u8], TokenSource)> {
    let mut candidates = Vec::new();
    _ = transport.each_candidate(headers, &TokenLines::of(headers), |text, source| {
        candidates.push((text, source));
        Continue(())
    });
    candidates
}

fn find(headers: &HeaderMap) -> FoundToken {
    transport().find(&tokens(), headers, NOW)
}

fn sealed_pass() -> String {
    tokens().seal_pass(&pass(NOW)).as_str().to_owned()
}

fn is_pass(found: &FoundToken) -> bool {
    matches!(found.opened, Some(Opened::Pass(_)))
}

fn is_ticket(found: &FoundToken) -> bool {
    matches!(found.opened, Some(Opened::Ticket(_)))
}

#[test]
fn candidates_come_header_first_and_then_in_the_order_of_the_cookies() {
    let line = format!("{NAME}=B; x=y; {NAME}=C");
    let headers = request(&["A"], &[line.as_str(), "__Host-wr-shop=D"]);
    let all = candidates_of(&transport(), &headers);
    let expected = [
        ("A", TokenSource::Header),
        ("B", TokenSource::Cookie),
        ("C", TokenSource::Cookie),
        ("D", TokenSource::Cookie),
    ];
    assert_eq!(all, expected.map(|(text, source)| (text.as_bytes(), source)));
}

#[test]
fn at_most_four_candidates_are_tried() {
    let line = format!("{NAME}=x; ").repeat(400);
    assert_eq!(candidates(&cookies(&[line])).len(), Transport::MAX_CANDIDATES);
    assert_eq!(candidates(&request(&["h"; 9], &[format!("{NAME}=x")])), ["h"; 4]);
}

#[test]
fn our_cookie_is_found_among_four_hundred() {
    let pass = sealed_pass();
    let many = (0..399).map(|n| format!("cookie{n}=value{n}; ")).collect::<String>();
    assert!(is_pass(&find(&cookies(&[format!("{many}{NAME}={pass}")]))));
    let split: Vec<_> =
        many.split("; ").map(str::to_owned).chain([format!("{NAME}={pass}")]).collect();
    assert!(is_pass(&find(&cookies(&split))));
}

#[test]
fn cookies_beyond_sixteen_kibibytes_are_not_searched() {
    let ours = format!("; {NAME}=T");
    let fits = CookieSearch::MAX_BYTES - ours.len();
    assert_eq!(candidates(&cookies(&["x".repeat(fits) + &ours])), ["T"]);
    assert!(candidates(&cookies(&["x".repeat(fits + 1) + &ours])).is_empty());

    // The bound applies to all `Cookie` headers together, so a header of 16 KiB leaves no budget
    // for the next header.
    let ours = format!("{NAME}=T");
    let filler = "x".repeat(CookieSearch::MAX_BYTES - ours.len());
    assert_eq!(candidates(&cookies(&[&filler, &ours])), ["T"]);
    assert!(candidates(&cookies(&[&(filler + "x"), &ours])).is_empty());
    let filler = "x".repeat(CookieSearch::MAX_BYTES);
    assert!(candidates(&cookies(&[&filler, &ours])).is_empty());
}

/// Only a bounded part of what a client sends in the cookies and in the header is read.
#[test]
fn items_and_copies_beyond_the_bounds_are_not_read() {
    let items = |empty: usize| candidates(&request::<_, &str>(&[",".repeat(empty) + "T"], &[]));
    assert_eq!(items(Transport::MAX_ITEMS - 1), ["T"]);
    assert!(items(Transport::MAX_ITEMS).is_empty());
    let two = ["a=x,".repeat(Transport::MAX_ITEMS - 2), "b=x,T".to_owned()];
    assert!(candidates(&request::<_, &str>(&two, &[])).is_empty(), "both lines together");

    for copy in [format!("{NAME}=; "), format!("x{NAME}=T; "), format!("x={NAME}; ")] {
        let ours = format!("{NAME}=T");
        let copies = |number| candidates(&cookies(&[copy.repeat(number) + &ours]));
        assert_eq!(copies(CookieSearch::MAX_MATCHES - 1), ["T"], "{copy}");
        assert!(copies(CookieSearch::MAX_MATCHES).is_empty(), "{copy}");
    }
}

#[test]
fn a_cookie_that_the_bound_cuts_is_no_candidate() {
    let line = format!("a={}; {NAME}=T1234", "x".repeat(CookieSearch::MAX_BYTES - 22));
    assert!(line.len() > CookieSearch::MAX_BYTES);
    assert!(line[..CookieSearch::MAX_BYTES].contains(&format!("{NAME}=T")));
    assert!(candidates(&cookies(&[line])).is_empty());
}

#[test]
fn bytes_that_are_not_utf_8_do_not_hide_our_cookie() {
    let pass = sealed_pass();
    let line = [b"a=\xff\xfe\x80; ", NAME.as_bytes(), b"=", pass.as_bytes(), b"; b=\xc3"].concat();
    assert!(is_pass(&find(&cookies(&[line]))));
    let line = [NAME.as_bytes(), b"=\xff\xff"].concat();
    assert_eq!(find(&cookies(&[line])).last_error, Some(OpenError::Malformed));
    let found = find(&request::<_, &str>(&[b"\xff\xff"], &[]));
    assert_eq!((found.rejected, found.source), (1, TokenSource::Header));
}

#[test]
fn the_cookie_of_a_response_is_found_in_the_next_request() {
    for settings in [
        CookieSettings::new(),
        CookieSettings::new().insecure(),
        CookieSettings::new().name("line.up").path("/a"),
    ] {
        let transport = Transport::new(&settings, "shop").unwrap();
        let token = tokens().seal_ticket(&ticket(NOW));
        let mut sent = HeaderMap::new();
        transport.attach(&mut sent, TokenSource::Cookie, token, Duration::from_secs(300));
        let (pair, _) = sent[SET_COOKIE].to_str().unwrap().split_once(';').unwrap();
        let found = transport.find(&tokens(), &cookies(&[format!("x=y; {pair}")]), NOW);
        assert!(is_ticket(&found));

        let mut sent = HeaderMap::new();
        transport.detach(&mut sent, TokenSource::Cookie);
        let (pair, attributes) = sent[SET_COOKIE].to_str().unwrap().split_once(';').unwrap();
        assert!(attributes.ends_with("; Max-Age=0"));
        let found = transport.find(&tokens(), &cookies(&[pair]), NOW);
        assert!(found.opened.is_none() && found.rejected == 0);
    }
}

#[test]
fn an_empty_cookie_of_prepared_headers_is_filled_and_any_other_is_kept() {
    let attached = |prepared: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(SET_COOKIE, HeaderValue::from_static(prepared));
        let token = tokens().seal_ticket(&ticket(NOW));
        transport().attach(&mut headers, TokenSource::Cookie, token, Duration::from_secs(300));
        let values = headers.get_all(SET_COOKIE).into_iter().map(|value| value.to_str().unwrap());
        values.map(|value| value.split_once('=').unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(attached(""), [NAME]);
    assert_eq!(attached("theme=dark"), ["theme", NAME]);
}

#[test]
fn each_room_reads_its_own_line_among_others() {
    let checkout = Transport::new(&CookieSettings::new(), "checkout").unwrap();
    let shop = transport();
    let mut sent = HeaderMap::new();
    let max_age = Duration::from_secs(300);
    checkout.attach(&mut sent, TokenSource::Header, tokens().seal_pass(&pass(NOW)), max_age);
    shop.attach(&mut sent, TokenSource::Header, tokens().seal_ticket(&ticket(NOW)), max_age);
    let mut lines = sent.get_all(TOKEN_HEADER).iter();
    let mut line = || lines.next().filter(|line| line.is_sensitive()).unwrap().to_str().unwrap();
    let first = line();
    let second = line();
    assert!(first.starts_with("checkout=") && second.starts_with("shop="));
    let joined = format!("{first}, {second}");
    for headers in [sent.clone(), request::<_, &str>(&[joined], &[])] {
        let found = shop.find(&tokens(), &headers, NOW);
        assert!(is_ticket(&found) && found.rejected == 0, "the pass is of another room");
        assert!(is_pass(&checkout.find(&tokens(), &headers, NOW)));
    }

    shop.detach(&mut sent, TokenSource::Header);
    assert_eq!(sent.get_all(TOKEN_HEADER).iter().next_back().unwrap(), "shop=");
    assert_eq!(candidates(&request::<_, &str>(&["shop=", "shop", "shop2=T"], &[])), ["shop"]);
}

#[test]
fn lines_beyond_sixteen_kibibytes_are_not_read() {
    let filler = "x".repeat(Transport::MAX_HEADER_BYTES - 6);
    // An item that is longer than any token is skipped.
    assert_eq!(candidates(&request::<_, &str>(&[&*filler, "shop=T"], &[])), ["T"]);
    assert!(candidates(&request::<_, &str>(&[&*(filler + "x"), "shop=T"], &[])).is_empty());
    let commas = ",".repeat(Transport::MAX_HEADER_BYTES + 1);
    assert!(candidates(&request::<_, &str>(&[commas], &[])).is_empty());
}

/// Finds candidates by splitting the headers exactly as the grammar states. Serves as an oracle.
fn naive(lines: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let pairs = lines.iter().flat_map(|line| line.split(|byte| *byte == b';'));
    pairs
        .filter_map(|pair| pair.trim_ascii_start().strip_prefix(b"wr-a="))
        .map(|value| {
            let value = value.trim_ascii();
            let inner = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
            inner.unwrap_or(value).to_vec()
        })
        .filter(|value| !value.is_empty())
        .take(Transport::MAX_CANDIDATES)
        .collect()
}

const PIECES: [&str; 10] = ["wr-a=", "wr-a", "=", ";", "; ", " ", "\t", "\"", "x", "é"];

proptest! {
    /// Among the first four candidates, up to a valid pass, the first of the best ones is found.
    #[test]
    fn the_token_that_takes_precedence_is_found(
        lines in prop::collection::vec(0..8_usize, 0..4),
        in_cookies in prop::collection::vec(0..8_usize, 0..4),
    ) {
        let [late, lapsed, void] =
            [1, 301, 600].map(|seconds| NOW.before(Duration::from_secs(seconds)));
        let text = |token: SealedToken| token.as_str().to_owned();
        let kinds = [
            (text(tokens().seal_pass(&pass(NOW))), Ok((3, NOW))),
            (text(tokens().seal_pass(&pass(late))), Ok((3, late))),
            (text(tokens().seal_ticket(&ticket(NOW))), Ok((2, NOW))),
            (text(tokens().seal_ticket(&ticket(late))), Ok((2, late))),
            (text(tokens().seal_pass(&pass(lapsed))), Ok((1, lapsed))),
            (text(tokens().seal_pass(&pass(void))), Err(OpenError::Expired)),
            ("garbage".to_owned(), Err(OpenError::Malformed)),
            ("\u{e9}".to_owned(), Err(OpenError::Malformed)),
        ];
        let mut best = None;
        let mut errors = Vec::new();
        let shown = lines.iter().map(|kind| (*kind, TokenSource::Header));
        let shown = shown.chain(in_cookies.iter().map(|kind| (*kind, TokenSource::Cookie)));
        for (kind, source) in shown.take(Transport::MAX_CANDIDATES) {
            match kinds[kind].1 {
                Ok((rank, _)) if best.is_some_and(|((best, _), _)| best >= rank) => {}
                Ok(opened) => best = Some((opened, source)),
                Err(error) => errors.push(error),
            }
            if kind < 2 {
                break;
            }
        }
        let source = if lines.is_empty() { TokenSource::Cookie } else { TokenSource::Header };
        let source = best.map_or(source, |(_, source)| source);
        let lines: Vec<_> = lines.into_iter().map(|kind| &kinds[kind].0).collect();
        let cookie = |kind: usize| format!("{NAME}={}", kinds[kind].0);
        let in_cookies: Vec<_> = in_cookies.into_iter().map(cookie).collect();
        let found = find(&request(&lines, &in_cookies));
        let opened = found.opened.map(|opened| match opened {
            Opened::Pass(pass) => (3, pass.last_check_in),
            Opened::Ticket(ticket) => (2, ticket.last_check_in),
            Opened::Lapsed(pass) => (1, pass.last_check_in),
        });
        prop_assert_eq!((opened, found.source), (best.map(|(opened, _)| opened), source));
        prop_assert_eq!((found.rejected, found.last_error), (errors.len(), errors.last().copied()));
    }

    #[test]
    fn candidates_are_those_of_a_naive_parser(
        // The name is found at most `MAX_MATCHES` times.
        lines in prop::collection::vec(
            prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..8),
            0..3,
        ),
    ) {
        let lines: Vec<_> = lines.into_iter().map(|parts| parts.concat().into_bytes()).collect();
        let transport = Transport::new(&CookieSettings::new().name("wr-a"), "shop").unwrap();
        let headers = cookies(&lines);
        let found = candidates_of(&transport, &headers);
        let found: Vec<_> = found.into_iter().map(|(text, _)| text.to_vec()).collect();
        prop_assert_eq!(found, naive(&lines));
    }

    #[test]
    fn no_header_makes_finding_panic(
        token in prop::collection::vec(32u8..127, 0..300),
        line in prop::collection::vec(128u8.., 0..300),
    ) {
        let name = NAME.as_bytes();
        let line = [name, b"=", &token, b"; ", &line, b"; ", name, b"="].concat();
        let found = find(&request(&[token], &[line]));
        prop_assert!(found.opened.is_none());
    }
}

#[test]
fn the_age_is_rounded_up_to_whole_seconds() {
    let token = tokens().seal_pass(&pass(NOW));
    let cookie = SetCookie::new(&CookieSettings::new(), "shop").unwrap();
    let cases = [
        (Duration::ZERO, "0"),
        (Duration::from_nanos(1), "1"),
        (Duration::from_secs(300), "300"),
        (Duration::from_millis(300_001), "301"),
        (Duration::MAX, "9223372036854775807"),
    ];
    for (max_age, expected) in cases {
        let header = cookie.keep(&token, max_age);
        assert!(header.is_sensitive());
        let expected = format!(
            "__Host-wr-shop={}; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age={expected}",
            token.as_str()
        );
        assert_eq!(header.to_str().unwrap(), expected);
    }
}

#[test]
fn every_cookie_agrees_with_the_cookie_crate() {
    let token = tokens().seal_pass(&pass(NOW));
    let new = CookieSettings::new;
    let usual = |name| {
        let cookie = cookie::Cookie::build((name, token.as_str().to_owned()));
        cookie.http_only(true).secure(true).path("/").same_site(cookie::SameSite::Lax)
    };
    let attributes = new().name("a").domain("shop.example").same_site(SameSite::None);
    let expected = usual("a").domain("shop.example").same_site(cookie::SameSite::None);
    for (settings, expected) in [
        (new(), usual("__Host-wr-shop")),
        (new().insecure(), usual("wr-shop").secure(false)),
        (
            new().same_site(SameSite::Strict),
            usual("__Host-wr-shop").same_site(cookie::SameSite::Strict),
        ),
        (attributes.clone().path("/Max-Age=0"), expected.clone().path("/Max-Age=0")),
        (attributes.path("/sale").partitioned(), expected.path("/sale").partitioned(true)),
    ] {
        let ours = SetCookie::new(&settings, "shop").unwrap();
        let mut cookie = expected.build();
        assert_eq!(ours.name(), cookie.name());
        for age in [0_u32, 1, 300, 1_000_000_000] {
            cookie.set_max_age(cookie::time::Duration::seconds(age.into()));
            let header = ours.keep(&token, Duration::from_secs(age.into()));
            assert_eq!(header.to_str().unwrap(), cookie.to_string());
        }
    }
}
