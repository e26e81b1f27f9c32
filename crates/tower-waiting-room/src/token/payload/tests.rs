use proptest::prelude::*;

use super::*;
use crate::token::tests::{arbitrary_pass, arbitrary_ticket};

#[test]
fn the_layout_of_a_pass_is_as_documented() {
    let [accepted, checked, expires] = [3, 4, 5].map(Timestamp::from_nanos);
    let bytes = encode_pass(&Pass::new(VisitorId::new(1), 2, accepted, checked, expires));
    let expected = [1u8, 0, 0, 0]
        .into_iter()
        .chain(1u128.to_le_bytes())
        .chain(2u32.to_le_bytes())
        .chain([3u64, 4, 5].into_iter().flat_map(u64::to_le_bytes));
    assert!(bytes.into_iter().eq(expected));
}

#[test]
fn the_home_of_a_pass_follows_its_other_values() {
    let time = Timestamp::from_nanos(3);
    let pass = Pass::new(VisitorId::new(1), 2, time, time, time);
    let bytes = encode_pass_of_site(&pass, PassHome::new(0x0605, 7, 8));
    assert_eq!((&bytes[..4], &bytes[4..48]), (&[3, 0, 0, 0][..], &encode_pass(&pass)[4..]));
    assert_eq!(bytes[48..], [5, 6, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    for at in [50, 51, 60, 63] {
        let mut bytes = bytes;
        bytes[at] = 1;
        assert_eq!(decode_pass(&bytes), Err(OpenError::Malformed));
    }
}

#[test]
fn the_layout_of_a_ticket_is_as_documented() {
    let [seen, checked, next] = [2, 3, 4].map(Timestamp::from_nanos);
    let mut ticket = Ticket::new(VisitorId::new(1), seen, checked, next);
    ticket.shown_position = Some(5);
    let [p25, p50, p75] = [6, 7, 8].map(Duration::from_secs);
    ticket.wait = Some(WaitEstimate::new(p25, p50, p75));
    ticket.placed = true;
    ticket.promised_wait = Some(Duration::from_secs(9));
    ticket.head_start = HeadStart::new(Duration::from_secs(11));
    let expected = [1u8, 0, 0, 0]
        .into_iter()
        .chain(1u128.to_le_bytes())
        .chain([2u64, 3, 4].into_iter().flat_map(u64::to_le_bytes))
        .chain([5u32, 6, 7, 8, 1 | 10 << 2 | 11 << 19].into_iter().flat_map(u32::to_le_bytes));
    assert!(encode_ticket(&ticket).into_iter().eq(expected));
}

/// Encodes a ticket, with its number in a draw if it has one.
fn encoded(ticket: &Ticket) -> Vec<u8> {
    match ticket.entrant {
        None if ticket.late_by == 0 => encode_ticket(ticket).to_vec(),
        None => encode_late(ticket).to_vec(),
        Some(entrant) => encode_entrant(ticket, entrant).to_vec(),
    }
}

/// Encodes a pass, with its home if it has one.
fn encoded_pass(pass: &Pass) -> Vec<u8> {
    match pass.home {
        None => encode_pass(pass).to_vec(),
        Some(home) => encode_pass_of_site(pass, home).to_vec(),
    }
}

#[test]
fn the_number_in_a_draw_follows_the_other_values_of_a_ticket() {
    let time = Timestamp::from_nanos(2);
    let mut ticket = Ticket::new(VisitorId::new(1), time, time, time);
    let mut entrant = Entrant::new(6, 5);
    ticket.entrant = Some(entrant);
    let without = encode_ticket(&ticket);
    let words = |words: [u32; 4]| words.map(u32::to_le_bytes).concat();
    let before = encode_entrant(&ticket, entrant);
    assert_eq!(before[..4], 2u32.to_le_bytes());
    assert_eq!((&before[4..64], &before[64..]), (&without[4..], &*words([5, 6, 0, u32::MAX])));
    entrant.place = Some(7);
    entrant.entrants = Some(8);
    assert_eq!(encode_entrant(&ticket, entrant)[64..], words([5, 6, 7, 8]));
}

#[test]
fn an_unknown_layout_is_an_unknown_version() {
    let mut bytes = encode_pass(&Pass::new(
        VisitorId::new(1),
        2,
        Timestamp::ZERO,
        Timestamp::ZERO,
        Timestamp::MAX,
    ));
    for byte in 0..4 {
        bytes[byte] ^= 0x10;
        assert_eq!(decode_pass(&bytes), Err(OpenError::UnknownVersion));
        bytes[byte] ^= 0x10;
    }
    assert!(decode_pass(&bytes).is_ok());
}

#[test]
fn the_upper_bits_of_the_flags_are_the_head_start() {
    let time = Timestamp::ZERO;
    let bytes = encode_ticket(&Ticket::new(VisitorId::new(1), time, time, time));
    for bit in 19..32 {
        let mut bytes = bytes;
        bytes[60 + bit / 8] |= 1 << (bit % 8);
        let decoded = decode_ticket(&bytes).unwrap();
        assert_eq!(decoded.head_start, HeadStart::from_bits(1 << (bit - 19)));
        assert_eq!(encode_ticket(&decoded), bytes);
    }
}

proptest! {
    #[test]
    fn encoding_round_trips(pass in arbitrary_pass(), ticket in arbitrary_ticket()) {
        prop_assert_eq!(decode_pass(&encoded_pass(&pass)), Ok(pass));
        prop_assert_eq!(decode_ticket(&encoded(&ticket)), Ok(ticket));
    }

    #[test]
    fn any_other_length_is_refused(
        pass in arbitrary_pass(),
        ticket in arbitrary_ticket(),
        cut in 0..PASS_LEN,
        tail in prop::collection::vec(any::<u8>(), 1..32),
    ) {
        let pass = encoded_pass(&pass);
        let ticket = encoded(&ticket);
        prop_assert_eq!(decode_pass(&pass[..cut]), Err(OpenError::Malformed));
        prop_assert_eq!(decode_ticket(&ticket[..cut]), Err(OpenError::Malformed));
        let longer = [pass.as_slice(), &tail].concat();
        prop_assert_eq!(decode_pass(&longer), Err(OpenError::Malformed));
        let longer = [ticket.as_slice(), &tail].concat();
        prop_assert_eq!(decode_ticket(&longer), Err(OpenError::Malformed));
    }

    #[test]
    fn no_bytes_make_decoding_panic(
        layout in LAYOUT..=LAYOUT_OF_SITE,
        bytes in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let bytes = [layout.to_le_bytes().as_slice(), &bytes].concat();
        let _ = (decode_pass(&bytes), decode_ticket(&bytes));
    }
}
