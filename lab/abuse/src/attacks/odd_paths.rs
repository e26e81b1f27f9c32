//! Sends paths that can be read in many ways, in front of limits on two dozen paths. They are 60 KB
//! long, or as long as the longest paths that are read at all, or as long as the longest that are
//! read in every way (docs/design/019). Reading one must not cost much more than reading a plain
//! path of the same length.
//!
//! The bound is on the CPU time of the service, which does not depend on the load of the machine.

use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use tokio::time::Instant;

use crate::{
    hammer::{Tally, hammer},
    site::{Site, attacker},
    strike::Strike,
    visitor::Jar,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let start = Instant::now();
    let mut lengths = LENGTHS.map(|(length, odd)| {
        let plain = Cost::of("a", length, odd);
        (plain, PIECES.map(|piece| Cost::of(piece, length, odd)))
    });
    while start.elapsed() < site.scale.length() {
        for cost in lengths.iter_mut().flat_map(|(plain, odd)| odd.iter_mut().chain([plain])) {
            cost.add(site).await?;
        }
    }
    let mut worst = (0, "", 0);
    let mut sent = 0;
    let mut fewest = u64::MAX;
    for (plain, odd) in &lengths {
        for cost in odd {
            worst = worst.max((cost.tenths(plain), cost.piece, cost.request.uri().path().len()));
            sent += cost.tally.answered();
            fewest = fewest.min(cost.tally.answered()).min(plain.tally.answered());
        }
    }
    let (tenths, piece, length) = worst;
    Ok(Strike::new(
        sent,
        format!(
            "up to {}.{} times the CPU of a plain path, with {piece:?} in {length} bytes",
            tenths / 10,
            tenths % 10
        ),
        format!("{TIMES} times the CPU of a plain path of the same length"),
    )
    .needs(fewest, "path of one kind was answered")
    .at_most(TIMES * 10, tenths, "tenths of the CPU of a plain path"))
}

/// The cost of one kind of path to the service.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    pub(crate) piece: &'static str,
    request: Request<Empty<Bytes>>,
    pub(crate) tally: Tally,
    cpu: Duration,
}

impl Cost {
    pub(crate) fn new(piece: &'static str, request: Request<Empty<Bytes>>) -> Self {
        Self { piece, request, tally: Tally::default(), cpu: Duration::ZERO }
    }

    /// A path of `length` bytes that ends with up to `pieces` repetitions of `piece`.
    fn of(piece: &'static str, length: usize, pieces: usize) -> Self {
        let odd = piece.repeat(pieces.min((length - 1) / piece.len()));
        let path = format!("/{}{odd}", "a".repeat(length - 1 - odd.len()));
        Self::new(piece, Jar::default().get(&path))
    }

    /// Sends the request for a moment.
    pub(crate) async fn add(&mut self, site: &Site) -> Result<()> {
        let request = self.request.clone();
        let before = site.process.cpu()?;
        let tally = hammer(site, attacker(1), TURN, move |_| request.clone()).await?;
        self.cpu += site.process.cpu()?.saturating_sub(before);
        let is_taken = !["414", "431"].iter().any(|status| tally.reasons.contains_key(*status));
        ensure!(is_taken, "the server does not accept such requests: {:?}", tally.reasons);
        self.tally.add(tally);
        Ok(())
    }

    /// The CPU time per request in tenths of that of a plain one.
    pub(crate) fn tenths(&self, plain: &Self) -> u64 {
        self.nanos_each() * 10 / plain.nanos_each().max(1)
    }

    fn nanos_each(&self) -> u64 {
        let each = self.cpu.as_nanos() / u128::from(self.tally.answered().max(1));
        u64::try_from(each).unwrap_or(u64::MAX)
    }
}

const PIECES: [&str; 6] = ["/.", "a/../", "/", "%2e%2e/", "%252e/", ";a=%2f"];
/// The lengths of the paths in bytes, and the maximum number of pieces in each.
const LENGTHS: [(usize, usize); 3] = [(60_000, usize::MAX), (8_192, usize::MAX), (256, 5)];
/// The time for one kind of path before the next one, so that all kinds run under the same load.
const TURN: Duration = Duration::from_millis(50);
/// The maximum ratio to the CPU time of a plain path. It is half of the ratio that was measured
/// without the bounds on what is read.
const TIMES: u64 = 4;
