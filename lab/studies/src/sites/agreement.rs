//! The simulator compared with real sites: the runs that `sites --record` has kept, and the same
//! visitors in a simulated world.

use std::{error::Error, fs, path::Path};

use comfy_table::{CellAlignment, Table, presets};
use rayon::prelude::*;
use serde::Deserialize;

use super::{
    scenario::{Policy, Scenario},
    world::World,
};

/// Runs of real sites without faults, each with the simulation of the same run.
#[derive(Debug)]
pub(crate) struct Agreement {
    pairs: Vec<Pair>,
    means: Vec<Mean>,
}

/// The means of all runs with the same policy and load. A few hundred messages of a single run differ by
/// more than a twentieth by chance.
#[derive(Debug)]
struct Mean {
    policy: Policy,
    load: String,
    figures: [Figure; 3],
}

/// A run, as measured and as simulated.
#[derive(Debug)]
struct Pair {
    run: Run,
    figures: [Figure; 3],
}

/// One figure of both.
#[derive(Clone, Copy, Debug)]
struct Figure {
    real: f64,
    simulated: f64,
}

/// A run of real sites, as far as it is compared.
#[derive(Clone, Debug, Deserialize)]
struct Run {
    fault: String,
    load: String,
    policy: Policy,
    seed: u64,
    /// The admissions before, during and after a fault.
    admitted: [u64; 3],
    early: u64,
    /// The messages to the ledgers by which visitors wait for a slot, for each visitor who was
    /// admitted at least once.
    asking: f64,
}

impl Agreement {
    /// Reads the runs in this file, and simulates each with its seed.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no run without a fault.
    pub(crate) fn with(file: &Path) -> Result<Self, Box<dyn Error>> {
        let named = |error: &dyn Error| format!("{}: {error}", file.display());
        let text = fs::read_to_string(file).map_err(|error| named(&error))?;
        let runs = runs(&text).map_err(|error| named(&*error))?;
        let pairs: Vec<_> = runs.into_par_iter().map(Pair::new).collect::<Result<_, String>>()?;
        let means = Mean::of_all(&pairs);
        Ok(Self { pairs, means })
    }

    /// Returns whether the means of all figures agree.
    pub(crate) fn holds(&self) -> bool {
        self.means.iter().flat_map(|mean| &mean.figures).all(Figure::agrees)
    }

