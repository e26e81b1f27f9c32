use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use waiting_room_core::room::PassHome;

use super::*;
use crate::token::{
    KeyRing, TokenKey,
    payload::PASS_LEN,
    tests::{
        NOW, arbitrary_pass, arbitrary_ticket, maximal_pass, maximal_ticket, pass, ticket, tokens,
    },
};

fn key(byte: u8) -> TokenKey {
    TokenKey::from_bytes([byte; 32])
}

fn open(token: &SealedToken) -> Result<Opened, OpenError> {
    tokens().open(token.as_str().as_bytes(), NOW)
}

fn opened_pass(result: Result<Opened, OpenError>) -> Verified<Pass> {
    match result {
        Ok(Opened::Pass(pass)) => pass,
        other => panic!("{other:?} is not a pass"),
    }
}

/// Returns a token of each kind, as a string.
fn both() -> [String; 2] {
    [tokens().seal_pass(&pass(NOW)).0, tokens().seal_ticket(&ticket(NOW)).0]
}

#[test]
fn the_longest_token_is_well_under_200_bytes() {
    let home = Some(PassHome::new(u16::MAX, u32::MAX, u32::MAX));
    let pass = tokens().seal_pass(&maximal_pass());
    let of_site = tokens().seal_pass(&maximal_pass().with_home(home));
    let ticket = tokens().seal_ticket(&maximal_ticket());
    let lengths = [pass, of_site, ticket].map(|token| token.as_str().len());
    assert_eq!(lengths, [126, 147, 168]);
}

#[test]
fn a_token_with_any_bit_of_its_bytes_flipped_is_refused_for_the_right_reason() {
    for text in both() {
        let bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let error = tokens().open(URL_SAFE_NO_PAD.encode(&bytes).as_bytes(), NOW).unwrap_err();
            let expected = match bit / 8 {
                0 => OpenError::UnknownVersion,
                1 if matches!(bytes[1], 1..=3) => OpenError::Forged,
                1 => OpenError::Malformed,
                2..6 => OpenError::UnknownKey,
                _ => OpenError::Forged,
            };
            assert_eq!(error, expected, "bit {bit}");
        }
    }
}

#[test]
fn a_truncated_or_extended_token_is_refused() {
    for text in both() {
        for len in 0..text.len() {
            assert!(tokens().open(&text.as_bytes()[..len], NOW).is_err(), "{len} bytes");
        }
        for tail in ["A", "AA", "AAAA", "=", " ", "\0"] {
            assert!(tokens().open(format!("{text}{tail}").as_bytes(), NOW).is_err(), "{tail:?}");
        }
    }
}

#[test]
fn a_token_of_another_room_is_refused() {
    for room in ["shoq", "sho", "shop2", "", "Shop"] {
        let elsewhere = Tokens::new(&KeyRing::new(key(1)), room);
        let token = elsewhere.seal_pass(&pass(NOW));
        assert_eq!(open(&token), Err(OpenError::Forged), "{room}");
    }
}

#[test]
fn a_token_that_claims_a_known_key_is_still_refused() {
    let foreign = Tokens::new(&KeyRing::new(key(2)), "shop").seal_pass(&pass(NOW));
    let own = tokens().seal_pass(&pass(NOW));
    let mut bytes = URL_SAFE_NO_PAD.decode(foreign.0).unwrap();
    bytes[..6].copy_from_slice(&URL_SAFE_NO_PAD.decode(own.0).unwrap()[..6]);
    let claimed = SealedToken(URL_SAFE_NO_PAD.encode(bytes));
    assert_eq!(open(&claimed), Err(OpenError::Forged));
}

#[test]
fn replacing_a_key_does_not_void_its_tokens() {
    let [before, during, after] = [
        KeyRing::new(key(1)),
        KeyRing::new(key(2)).also_opens(key(3)).also_opens(key(1)),
        KeyRing::new(key(2)),
    ]
    .map(|ring| Tokens::new(&ring, "shop"));
    let old = before.seal_pass(&pass(NOW)).0;
    let new = during.seal_pass(&pass(NOW)).0;

    let verified = opened_pass(during.open(old.as_bytes(), NOW));
    assert_eq!(*verified, pass(NOW));
    assert!(verified.is_from_old_key());
    assert!(!opened_pass(during.open(new.as_bytes(), NOW)).is_from_old_key());
    assert!(!opened_pass(after.open(new.as_bytes(), NOW)).is_from_old_key());
    assert_eq!(after.open(old.as_bytes(), NOW), Err(OpenError::UnknownKey));

    let Ok(Opened::Ticket(verified)) =
        during.open(before.seal_ticket(&ticket(NOW)).0.as_bytes(), NOW)
    else {
        panic!("not a ticket")
    };
    assert!(verified.is_from_old_key());
}

