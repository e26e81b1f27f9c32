//! Faults, and moves of traffic.

use toml::Spanned;

use super::{
    error::ScenarioError,
    settings::{Fault, FaultKind, Move, Scenario},
    source::Source,
    tables::{FaultTable, MoveTable},
};

impl Source<'_> {
    /// Checks all faults: a site has one at a time, and a site with visitors is left.
    pub(super) fn faults(
        &self,
        tables: &[FaultTable],
        weights: &[f64],
        end: f64,
    ) -> Result<Vec<Fault>, ScenarioError> {
        let mut faults: Vec<Fault> = Vec::new();
        for table in tables {
            let fault = self.fault(table, weights.len(), end)?;
            if let Some(other) = faults.iter().find(|other| other.meets(&fault)) {
                let message =
                    format!("which overlaps with the fault of this site {}", other.lasts());
                let from = table.from_min.get_ref();
                return self.wrong(table.from_min.span(), format!("is {from}, {message}"));
            }
            faults.push(fault);
        }
        let mut open = weights.to_vec();
        for (table, fault) in tables.iter().zip(&faults) {
            if fault.what == FaultKind::Dead {
                open[fault.site] = 0.0;
            }
            if open.iter().sum::<f64>() <= 0.0 {
                let message = format!(
                    "is {}, the last site that visitors come to, and no site would be left to \
                     take them",
                    fault.site
                );
                return self.wrong(table.site.span(), message);
            }
        }
        Ok(faults)
    }

    /// Checks all moves of traffic, and returns them in the order of time. Each must go to a site
    /// that exists and is not dead.
    pub(super) fn moves(
        &self,
        tables: &[MoveTable],
        (sites, end): (usize, f64),
        faults: &[Fault],
    ) -> Result<Vec<Move>, ScenarioError> {
        let movement = |table: &MoveTable| {
            let at = self.minute(&table.at_min, end)?;
            let to = self.within(&table.to, 0, sites - 1)?;
            let is_dead = |fault: &Fault| {
                fault.what == FaultKind::Dead && fault.site == to && fault.from <= at
            };
            if faults.iter().any(is_dead) {
                return self
                    .wrong(table.to.span(), format!("is {to}, a site that is dead by then"));
            }
            Ok(Move { at, share: self.within(&table.share, 0.0, 1.0)?, to })
        };
        let mut moves: Vec<_> = tables.iter().map(movement).collect::<Result<_, _>>()?;
        moves.sort_by(|one, other| one.at.total_cmp(&other.at));
        Ok(moves)
    }

    fn fault(&self, table: &FaultTable, sites: usize, end: f64) -> Result<Fault, ScenarioError> {
        let from = self.minute(&table.from_min, end)?;
        let until = table.until_min.as_ref();
        let most = f64::from(Scenario::MAX_MINUTES);
        let until =
            until.map(|given| self.within(given, *table.from_min.get_ref(), most)).transpose()?;
        if let (FaultKind::Dead, Some(until)) = (table.kind, &table.until_min) {
            return self.wrong(until.span(), "contradicts kind: a dead site does not come back");
        }
        Ok(Fault {
            what: table.kind,
            site: self.within(&table.site, 0, sites - 1)?,
            from,
            until: until.map_or(f64::INFINITY, |until| 60.0 * until),
        })
    }

    /// A minute before the traffic ends, converted to seconds.
    fn minute(&self, minute: &Spanned<f64>, end: f64) -> Result<f64, ScenarioError> {
        let at = 60.0 * self.within(minute, 0.0, f64::from(Scenario::MAX_MINUTES))?;
        if at >= end {
            let message = format!("is {}, when the traffic is over", minute.get_ref());
            return self.wrong(minute.span(), message);
        }
        Ok(at)
    }
}

impl Fault {
    /// Returns whether both are faults of one site, without time between them.
    fn meets(&self, other: &Self) -> bool {
        self.site == other.site && self.from <= other.until && other.from <= self.until
    }

    fn lasts(&self) -> String {
        let from = self.from / 60.0;
        let until = self.until / 60.0;
        if until.is_finite() {
            format!("from minute {from} to {until}")
        } else {
            format!("from minute {from} on")
        }
    }
}
