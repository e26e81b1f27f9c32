//! Sends the headers of 16 KB that a search for the dearest ones found (`waiting-room-bench worst`).
//! Reading one must not cost much more than reading a header of the same name and length without
//! items, and people must be served beside them.

use std::time::Duration;

use anyhow::Result;
use http::{HeaderName, HeaderValue};
use tokio::time::Instant;

use crate::{
    attacks::odd_paths::Cost,
    people::{NEWCOMERS, newcomers},
    site::Site,
    strike::Strike,
    visitor::Jar,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let start = Instant::now();
    let mut costs = DEAR.map(|(header, piece)| [piece, "a"].map(|piece| cost(header, piece)));
    while start.elapsed() < site.scale.length() {
        for cost in costs.as_flattened_mut() {
            cost.add(site).await?;
        }
    }
    let let_in = newcomers(site, site.settings.session_duration * 9 / 8 + CHECK_INS).await.len();
    let mut worst = (0, "");
    let mut sent = 0;
    let mut fewest = u64::MAX;
    for [dear, plain] in &costs {
        worst = worst.max((dear.tenths(plain), dear.piece));
        sent += dear.tally.answered();
        fewest = fewest.min(dear.tally.answered()).min(plain.tally.answered());
    }
    let (tenths, piece) = worst;
    Ok(Strike::new(
        sent,
        format!(
            "up to {}.{} times the CPU of a plain header, with {piece:?}; {let_in} of {NEWCOMERS} people \
             let in",
            tenths / 10,
            tenths % 10
        ),
        format!("{TIMES} times the CPU of a plain header of the same length"),
    )
    .needs(fewest, "header of one kind was answered")
    .at_most(TIMES * 10, tenths, "tenths of the CPU of a plain header")
    .lets_in(let_in))
}

/// A request with a header that consists of a repeated piece.
fn cost(header: &'static str, piece: &'static str) -> Cost {
    let value = HeaderValue::try_from(piece.repeat(LEN / piece.len())).expect("visible ASCII");
    let mut request = Jar::default().get("/");
    request.headers_mut().insert(HeaderName::from_static(header), value);
    Cost::new(piece, request)
}

const DEAR: [(&str, &str); 4] = [
    ("waiting-room-token", ","),
    ("cookie", "__Host-wr-shop=; "),
    ("cookie", ";"),
    ("forwarded", "for=127.0.0.1,"),
];
/// The longest intervals until two check-ins, by which people get a slot of a newcomer's lapsed session.
const CHECK_INS: Duration = Duration::from_secs(8);
/// The maximum ratio to the CPU time of a plain header. Without bounds on items, commas cost 3.4 times.
const TIMES: u64 = 2;
const LEN: usize = 16 * 1024;