    /// A table with a line for each run, and then one for the runs of each policy and load. A mean that
    /// does not agree is marked.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        let columns = FIGURES.iter().flat_map(|name| [format!("{name}: real"), "simulated".into()]);
        table.set_header(["policy, load".to_owned(), "seed".to_owned()].into_iter().chain(columns));
        for Pair { run, figures } in &self.pairs {
            let names = [format!("`{}`, {}", run.policy, run.load), run.seed.to_string()];
            table.add_row(names.into_iter().chain(figures.iter().flat_map(Figure::texts)));
        }
        for Mean { policy, load, figures } in &self.means {
            let names = [format!("`{policy}`, {load}"), "all".to_owned()];
            table.add_row(names.into_iter().chain(figures.iter().flat_map(Figure::judged)));
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

impl Mean {
    /// The means of the runs of each policy and load, in the order in which these appear.
    fn of_all(pairs: &[Pair]) -> Vec<Self> {
        let mut kinds: Vec<(Policy, &String)> = Vec::new();
        for Pair { run, .. } in pairs {
            let kind = (run.policy, &run.load);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let mean = |(policy, load): (Policy, &String)| {
            let of_kind =
                pairs.iter().filter(|pair| pair.run.policy == policy && pair.run.load == *load);
            let figures: Vec<_> = of_kind.map(|pair| pair.figures).collect();
            Self { policy, load: load.clone(), figures: mean_of(&figures) }
        };
        kinds.into_iter().map(mean).collect()
    }
}

impl Pair {
    fn new(run: Run) -> Result<Self, String> {
        let world = world(&run.load)?;
        let report = World::new(&world, run.policy, run.seed).map_err(|error| error.to_string())?;
        let report = report.run(run.seed, |_| ());
        let count = |count: Option<u64>| count.unwrap_or_default() as f64;
        let visitors = count(report.visitors_let_in).max(1.0);
        let figure = |real, simulated| Figure { real, simulated };
        let figures = [
            figure(run.admitted.iter().sum::<u64>() as f64, count(report.let_in)),
            figure(run.early as f64, count(report.early_answers)),
            figure(run.asking, count(report.asking_messages) / visitors),
        ];
        Ok(Self { run, figures })
    }
}

impl Figure {
    /// The largest difference between both, as a share of the real figure.
    const WITHIN: f64 = 0.05;
    /// Fewer messages for each visitor are none.
    const NONE: f64 = 0.02;

    fn agrees(&self) -> bool {
        let off = (self.real - self.simulated).abs();
        off <= Self::WITHIN * self.real || self.real < Self::NONE && off < Self::NONE
    }

    fn texts(&self) -> [String; 2] {
        [self.real, self.simulated]
            .map(|value| if value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") })
    }

    /// The same, with a mark if both do not agree.
    fn judged(&self) -> [String; 2] {
        let [real, simulated] = self.texts();
        [real, if self.agrees() { simulated } else { format!("**{simulated}**") }]
    }
}

/// The means of the figures of several runs.
fn mean_of(runs: &[[Figure; 3]]) -> [Figure; 3] {
    let mean = |of: &dyn Fn(&[Figure; 3]) -> f64| {
        runs.iter().map(of).sum::<f64>() / runs.len().max(1) as f64
    };
    [0, 1, 2].map(|at| Figure {
        real: mean(&|figures| figures[at].real),
        simulated: mean(&|figures| figures[at].simulated),
    })
}

/// The world of a run with this load.
fn world(load: &str) -> Result<Scenario, String> {
    let world = Scenario::parse("three-sites".to_owned(), THREE_SITES, Path::new(""));
    let mut world = world.map_err(|error| error.to_string())?;
    let crowd = world.crowd.as_mut().ok_or("three-sites.toml has no crowd")?;
    match load {
        "full" => {}
        "light" => crowd.visitors /= LIGHT,
        "minute" => world.limits.new_users_per_minute /= MINUTE,
        other => {
            return Err(format!("`{other}` is no load, expected `full`, `light` or `minute`"));
        }
    }
    Ok(world)
}

/// The runs without faults in a file, one in a line.
fn runs(text: &str) -> Result<Vec<Run>, Box<dyn Error>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let runs: Vec<Run> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
    let runs: Vec<_> = runs.into_iter().filter(|run| run.fault == "none").collect();
    if runs.is_empty() {
        return Err("has no run without a fault".into());
    }
    Ok(runs)
}

/// The figures that are compared.
const FIGURES: [&str; 3] = ["admitted", "too early", "messages for a slot"];

/// The light load of the example is this part of the full one.
const LIGHT: u32 = 3;
/// At the load that tests the limit on new visitors, this part of the limit is in effect.
const MINUTE: u32 = 4;

const THREE_SITES: &str = include_str!("../../scenarios/three-sites.toml");

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: &str = r#"
{"fault":"none","load":"light","policy":"escrow","seed":11,"admitted":[1085,0,0],"early":0,"asking":0.0,"more":1}
{"fault":"ledger","load":"full","policy":"escrow","seed":11,"admitted":[579,277,1075],"early":0,"asking":0.6}
{"fault":"none","load":"full","policy":"counters","seed":3,"admitted":[949,0,0],"early":6514,"asking":0.46}
"#;

    #[test]
    fn runs_without_faults_are_read() {
        let runs = runs(RUNS).unwrap();
        let read: Vec<_> = runs.iter().map(|run| (run.policy, run.seed, run.early)).collect();
        assert_eq!(read, [(Policy::Escrow, 11, 0), (Policy::Counters, 3, 6_514)]);
        let error = |text: &str| super::runs(text).unwrap_err().to_string();
        assert_eq!(error("\n"), "has no run without a fault");
        assert!(error("{}").starts_with("missing field `fault`"), "{}", error("{}"));
    }

    #[test]
    fn a_difference_of_more_than_a_twentieth_is_marked() {
        let figure = |simulated| Figure { real: 1_000.0, simulated };
        assert!(figure(951.0).agrees() && figure(1_049.0).agrees());
        assert!(!figure(949.0).agrees() && !figure(1_051.0).agrees());
        assert_eq!(figure(949.0).texts(), ["1000", "949"]);
        assert_eq!(figure(949.0).judged(), ["1000", "**949**"]);
        let trips = |simulated| Figure { real: 0.0, simulated };
        assert!(trips(0.0).agrees() && trips(0.01).agrees() && !trips(0.03).agrees());
    }

    #[test]
    fn runs_of_a_policy_and_a_load_are_judged_by_their_means() {
        let figure = |simulated| Figure { real: 1_000.0, simulated };
        let runs = [[figure(900.0); 3], [figure(1_060.0); 3]];
        assert!(runs.iter().flatten().all(|figure| !figure.agrees()));
        let is_mean = |figure: &Figure| (figure.simulated - 980.0).abs() < 1e-9 && figure.agrees();
        assert!(mean_of(&runs).iter().all(is_mean));
    }
}
