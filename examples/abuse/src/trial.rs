//! One run: a fresh service, people, an attack, and what came of it.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result};
use clap::ValueEnum;
use tokio::time::sleep;

use crate::{
    attacks::Attack,
    people::{People, Seen},
    site::{Scale, Site},
    strike::Strike,
};

/// What an attacker and people got.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) attack: Attack,
    pub(crate) strike: Strike,
    pub(crate) calm: Seen,
    pub(crate) meanwhile: Seen,
}

impl Trial {
    /// Starts everything, strikes, and ends everything.
    pub(crate) async fn run(
        attack: Attack,
        folder: &Path,
        scale: Scale,
        seed: u64,
    ) -> Result<Self> {
        let site = Site::start(folder, attack.files(), scale, seed).await?;
        let people = People::come(&site).await?;
        sleep(CALM).await;
        let calm = people.seen();
        let strike = attack.strike(&site).await.with_context(|| format!("{attack:?}"))?;
        Ok(Self { attack, strike, calm, meanwhile: people.seen() })
    }

    pub(crate) fn name(&self) -> String {
        self.attack.to_possible_value().map_or_else(String::new, |it| it.get_name().to_owned())
    }

    /// The bounds that were broken, and why the run proves nothing.
    pub(crate) fn broken(&self) -> Vec<String> {
        let mut broken = self.strike.broken.clone();
        if self.strike.sent == 0 {
            broken.push("void: the attacker sent nothing".to_owned());
        }
        for (when, seen) in [("before", &self.calm), ("meanwhile", &self.meanwhile)] {
            let without = seen.served.iter().filter(|served| **served == 0).count();
            if without > 0 {
                broken.push(format!("void: {without} people were not served {when}"));
            }
            if let Some(first) = seen.refused.first() {
                broken.push(format!(
                    "{} requests of people failed {when}: {first}",
                    seen.refused.len()
                ));
            }
        }
        broken
    }

    /// One line for whoever watches.
    pub(crate) fn story(&self) -> String {
        let kept = match self.broken().as_slice() {
            [] => "kept".to_owned(),
            broken => broken.join("; "),
        };
        format!("{}: {}: {kept}", self.name(), self.strike.got)
    }
}

/// People are alone for this time.
const CALM: Duration = Duration::from_secs(1);
