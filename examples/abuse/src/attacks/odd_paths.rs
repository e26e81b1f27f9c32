//! Paths that can be read in many ways, in front of limits on two dozen paths: of 60 KB, of the
//! longest that are read at all, and of the longest that are read in every way
//! (docs/design/019). Reading one must not cost much more than reading a plain path of its length.
//!
//! Judged by the CPU time of the service, which a busy machine does not change.

use std::time::Duration;

use anyhow::{Result, ensure};
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
    let (mut sent, mut fewest) = (0, u64::MAX);
    for (plain, odd) in &lengths {
        for cost in odd {
            worst = worst.max((cost.tenths(plain), cost.piece, cost.path.len()));
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

/// The cost of paths of one kind to the service.
#[derive(Clone, Debug)]
struct Cost {
    piece: &'static str,
    path: String,
    tally: Tally,
    cpu: Duration,
}

impl Cost {
    /// A path of this length, which ends with up to this number of pieces.
    fn of(piece: &'static str, length: usize, pieces: usize) -> Self {
        let odd = piece.repeat(pieces.min((length - 1) / piece.len()));
        let path = format!("/{}{odd}", "a".repeat(length - 1 - odd.len()));
        Self { piece, path, tally: Tally::default(), cpu: Duration::ZERO }
    }

    async fn add(&mut self, site: &Site) -> Result<()> {
        let (jar, path) = (Jar::default(), self.path.clone());
        let before = site.process.cpu()?;
        let tally = hammer(site, attacker(1), TURN, move |_| jar.get(&path)).await?;
        self.cpu += site.process.cpu()?.saturating_sub(before);
        let is_taken = !tally.reasons.contains_key("414");
        ensure!(is_taken, "the server takes no such paths: {:?}", tally.reasons);
        self.tally.add(tally);
        Ok(())
    }

    /// How much more it cost than a plain path, each, in tenths.
    fn tenths(&self, plain: &Self) -> u64 {
        self.nanos_each() * 10 / plain.nanos_each().max(1)
    }

    fn nanos_each(&self) -> u64 {
        let each = self.cpu.as_nanos() / u128::from(self.tally.answered().max(1));
        u64::try_from(each).unwrap_or(u64::MAX)
    }
}

const PIECES: [&str; 6] = ["/.", "a/../", "/", "%2e%2e/", "%252e/", ";a=%2f"];
/// In bytes, and with up to this number of pieces.
const LENGTHS: [(usize, usize); 3] = [(60_000, usize::MAX), (8_192, usize::MAX), (256, 5)];
/// Of each kind in turn, so that all have the same neighbours on the machine.
const TURN: Duration = Duration::from_millis(50);
/// Half of what it is without the bounds on what is read; before, it was some thousand times.
const TIMES: u64 = 4;
