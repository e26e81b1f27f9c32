//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use rand::RngExt;
use rand_pcg::Pcg64;

use crate::{serve::ServeOrder, site::Scale, trial::Attack};

/// Attacks a service that is built from a configuration file, and reports what the attacker and
/// other clients got.
#[derive(Debug, Parser)]
#[command(version, about, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) plan: Plan,
}

/// Tasks other than attacking.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serves the service under attack.
    #[command(hide = true)]
    Serve(ServeOrder),
}

/// Selects the attacks, and the service under attack.
#[derive(Args, Clone, Debug)]
pub(crate) struct Plan {
    /// Strikes for 3 s instead of 10 s each, with 500 slow readers instead of 10 000.
    #[arg(long)]
    short: bool,
    /// Runs only this attack; can be repeated [default: all]
    #[arg(long = "attack", value_enum, value_name = "NAME")]
    attacks: Vec<Attack>,
    /// The folder with the configuration files.
    #[arg(long, value_name = "FOLDER", default_value = env!("CARGO_MANIFEST_DIR"))]
    pub(crate) config: PathBuf,
    /// The seed of everything random [default: random, and printed]
    #[arg(long)]
    seed: Option<u64>,
}

impl Plan {
    pub(crate) const fn scale(&self) -> Scale {
        if self.short { Scale::Short } else { Scale::Full }
    }

    pub(crate) fn attacks(&self) -> Vec<Attack> {
        match self.attacks.as_slice() {
            [] => Attack::value_variants().to_vec(),
            some => some.to_vec(),
        }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| u64::from(rand::make_rng::<Pcg64>().random::<u32>()))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn all_attacks_are_tried_by_default() {
        let attacks = |line: &str| Cli::parse_from(line.split_whitespace()).plan.attacks();
        assert_eq!(attacks("abuse --short"), Attack::value_variants());
        let two = [Attack::KeyFlood, Attack::Paths];
        assert_eq!(attacks("abuse --attack key-flood --attack paths"), two);
    }
}