#[test]
fn a_ticket_is_no_pass_and_a_pass_no_ticket() {
    for text in both() {
        let mut bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
        bytes[1] ^= 3;
        let swapped = SealedToken(URL_SAFE_NO_PAD.encode(bytes));
        assert_eq!(open(&swapped), Err(OpenError::Forged));
    }
}

#[test]
fn a_pass_lapses_when_it_expires_and_is_void_when_its_session_must_be_over() {
    let token = tokens().seal_pass(&pass(NOW)).0;
    let open = |now| tokens().open(token.as_bytes(), now);
    let end = pass(NOW).expires_at;
    let is_valid = |now| matches!(open(now), Ok(Opened::Pass(_)));
    assert!(is_valid(end.before(Duration::from_nanos(1))) && !is_valid(end));
    let void = end + Duration::from_secs(300);
    assert!(matches!(open(end), Ok(Opened::Lapsed(_))));
    assert!(matches!(open(void.before(Duration::from_nanos(1))), Ok(Opened::Lapsed(_))));
    assert_eq!(open(void), Err(OpenError::Expired));
    assert_eq!(open(Timestamp::MAX), Err(OpenError::Expired));
}

#[test]
fn a_ticket_is_void_after_two_days_and_not_judged_before() {
    let token = tokens().seal_ticket(&ticket(NOW)).0;
    let open = |now| tokens().open(token.as_bytes(), now);
    let end = NOW + Tokens::MAX_AGE;
    assert!(open(end).is_ok());
    assert_eq!(open(end + Duration::from_nanos(1)), Err(OpenError::Expired));
}

#[test]
fn a_pass_is_void_after_two_days_even_if_it_says_otherwise() {
    let mut endless = pass(NOW);
    endless.expires_at = Timestamp::MAX;
    let token = tokens().seal_pass(&endless).0;
    let open = |now| tokens().open(token.as_bytes(), now);
    let end = NOW + Tokens::MAX_AGE;
    assert!(open(end).is_ok());
    assert_eq!(open(end + Duration::from_nanos(1)), Err(OpenError::Expired));
}

#[test]
fn a_token_may_be_ahead_of_the_clock_by_the_leeway_only() {
    for text in both() {
        let open = |now| tokens().open(text.as_bytes(), now);
        let earliest = NOW.before(Tokens::MAX_SET_BACK);
        assert!(open(earliest).is_ok());
        let too_early = earliest.before(Duration::from_nanos(1));
        assert_eq!(open(too_early), Err(OpenError::FromTheFuture));
        assert_eq!(open(Timestamp::ZERO), Err(OpenError::FromTheFuture));
    }
}

#[test]
fn a_token_ahead_by_more_than_the_leeway_counts_from_now() {
    let within = NOW.before(Tokens::LEEWAY);
    let sealed = tokens().seal_pass(&pass(NOW)).0;
    assert_eq!(*opened_pass(tokens().open(sealed.as_bytes(), within)), pass(NOW));

    let now = NOW.before(Duration::from_secs(120));
    let opened = opened_pass(tokens().open(sealed.as_bytes(), now));
    let lifetime = pass(NOW).expires_at.since(NOW);
    assert!(opened.is_ahead());
    assert_eq!((opened.last_check_in, opened.expires_at), (now, now + lifetime));
    // The start time of a session identifies it, so it must not move.
    assert_eq!(opened.accepted_at, pass(NOW).accepted_at);

    let mut ticket = Ticket::new(
        waiting_room_core::VisitorId::new(7),
        NOW.before(Duration::from_secs(50)),
        NOW,
        NOW,
    );
    ticket.next_check_in = NOW + Duration::from_secs(20);
    let sealed = tokens().seal_ticket(&ticket).0;
    let Ok(Opened::Ticket(opened)) = tokens().open(sealed.as_bytes(), now) else { panic!("void") };
    let first_seen = ticket.first_seen.before(Tokens::MAX_SET_BACK);
    assert_eq!((opened.last_check_in, opened.first_seen), (now, first_seen));
    assert!(!opened.is_early(now));
}

