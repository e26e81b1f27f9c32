//! The number of arrivals, from points or from a file.

use std::ops::Range;

use toml::Spanned;
use waiting_room_sim::{Day, Trace};

use super::{
    error::ScenarioError,
    settings::{Scenario, ShopCrowd, Traffic},
    source::Source,
    tables::{CrowdTable, TrafficTable, Unit, VisitorsTable},
};

impl Traffic {
    /// The maximum number of visitors in a minute.
    const MAX_PER_MINUTE: f64 = 1e7;
    /// The maximum number of visitors in total. If all of them wait, each takes some dozen bytes.
    const MAX_VISITORS: f64 = 1e8;

    /// The time of the last point, in seconds.
    pub(super) fn ends(&self) -> f64 {
        self.points.last().map_or(0.0, |(at, _)| *at)
    }

    /// The expected number of visitors in total.
    fn visitors(&self) -> f64 {
        let minutes = |from: f64, to: f64| (to - from) / 60.0;
        let lines = self.points.windows(2);
        let each = lines.map(|line| minutes(line[0].0, line[1].0) * (line[0].1 + line[1].1) / 2.0);
        each.sum()
    }
}

impl ShopCrowd {
    /// The maximum number of visitors. Each has a plan of some hundred bytes.
    const MAX_VISITORS: u32 = 100_000;
}

impl Source<'_> {
    pub(super) fn traffic(
        &self,
        place: &Spanned<TrafficTable>,
        capacity: f64,
    ) -> Result<Traffic, ScenarioError> {
        let table = place.get_ref();
        if let (Some(_), Some(visitors)) = (&table.points, &table.visitors) {
            return self.wrong(visitors.span(), "contradicts points, which contain the arrivals");
        }
        if let (Some(_), Some(unit)) = (&table.replay, &table.unit) {
            return self.wrong(unit.span(), "contradicts replay, whose numbers are visitors");
        }
        match (&table.points, &table.replay) {
            (Some(_), Some(replay)) => self.wrong(replay.span(), "contradicts points"),
            (Some(points), None) => {
                let scale = match table.unit.as_ref().map(Spanned::get_ref) {
                    Some(Unit::PerMinute) => 1.0,
                    Some(Unit::Load) | None => capacity,
                };
                self.points(points, scale)
            }
            (None, Some(replay)) => self.replay(replay, table.visitors.as_ref()),
            (None, None) => {
                self.wrong(place.span(), "expected points, or replay with the name of a file")
            }
        }
    }

    /// A crowd, and its length as traffic without visitors.
    pub(super) fn crowd(
        &self,
        place: &Spanned<CrowdTable>,
        visitors: &VisitorsTable,
    ) -> Result<(Traffic, Option<ShopCrowd>), ScenarioError> {
        let VisitorsTable { browsing_s, think_s, patience_s, bots, .. } = visitors;
        let of_traffic = [browsing_s, think_s, patience_s, bots];
        if let Some(given) = of_traffic.into_iter().flatten().next() {
            return self.wrong(given.span(), "contradicts crowd, whose visitors have plans");
        }
        let table = place.get_ref();
        let crowd = ShopCrowd {
            visitors: self.within(&table.visitors, 1, ShopCrowd::MAX_VISITORS)?,
            over: self.within(&table.over_s, 1.0, 86_400.0)?,
            drain: self.optional(table.drain_s.as_ref(), 0.0, 0.0, 86_400.0)?,
        };
        let points = vec![(0.0, 0.0), (crowd.over + crowd.drain, 0.0)];
        Ok((Traffic { points }, Some(crowd)))
    }

    fn points(
        &self,
        points: &Spanned<Vec<Spanned<Vec<f64>>>>,
        scale: f64,
    ) -> Result<Traffic, ScenarioError> {
        let mut lines = Vec::new();
        let mut last = 0.0;
        for point in points.get_ref() {
            let [minute, number] = point.get_ref()[..] else {
                let count = point.get_ref().len();
                let message = format!("has {count} numbers, expected a minute and a number");
                return self.wrong(point.span(), message);
            };
            let most = f64::from(Scenario::MAX_MINUTES);
            if !(last..=most).contains(&minute) {
                let message = format!("minute is {minute}, expected {last} to {most}");
                return self.wrong(point.span(), message);
            }
            self.can_come(point.span(), (minute, number), scale)?;
            last = minute;
            lines.push((60.0 * minute, number * scale));
        }
        if last <= 0.0 {
            return self.wrong(points.span(), "is over at once, expected a point after minute 0");
        }
        self.not_too_many(points.span(), Traffic { points: lines })
    }

    /// Each minute of the file becomes a step.
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
            Some(visitors) => day.scaled_to(self.within(visitors, 1.0, Traffic::MAX_VISITORS)?),
            None => day,
        };
        let minutes = day.counts().len();
        let most = Scenario::MAX_MINUTES;
        if minutes > most as usize {
            let message = format!("has {minutes} minutes, expected up to {most}");
            return self.wrong(file.span(), message);
        }
        if day.total() <= 0.0 {
            return self.wrong(file.span(), "has no visitors, expected one at least");
        }
        let mut points = Vec::new();
        for (minute, &count) in (0_u32..).zip(day.counts()) {
            self.can_come(file.span(), (minute.into(), count), 1.0)?;
            let start = 60.0 * f64::from(minute);
            points.extend([(start, count), (start + 60.0, count)]);
        }
        self.not_too_many(file.span(), Traffic { points })
    }

    /// Checks that this number of visitors can arrive in a minute.
    fn can_come(
        &self,
        span: Range<usize>,
        (minute, number): (f64, f64),
        scale: f64,
    ) -> Result<(), ScenarioError> {
        let most = Traffic::MAX_PER_MINUTE;
        if (0.0..=most).contains(&(number * scale)) {
            return Ok(());
        }
        let message =
            format!("is {number} at minute {minute}, expected up to {most} visitors in a minute");
        self.wrong(span, message)
    }

    fn not_too_many(&self, span: Range<usize>, traffic: Traffic) -> Result<Traffic, ScenarioError> {
        let visitors = traffic.visitors();
        let most = Traffic::MAX_VISITORS;
        if visitors <= most {
            return Ok(traffic);
        }
        self.wrong(span, format!("comes to {visitors:.0} visitors, expected up to {most}"))
    }
}
