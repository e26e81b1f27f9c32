//! From a file to a scenario, or to what is wrong with it.

use std::{fs, path::Path};

use toml::Spanned;
use waiting_room_sim::{Day, Trace};

use super::{
    Fault, FaultKind, Limits, Move, Network, Scenario, ScenarioError, Sites, SlotSettings, Traffic,
    Visitors, capacity_per_minute,
    source::Source,
    tables::{
        FaultTable, FileTable, LimitsTable, MoveTable, NetworkTable, PacingName, Point, SitesTable,
        SlotsTable, TrafficTable, Unit, VisitorsTable,
    },
};

impl Scenario {
    /// No world has more sites.
    pub(crate) const MAX_SITES: usize = 1_000;
    /// No site has more nodes.
    const MAX_NODES: u16 = 1_000;
    /// No scenario goes on for longer, in minutes: thirty days.
    const MAX_MINUTES: f64 = 30.0 * 24.0 * 60.0;

    /// Reads a scenario file.
    ///
    /// # Errors
    ///
    /// What is wrong with it, with the line and the field.
    pub(crate) fn open(path: &Path) -> Result<Self, ScenarioError> {
        let named = |error: ScenarioError| error.named(path.display());
        let source = fs::read_to_string(path).map_err(ScenarioError::of_file).map_err(named)?;
        let name = path.file_stem().map_or_else(String::new, |it| it.to_string_lossy().into());
        let directory = path.parent().unwrap_or(Path::new(""));
        Self::parse(name, &source, directory).map_err(named)
    }

    /// Reads the content of a scenario file, with paths in it relative to `directory`.
    pub(in crate::sites) fn parse(
        name: String,
        source: &str,
        directory: &Path,
    ) -> Result<Self, ScenarioError> {
        let table: FileTable = toml::from_str(source).map_err(|error| {
            ScenarioError::at(source, error.span().unwrap_or(0..0), error.message())
        })?;
        let source = Source { text: source, directory };
        if table.policies.get_ref().is_empty() {
            return source.wrong(table.policies.span(), "is empty, expected at least one policy");
        }
        let limits = source.limits(&table.limits)?;
        let visitors = source.visitors(&table.visitors)?;
        let sites = source.sites(&table.sites)?;
        let count = sites.nodes.len();
        let traffic = source.traffic(&table.traffic, capacity_per_minute(&limits, &visitors))?;
        let moves = table.moves.iter().map(|it| source.movement(it, count));
        let faults = table.faults.iter().map(|it| source.fault(it, count));
        Ok(Self {
            name,
            policies: table.policies.into_inner(),
            seed: table.seed,
            limits,
            slots: source.slots(&table.slots)?,
            moves: moves.collect::<Result<_, _>>()?,
            faults: faults.collect::<Result<_, _>>()?,
            sites,
            visitors,
            network: source.network(&table.network)?,
            traffic,
        })
    }
}

