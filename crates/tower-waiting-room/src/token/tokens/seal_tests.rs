//! Tests of the cipher with the published vectors of C2SP (<https://c2sp.org/XAES-256-GCM>), and of the token
//! format around it.

use super::*;
use crate::token::payload::{PASS_LEN, TICKET_LEN};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn encrypt(key: [u8; 32], nonce: [u8; 24], plaintext: &[u8], data: &[u8]) -> Vec<u8> {
    let mut buffer = plaintext.to_vec();
    let tag = Xaes256Gcm::new(&key.into())
        .encrypt_inout_detached(&nonce.into(), data, buffer.as_mut_slice().into())
        .unwrap();
    buffer.extend_from_slice(&tag);
    buffer
}

#[test]
fn the_two_published_vectors_are_met() {
    let nonce = *b"ABCDEFGHIJKLMNOPQRSTUVWX";
    assert_eq!(
        hex(&encrypt([1; 32], nonce, b"XAES-256-GCM", b"")),
        "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"
    );
    assert_eq!(
        hex(&encrypt([3; 32], nonce, b"XAES-256-GCM", b"c2sp.org/XAES-256-GCM")),
        "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"
    );
}

#[test]
fn a_sealed_token_reveals_only_its_kind_and_its_key_id() {
    let sealer = Sealer::new(&TokenKey::from_bytes([7; 32]), "shop");
    let mut buffer = [0; BLOCK_LEN];
    let token = sealer.seal(Kind::Pass, &[0; PASS_LEN], &mut buffer);
    assert_eq!(token.len(), 94);
    assert_eq!(token[..6], header(Kind::Pass, sealer.id()));
    let mut token = token.to_vec();
    let (kind, key, sealed) = split(&mut token).unwrap();
    assert_eq!((kind, key), (Kind::Pass, sealer.id()));
    assert!(sealed.windows(4).all(|bytes| bytes != [0; 4]));
    assert_eq!(sealer.open(kind, sealed), Ok([0; PASS_LEN].as_slice()));
}

#[test]
fn sealing_one_payload_twice_gives_different_tokens() {
    let sealer = Sealer::new(&TokenKey::from_bytes([7; 32]), "shop");
    let mut one = [0; BLOCK_LEN];
    let mut two = [0; BLOCK_LEN];
    let one = sealer.seal(Kind::Pass, &[0; PASS_LEN], &mut one);
    let two = sealer.seal(Kind::Pass, &[0; PASS_LEN], &mut two);
    assert_ne!(one[6..30], two[6..30]);
    assert_ne!(one[30..], two[30..]);
}

#[test]
fn every_part_of_the_clear_header_is_bound() {
    let key = TokenKey::from_bytes([7; 32]);
    let sealer = Sealer::new(&key, "shop");
    let mut buffer = [0; BLOCK_LEN];
    let token = sealer.seal(Kind::Ticket, &[0; TICKET_LEN], &mut buffer).to_vec();
    for byte in 0..HEADER_LEN {
        for bit in 0..8 {
            let mut token = token.clone();
            token[byte] ^= 1 << bit;
            let mut claimed = Sealer::new(&key, "shop");
            // This sealer has the same key, but the changed header as its associated data.
            let bound = [&token[..HEADER_LEN], b"shop"].concat().into_boxed_slice();
            claimed.bound = [bound.clone(), bound.clone(), bound];
            let opened = claimed.open(Kind::Ticket, &mut token[HEADER_LEN..]);
            assert_eq!(opened, Err(OpenError::Forged), "byte {byte} bit {bit}");
        }
    }
}

#[test]
fn a_short_token_is_malformed_and_an_unknown_version_is_reported() {
    assert_eq!(split(&mut []), Err(OpenError::Malformed));
    for len in 1..6 {
        assert_eq!(split(&mut [1; 6][..len]), Err(OpenError::Malformed));
    }
    for version in (0..=u8::MAX).filter(|version| *version != 1) {
        assert_eq!(split(&mut [version]), Err(OpenError::UnknownVersion));
    }
    for kind in (0..=u8::MAX).filter(|kind| !matches!(kind, 1..=3)) {
        assert_eq!(split(&mut [1, kind, 0, 0, 0, 0]), Err(OpenError::Malformed));
    }
    let sealer = Sealer::new(&TokenKey::from_bytes([7; 32]), "shop");
    for len in 0..NONCE_LEN + TAG_LEN {
        assert_eq!(sealer.open(Kind::Pass, &mut vec![0; len]), Err(OpenError::Malformed));
    }
    let mut empty = [0; NONCE_LEN + TAG_LEN];
    assert_eq!(sealer.open(Kind::Pass, &mut empty), Err(OpenError::Forged));
}
