//! Reads a scenario from a file.

use std::{fs, path::Path};

use toml::Spanned;

use super::{
    error::ScenarioError,
    settings::{
        Limits, Network, Policy, Scenario, Sites, SlotSettings, Visitors, capacity_per_minute,
    },
    source::Source,
    tables::{
        FileTable, LimitsTable, NetworkTable, PacingName, SitesTable, SlotsTable, VisitorsTable,
    },
};

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    ///
    /// An error in the file, with the line and the field.
    pub(crate) fn open(path: &Path) -> Result<Self, ScenarioError> {
        let named = |error: ScenarioError| error.named(path.display());
        let source = fs::read_to_string(path).map_err(ScenarioError::of_file).map_err(named)?;
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
        let directory = path.parent().unwrap_or(Path::new(""));
        Self::parse(name, &source, directory).map_err(named)
    }

    /// Reads the content of a scenario file. Paths in it are relative to `directory`.
    pub(in crate::sites) fn parse(
        name: String,
        source: &str,
        directory: &Path,
    ) -> Result<Self, ScenarioError> {
        let table: FileTable = toml::from_str(source).map_err(|error| {
            match error.span() {
                // A field that the whole file lacks has no place.
                Some(span) if span != (0..0) => ScenarioError::at(source, span, error.message()),
                _ => ScenarioError::of_file(error.message()),
            }
        })?;
        let source = Source { text: source, directory };
        source.policies(&table.policies)?;
        let slots = source.slots(&table.slots, table.policies.get_ref())?;
        let limits = source.limits(&table.limits)?;
        let visitors = source.visitors(&table.visitors)?;
        let sites = source.sites(&table.sites)?;
        let count = sites.nodes.len();
        let capacity = capacity_per_minute(&limits, &visitors);
        let (traffic, crowd) = match (&table.traffic, &table.crowd) {
            (Some(traffic), None) => (source.traffic(traffic, capacity)?, None),
            (None, Some(crowd)) => source.crowd(crowd, &table.visitors)?,
            (Some(_), Some(crowd)) => return source.wrong(crowd.span(), "contradicts traffic"),
            (None, None) => {
                return Err(ScenarioError::of_file("missing field `traffic`, or `crowd`"));
            }
        };
        let faults = source.faults(&table.faults, &sites.weights, traffic.ends())?;
        let moves = source.moves(&table.moves, (count, traffic.ends()), &faults)?;
        Ok(Self {
            name,
            policies: table.policies.into_inner(),
            seed: table.seed,
            limits,
            slots,
            moves,
            faults,
            sites,
            visitors,
            network: source.network(&table.network)?,
            traffic,
            crowd,
        })
    }
}

impl Source<'_> {
    fn policies(&self, policies: &Spanned<Vec<Policy>>) -> Result<(), ScenarioError> {
        let all = policies.get_ref();
        if all.is_empty() {
            return self.wrong(policies.span(), "is empty, expected at least one policy");
        }
        match all.iter().enumerate().find(|(index, policy)| all[..*index].contains(policy)) {
            Some((_, policy)) => self.wrong(policies.span(), format!("has {policy} twice")),
            None => Ok(()),
        }
    }

    fn limits(&self, table: &LimitsTable) -> Result<Limits, ScenarioError> {
        Ok(Limits {
            total_active_users: self.within(&table.total_active_users, 1, 10_000_000)?,
            new_users_per_minute: self.within(&table.new_users_per_minute, 1, 10_000_000)?,
            session: self.optional(table.session_s.as_ref(), 300, 1, Scenario::MAX_SESSION)?,
        })
    }

    fn slots(
        &self,
        table: &SlotsTable,
        policies: &[Policy],
    ) -> Result<SlotSettings, ScenarioError> {
        let floor = table.any_floor.as_ref().map(Spanned::span);
        let pacing = table.pacing.as_ref().map(Spanned::span);
        let of_the_article = [Policy::Counters, Policy::Curve, Policy::Even];
        let users = [
            (floor, &of_the_article[..]),
            (table.curve_factor.as_ref().map(Spanned::span), &[Policy::Curve]),
            (pacing, &of_the_article),
        ];
        for (span, users) in users {
            if let Some(span) = span
                && !policies.iter().any(|policy| users.contains(policy))
            {
                return self.wrong(span, "is for a policy that is not among the policies");
            }
        }
        Ok(SlotSettings {
            any_floor: self.optional(table.any_floor.as_ref(), 0.02, 0.0, 1.0)?,
            curve_factor: self.optional(table.curve_factor.as_ref(), 1.0, 0.0, 8.0)?,
            is_paced: table
                .pacing
                .as_ref()
                .is_some_and(|pacing| *pacing.get_ref() == PacingName::Linear),
        })
    }

    fn sites(&self, place: &Spanned<SitesTable>) -> Result<Sites, ScenarioError> {
        let table = place.get_ref();
        let nodes = self.nodes(place)?;
        let weights = match (&table.weights, &table.site_skew) {
            (Some(weights), Some(skew)) => {
                let message = format!("contradicts weights, {} of them", weights.get_ref().len());
                return self.wrong(skew.span(), message);
            }
            (Some(weights), None) => {
                let given = weights.get_ref().len();
                let expected = nodes.len();
                if given != expected {
                    let message =
                        format!("has {given} numbers, expected one for each of {expected} sites");
                    return self.wrong(weights.span(), message);
                }
                let each = weights.get_ref().iter().map(|weight| self.within(weight, 0.0, 1e9));
                let each: Vec<_> = each.collect::<Result<_, _>>()?;
                if each.iter().sum::<f64>() <= 0.0 {
                    return self.wrong(weights.span(), "are all 0, expected one that is more");
                }
                each
            }
            (None, Some(skew)) => {
                let exponent = self.within(skew, 0.0, 4.0)?;
                (1..=nodes.len()).map(|rank| (rank as f64).powf(-exponent)).collect()
            }
            (None, None) => nodes.iter().map(|nodes| f64::from(*nodes)).collect(),
        };
        let node_skew = self.optional(table.node_skew.as_ref(), 0.0, 0.0, 4.0)?;
        let real_rooms = table.real_rooms.unwrap_or(false);
        Ok(Sites { nodes, weights, node_skew, real_rooms })
    }

    fn nodes(&self, place: &Spanned<SitesTable>) -> Result<Vec<u16>, ScenarioError> {
        let table = place.get_ref();
        if let (Some(_), Some(each)) = (&table.nodes, &table.nodes_each) {
            return self.wrong(each.span(), CONTRADICTS_NODES);
        }
        match (&table.nodes, &table.count) {
            (Some(_), Some(count)) => self.wrong(count.span(), CONTRADICTS_NODES),
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
            (None, None) => {
                self.wrong(place.span(), "expected nodes, a number for each site, or count")
            }
        }
    }

    fn visitors(&self, table: &VisitorsTable) -> Result<Visitors, ScenarioError> {
        let patience = table.patience_s.as_ref();
        Ok(Visitors {
            browsing: self.optional(table.browsing_s.as_ref(), 120.0, 0.0, 86_400.0)?,
            think: self.optional(table.think_s.as_ref(), 30.0, 1.0, 3_600.0)?,
            refresh: self.optional(table.refresh_s.as_ref(), 20.0, 1.0, 600.0)?,
            patience: patience.map(|patience| self.within(patience, 1.0, 86_400.0)).transpose()?,
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
}

const CONTRADICTS_NODES: &str = "contradicts nodes, which has a number for each site";
