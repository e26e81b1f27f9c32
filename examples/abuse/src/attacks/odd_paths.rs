//! Paths of 60 KB that can be read in many ways, in front of limits on two dozen paths. Reading one
//! must not cost much more than reading a plain path of the same length.
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
    let mut plain = Cost::default();
    let mut odd = ODD.map(|piece| (piece, Cost::default()));
    while start.elapsed() < site.scale.length() {
        plain.add(site, PLAIN).await?;
        for (piece, cost) in &mut odd {
            cost.add(site, piece).await?;
        }
    }
    let Some((piece, dearest)) = odd.iter().max_by_key(|(_, cost)| cost.nanos_each()) else {
        return Ok(Strike::new(0, "", ""));
    };
    let sent = odd.iter().map(|(_, cost)| cost.tally.answered()).sum();
    let tenths = dearest.nanos_each() * 10 / plain.nanos_each().max(1);
    Ok(Strike::new(
        sent,
        format!("{}.{} times the CPU of a plain path, with {piece:?}", tenths / 10, tenths % 10),
        format!("{TIMES} times the CPU of a plain path of 60 KB"),
    )
    .needs(sent, "odd path was answered")
    .needs(plain.tally.answered(), "plain path was answered")
    .at_most(TIMES * 10, tenths, "tenths of the CPU of a plain path"))
}

/// What paths of one kind have cost the service.
#[derive(Clone, Debug, Default)]
struct Cost {
    tally: Tally,
    cpu: Duration,
}

impl Cost {
    async fn add(&mut self, site: &Site, piece: &'static str) -> Result<()> {
        let path = format!("/{}", piece.repeat(LENGTH / piece.len()));
        let jar = Jar::default();
        let before = site.process.cpu()?;
        let tally = hammer(site, attacker(1), TURN, move |_| jar.get(&path)).await?;
        self.cpu += site.process.cpu()?.saturating_sub(before);
        let too_long = tally.reasons.get("414").copied().unwrap_or_default();
        ensure!(too_long == 0, "the server takes no such paths: {:?}", tally.reasons);
        self.tally.add(tally);
        Ok(())
    }

    fn nanos_each(&self) -> u64 {
        let each = self.cpu.as_nanos() / u128::from(self.tally.answered().max(1));
        u64::try_from(each).unwrap_or(u64::MAX)
    }
}

const PLAIN: &str = "a";
const ODD: [&str; 6] = ["/.", "a/../", "/", "%2e%2e/", "%252e/", ";a=%2f"];
const LENGTH: usize = 60_000;
/// Of each kind in turn, so that all have the same neighbours on the machine.
const TURN: Duration = Duration::from_millis(100);
/// Before the path was read once for all limits, it was some thousand times.
const TIMES: u64 = 10;
