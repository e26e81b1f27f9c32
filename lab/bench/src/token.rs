//! The cost of finding, decoding and opening a token, and of sealing one.
//!
//! The functions that open and seal are private to the layer. Their cost is the difference of two
//! requests: one with three tickets and a pass, each of which is opened, and one with the pass
//! alone.

use std::hint::black_box;

use aes_gcm::{
    Aes256Gcm,
    aead::{AeadInOut, KeyInit, array::Array},
};
use anyhow::Result;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Request;
use tower::{Layer, ServiceExt};
use tower_waiting_room::{KeyRing, WaitingRoomLayer};
use xaes_256_gcm::Xaes256Gcm;

use crate::{
    case::{Case, Group, Repeat},
    effort::Effort,
    figure::{Bar, NONE, figure, range},
    report::Report,
    requests::{Template, drive, runtime},
    rounds::{Samples, time},
    services::Ready,
    valgrind::{Counting, Counts, count},
    visitors::{config, key, token},
};

/// Measures both groups, and prints the table.
pub(crate) fn run(effort: Effort, counting: Counting) -> Result<()> {
    let tokens = Measured::of(TOKENS, effort, counting)?;
    let ciphers = Measured::of(CIPHERS, effort, counting)?;
    let mut report = Report::new("A token", "token", effort, &COLUMNS);

    let open = tokens.over(WITH_TICKETS, A_PASS, TICKETS);
    let bar = Bar::at_most("ns", 450.0, open.0.median()).to_string();
    row(&mut report, "find, decode and open one token", &open, bar);
    let seal = tokens.over(OF_AN_OLD_KEY, A_PASS, 1);
    row(
        &mut report,
        "find out about a renewal, seal a pass, set the cookie",
        &seal,
        NONE.to_owned(),
    );
    for (index, case) in CIPHERS.cases().iter().enumerate() {
        row(&mut report, case.name, &ciphers.alone(index), NONE.to_owned());
    }

    report.note(
        "One token: a third of the difference between a request with three tickets (147 \
         characters) before the pass and one with the pass alone. Of the request itself, only the \
         longer Cookie header is in it. A pass has 126 characters, so the figure is slightly too \
         high.",
    );
    report.note(
        "Sealing: the difference between a request with a renewed pass of an old key and one with \
         a pass of the new key. It includes all work for the fresh pass.",
    );
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    println!("{report}");
    Ok(())
}

/// A time for each round, and a count of instructions.
type Figure = (Samples, Option<f64>);

fn row(report: &mut Report, name: &str, (ns, instructions): &Figure, bar: String) {
    let instructions = instructions.map_or(NONE.to_owned(), figure);
    report.row([name.to_owned(), figure(ns.median()), range(ns), instructions, bar]);
}

/// The measurements of a group.
struct Measured {
    times: Vec<Samples>,
    counts: Vec<Option<Counts>>,
}

impl Measured {
    fn of(group: Group, effort: Effort, counting: Counting) -> Result<Self> {
        Ok(Self { times: time(group.cases(), effort), counts: count(group, effort, counting)? })
    }

    fn alone(&self, case: usize) -> Figure {
        (self.times[case].clone(), self.counts[case].map(|counts| counts.instructions))
    }

    /// Returns the difference of one case to another, divided by `parts`.
    fn over(&self, case: usize, floor: usize, parts: usize) -> Figure {
        let parts = u32::try_from(parts).map_or(f64::NAN, f64::from);
        let times = self.times[case].with(&self.times[floor], |more, less| (more - less) / parts);
        let counts = self.counts[case].zip(self.counts[floor]);
        (times, counts.map(|(more, less)| (more.instructions - less.instructions) / parts))
    }
}

const COLUMNS: [&str; 5] = ["what", "ns/op", "min..max", "instr/op", "bar"];

/// The indices of the requests in their group.
const A_PASS: usize = 0;
const WITH_TICKETS: usize = 1;
const OF_AN_OLD_KEY: usize = 2;

/// The requests, in the order of the constants above.
pub(crate) const TOKENS: Group = Group::new(
    "tokens",
    &[
        Case { name: "a pass", set_up: || with_tickets(0) },
        Case { name: "three tickets and a pass", set_up: || with_tickets(TICKETS) },
        Case { name: "a pass of an old key", set_up: of_an_old_key },
    ],
);

/// The number of tickets before the pass: together with it, the most tokens that the layer opens.
const TICKETS: usize = 3;

fn with_tickets(count: usize) -> Repeat {
    let layer = WaitingRoomLayer::new(config().build().expect("the config is right"));
    let tokens: Vec<String> = runtime().block_on(async {
        let pass = token(&layer).await;
        let mut tokens = Vec::new();
        for _ in 0..count {
            tokens.push(token(&layer).await);
        }
        tokens.push(pass);
        tokens
    });
    drive(layer.layer(Ready), template(&tokens), || ())
}

/// Sends a pass of an old key. An earlier request has renewed it, so each response carries the
/// renewed pass, sealed again.
fn of_an_old_key() -> Repeat {
    let old = KeyRing::new(key(2));
    let new = KeyRing::new(key(3)).also_opens(key(2));
    let layer =
        |keys| WaitingRoomLayer::new(config().keys(keys).build().expect("the config is right"));
    let earlier = layer(old);
    let layer = layer(new);
    let template = template(&[runtime().block_on(token(&earlier))]);
    let first: Request<()> = template.request(());
    let Ok(_) = runtime().block_on(layer.layer(Ready).oneshot(first));
    drive(layer.layer(Ready), template, || ())
}

fn template(tokens: &[String]) -> Template {
    let cookies: Vec<String> =
        tokens.iter().map(|token| format!("__Host-wr-shop={token}")).collect();
    Template::new(cookies.iter().map(String::as_str))
}

/// The ciphers and the decoder alone, for comparison.
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
    let cipher = C::new(&Array::default());
    let nonce = Array::default();
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

/// Seals with the same nonce each time, which a real program must never do.
fn seal<C: AeadInOut + KeyInit + 'static>() -> Repeat {
    let cipher = C::new(&Array::default());
    let nonce = Array::default();
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

/// A payload as long as that of a pass.
const PAYLOAD: [u8; 48] = [0x5a; 48];

/// Associated data as long as that of a pass.
const BOUND: &[u8] = b"\x01\x01idid-shop";

/// The length of a sealed pass in bytes.
const TOKEN_LEN: usize = 94;
