//! The ciphers and the codec that a token goes through, each by itself on as many bytes as a pass
//! has.

use std::hint::black_box;

use aes_gcm::{
    Aes256Gcm,
    aead::{AeadInOut, KeyInit, array::Array},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use xaes_256_gcm::Xaes256Gcm;

use crate::case::{Case, Group, Repeat};

/// The references; the one of the bar first.
pub(crate) const CIPHERS: Group = Group::new(
    "ciphers",
    &[
        Case { name: "AES-256-GCM open alone", set_up: || open::<Aes256Gcm>() },
        Case { name: "XAES-256-GCM open alone", set_up: || open::<Xaes256Gcm>() },
        Case { name: "AES-256-GCM seal alone", set_up: || seal::<Aes256Gcm>() },
        Case { name: "XAES-256-GCM seal alone", set_up: || seal::<Xaes256Gcm>() },
        Case { name: "base64url decode alone", set_up: decode },
    ],
);

fn open<C: AeadInOut + KeyInit + 'static>() -> Repeat {
    let (cipher, nonce) = (C::new(&Array::default()), Array::default());
    let mut sealed = PAYLOAD;
    let tag = cipher
        .encrypt_inout_detached(&nonce, BOUND, sealed.as_mut_slice().into())
        .expect("a payload is shorter than the limit of the cipher");
    Repeat::new(move |times| {
        for _ in 0..times {
            let mut text = black_box(sealed);
            cipher
                .decrypt_inout_detached(black_box(&nonce), BOUND, text.as_mut_slice().into(), &tag)
                .expect("it is what was sealed");
            black_box(text);
        }
    })
}

/// With one nonce for all, as no program must.
fn seal<C: AeadInOut + KeyInit + 'static>() -> Repeat {
    let (cipher, nonce) = (C::new(&Array::default()), Array::default());
    Repeat::new(move |times| {
        for _ in 0..times {
            let mut text = black_box(PAYLOAD);
            let tag = cipher
                .encrypt_inout_detached(black_box(&nonce), BOUND, text.as_mut_slice().into())
                .expect("a payload is shorter than the limit of the cipher");
            black_box((text, tag));
        }
    })
}

fn decode() -> Repeat {
    let text = URL_SAFE_NO_PAD.encode([0x5a; TOKEN_LEN]);
    Repeat::new(move |times| {
        let mut buffer = [0; 192];
        for _ in 0..times {
            let decoded = URL_SAFE_NO_PAD.decode_slice(black_box(&text), &mut buffer);
            assert_eq!(decoded, Ok(TOKEN_LEN), "it is what was encoded");
            black_box(&mut buffer);
        }
    })
}

/// As long as the payload of a pass.
const PAYLOAD: [u8; 48] = [0x5a; 48];

/// As long as the associated data of a pass.
const BOUND: &[u8] = b"\x01\x01idid-shop";

/// As long as a sealed pass.
const TOKEN_LEN: usize = 94;