#[test]
fn a_payload_of_another_layout_is_refused() {
    let mut later = payload::encode_pass(&pass(NOW));
    later[0] = 2;
    assert_eq!(open(&tokens().seal(Kind::Pass, &later)), Err(OpenError::UnknownVersion));
    let short = tokens().seal(Kind::Pass, &[1, 0, 0, 0, 9]);
    assert_eq!(open(&short), Err(OpenError::Malformed));
    let mixed = tokens().seal::<PASS_LEN>(Kind::Ticket, &payload::encode_pass(&pass(NOW)));
    assert_eq!(open(&mixed), Err(OpenError::Malformed));
}

#[test]
fn garbage_is_malformed() {
    let long = "A".repeat(8 * 1024);
    for text in ["", "=", "A", "AQ", "AQF", "*", "e30.e30.e30", "\r\n", "AQEAAAA=", &long] {
        assert_eq!(tokens().open(text.as_bytes(), NOW), Err(OpenError::Malformed), "{text:.20}");
    }
    assert_eq!(tokens().open(&[0xff; 147], NOW), Err(OpenError::Malformed));
    assert_eq!(tokens().open(b"null", NOW), Err(OpenError::UnknownVersion));
}

#[test]
fn a_text_is_not_decoded_beyond_256_bytes() {
    let zeros = |len| tokens().open("A".repeat(len).as_bytes(), NOW);
    assert_eq!(zeros(Tokens::MAX_TOKEN_LEN), Err(OpenError::UnknownVersion));
    assert_eq!(zeros(Tokens::MAX_TOKEN_LEN + 2), Err(OpenError::Malformed));
}

#[test]
fn a_token_made_by_another_implementation_is_opened() {
    // This token was sealed in Python with OpenSSL, in the format that the module docs describe.
    let text = b"AQFZ7ypIQUJDREVGR0hJSktMTU5PUFFSU1RVVldYlxUrpRau8zFI1XVE3NOp-thNHtiZsq\
        fGGIhm6zN6aD0DppiFFlJYz_OjVzlXzAWlGrHrptfhcD4AxZGc9Tkr4w";
    assert_eq!(*opened_pass(tokens().open(text, NOW)), pass(NOW));
}

proptest! {
    #[test]
    fn any_payload_round_trips(
        mut pass in arbitrary_pass(),
        mut ticket in arbitrary_ticket(),
    ) {
        pass.last_check_in = NOW;
        pass.expires_at = pass.expires_at.max(NOW + Duration::from_nanos(1));
        ticket.last_check_in = NOW;
        let opened = open(&tokens().seal_pass(&pass));
        let verified = Verified { value: pass, is_from_old_key: false, is_ahead: false };
        prop_assert_eq!(opened, Ok(Opened::Pass(verified)));
        let opened = open(&tokens().seal_ticket(&ticket));
        let verified = Verified { value: ticket, is_from_old_key: false, is_ahead: false };
        prop_assert_eq!(opened, Ok(Opened::Ticket(verified)));
    }

    #[test]
    fn a_text_is_decoded_as_without_simd(
        mut text in "[A-Za-z0-9_-]{0,256}".prop_map(String::into_bytes),
        wrong in prop::option::weighted(0.3, (any::<prop::sample::Index>(), any::<u8>())),
    ) {
        if let Some((at, byte)) = wrong.filter(|_| !text.is_empty()) {
            let at = at.index(text.len());
            text[at] = byte;
        }
        let mut buffer = [0; DECODED_LEN];
        let decoded = tokens().decode(&text, &mut buffer).ok().map(|bytes| bytes.to_vec());
        prop_assert_eq!(decoded, URL_SAFE_NO_PAD.decode(&text).ok());
    }

    #[test]
    fn a_token_is_encoded_as_without_simd(pass in arbitrary_pass(), ticket in arbitrary_ticket()) {
        for token in [tokens().seal_pass(&pass), tokens().seal_ticket(&ticket)] {
            let bytes = URL_SAFE_NO_PAD.decode(token.as_str()).unwrap();
            prop_assert_eq!(token.as_str(), URL_SAFE_NO_PAD.encode(bytes));
        }
    }

    #[test]
    fn no_text_makes_opening_panic(text in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(tokens().open(&text, NOW).is_err());
    }

    #[test]
    fn no_bytes_behind_our_header_make_opening_panic(
        sealed in prop::collection::vec(any::<u8>(), 0..180),
        kind in 0u8..4,
    ) {
        let own = URL_SAFE_NO_PAD.decode(tokens().seal_pass(&pass(NOW)).0).unwrap();
        let mut bytes = [&own[..6], &sealed].concat();
        bytes[1] = kind;
        let text = URL_SAFE_NO_PAD.encode(bytes);
        prop_assert!(tokens().open(text.as_bytes(), NOW).is_err());
    }
}