impl Source<'_> {
    fn limits(&self, table: &LimitsTable) -> Result<Limits, ScenarioError> {
        Ok(Limits {
            total_active_users: self.within(&table.total_active_users, 1, 10_000_000)?,
            new_users_per_minute: self.within(&table.new_users_per_minute, 1, 10_000_000)?,
            session: self.optional(table.session_s.as_ref(), 300, 1, 24 * 60 * 60)?,
        })
    }

    fn slots(&self, table: &SlotsTable) -> Result<SlotSettings, ScenarioError> {
        Ok(SlotSettings {
            any_floor: self.optional(table.any_floor.as_ref(), 0.02, 0.0, 1.0)?,
            curve_factor: self.optional(table.curve_factor.as_ref(), 1.0, 0.0, 8.0)?,
            is_paced: table.pacing == Some(PacingName::Linear),
        })
    }

    fn sites(&self, table: &SitesTable) -> Result<Sites, ScenarioError> {
        let nodes = self.nodes(table)?;
        let weights = match (&table.weights, &table.site_skew) {
            (Some(weights), Some(skew)) => {
                let message = format!("contradicts weights, {} of them", weights.get_ref().len());
                return self.wrong(skew.span(), message);
            }
            (Some(weights), None) => {
                let (given, expected) = (weights.get_ref().len(), nodes.len());
                if given != expected {
                    let message =
                        format!("has {given} numbers, expected one for each of {expected} sites");
                    return self.wrong(weights.span(), message);
                }
                let weights = weights.get_ref().iter();
                weights.map(|weight| self.within(weight, 0.0, 1e9)).collect::<Result<_, _>>()?
            }
            (None, Some(skew)) => {
                let exponent = self.within(skew, 0.0, 4.0)?;
                (1..=nodes.len()).map(|rank| (rank as f64).powf(-exponent)).collect()
            }
            (None, None) => nodes.iter().map(|nodes| f64::from(*nodes)).collect(),
        };
        let node_skew = self.optional(table.node_skew.as_ref(), 0.0, 0.0, 4.0)?;
        Ok(Sites { nodes, weights, node_skew })
    }

    fn nodes(&self, table: &SitesTable) -> Result<Vec<u16>, ScenarioError> {
        match (&table.nodes, &table.count) {
            (Some(_), Some(count)) => {
                self.wrong(count.span(), "contradicts nodes, which has a number for each site")
            }
            (Some(nodes), None) => {
                let count = nodes.get_ref().len();
                if count == 0 || count > Scenario::MAX_SITES {
                    let message =
                        format!("has {count} sites, expected 1 to {}", Scenario::MAX_SITES);
                    return self.wrong(nodes.span(), message);
                }
                let nodes = nodes.get_ref().iter();
                nodes.map(|nodes| self.within(nodes, 1, Scenario::MAX_NODES)).collect()
            }
            (None, Some(count)) => {
                let most = u16::try_from(Scenario::MAX_SITES).unwrap_or(u16::MAX);
                let count = self.within(count, 1, most)?;
                let each = self.optional(table.nodes_each.as_ref(), 1, 1, Scenario::MAX_NODES)?;
                Ok(vec![each; count.into()])
            }
            (None, None) => Err(ScenarioError::at(
                self.text,
                self.text.find("[sites]").map_or(0..0, |at| at..at),
                "expected nodes, a number for each site, or count",
            )),
        }
    }

    fn visitors(&self, table: &VisitorsTable) -> Result<Visitors, ScenarioError> {
        let patience = table.patience_s.as_ref();
        Ok(Visitors {
            browsing: self.optional(table.browsing_s.as_ref(), 120.0, 0.0, 86_400.0)?,
            think: self.optional(table.think_s.as_ref(), 30.0, 1.0, 3_600.0)?,
            refresh: self.optional(table.refresh_s.as_ref(), 20.0, 1.0, 600.0)?,
            patience: patience.map(|it| self.within(it, 1.0, 86_400.0)).transpose()?,
            bots: self.optional(table.bots.as_ref(), 0.0, 0.0, 1.0)?,
        })
    }

    fn network(&self, table: &NetworkTable) -> Result<Network, ScenarioError> {
        Ok(Network {
            news_delay: self.optional(table.news_delay_s.as_ref(), 6.0, 0.0, 600.0)?,
            news_every: self.optional(table.news_every_s.as_ref(), 2.0, 0.1, 60.0)?,
            site_rtt_ms: self.round_trip(table.site_rtt_ms.as_ref(), [2, 10])?,
            wan_rtt_ms: self.round_trip(table.wan_rtt_ms.as_ref(), [60, 70])?,
        })
    }

    fn traffic(&self, table: &TrafficTable, capacity: f64) -> Result<Traffic, ScenarioError> {
        match (&table.points, &table.replay) {
            (Some(_), Some(replay)) => self.wrong(replay.span(), "contradicts points"),
            (Some(points), None) => {
                let scale = if table.unit == Some(Unit::PerMinute) { 1.0 } else { capacity };
                self.points(points, scale)
            }
            (None, Some(replay)) => self.replay(replay, table.visitors.as_ref()),
            (None, None) => Err(ScenarioError::at(
                self.text,
                self.text.find("[traffic]").map_or(0..0, |at| at..at),
                "expected points, or replay with the name of a file",
            )),
        }
    }

    fn points(
        &self,
        points: &Spanned<Vec<Spanned<Point>>>,
        scale: f64,
    ) -> Result<Traffic, ScenarioError> {
        let mut lines = Vec::new();
        let mut last = 0.0;
        for point in points.get_ref() {
            let Point(minute, number) = *point.get_ref();
            if !(last..=Scenario::MAX_MINUTES).contains(&minute) {
                let most = Scenario::MAX_MINUTES;
                let message = format!("minute is {minute}, expected {last} to {most}");
                return self.wrong(point.span(), message);
            }
            if !(0.0..=1e7).contains(&(number * scale)) {
                let message = format!(
                    "is {number} at minute {minute}, expected up to 10000000 visitors in a minute"
                );
                return self.wrong(point.span(), message);
            }
            last = minute;
            lines.push((60.0 * minute, number * scale));
        }
        if last <= 0.0 {
            return self.wrong(points.span(), "is over at once, expected a point after minute 0");
        }
        Ok(Traffic { points: lines })
    }

    /// Each minute of the file is a step.
    fn replay(
        &self,
        file: &Spanned<std::path::PathBuf>,
        visitors: Option<&Spanned<f64>>,
    ) -> Result<Traffic, ScenarioError> {
        let day = Day::open(&self.directory.join(file.get_ref()));
        let day = match day {
            Ok(day) => Trace::from(&day),
            Err(error) => return self.wrong(file.span(), error),
        };
        let day = match visitors {
            Some(visitors) => day.scaled_to(self.within(visitors, 1.0, 1e9)?),
            None => day,
        };
        let steps = day.counts().iter().enumerate();
        let points = steps.flat_map(|(minute, count)| {
            let start = 60.0 * minute as f64;
            [(start, *count), (start + 60.0, *count)]
        });
        Ok(Traffic { points: points.collect() })
    }

    fn movement(&self, table: &MoveTable, sites: usize) -> Result<Move, ScenarioError> {
        Ok(Move {
            at: 60.0 * self.within(&table.at_min, 0.0, Scenario::MAX_MINUTES)?,
            share: self.within(&table.share, 0.0, 1.0)?,
            to: self.within(&table.to, 0, sites - 1)?,
        })
    }

    fn fault(&self, table: &FaultTable, sites: usize) -> Result<Fault, ScenarioError> {
        let from = self.within(&table.from_min, 0.0, Scenario::MAX_MINUTES)?;
        let until = table.until_min.as_ref();
        let until = until.map(|it| self.within(it, from, Scenario::MAX_MINUTES)).transpose()?;
        if let (FaultKind::Dead, Some(until)) = (table.kind, &table.until_min) {
            return self.wrong(until.span(), "contradicts kind: who is dead does not come back");
        }
        Ok(Fault {
            what: table.kind,
            site: self.within(&table.site, 0, sites - 1)?,
            from: 60.0 * from,
            until: until.map_or(f64::INFINITY, |until| 60.0 * until),
        })
    }
}
