//! The scale of a chart.

/// An axis with a number at each tick.
pub(crate) struct Axis {
    pub(super) name: &'static str,
    /// The numbers at the axis, in ascending order. The first and the last are its ends.
    ticks: Vec<f64>,
    is_logarithmic: bool,
}

impl Axis {
    /// An axis from 0 to `most`, with a tick at each step.
    pub(crate) fn new(name: &'static str, most: f64, step: f64) -> Self {
        Self::between(name, 0.0, most, step)
    }

    /// An axis from `least` to `most`, with a tick at each step.
    pub(crate) fn between(name: &'static str, least: f64, most: f64, step: f64) -> Self {
        let ticks = (0..).map(|number| least + step * f64::from(number));
        let ticks: Vec<_> = ticks.take_while(|tick| *tick <= most + step / 1e6).collect();
        Self { name, ticks, is_logarithmic: false }
    }

    /// An axis from 0 to a round number that is not less than `most`, except for a hair.
    pub(crate) fn fitting(name: &'static str, most: f64) -> Self {
        let most = if most > 0.0 { most } else { 1.0 };
        let digit = 10_f64.powf((most / MAX_STEPS).log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * digit);
        let step = steps.into_iter().find(|step| most / step <= MAX_STEPS + HAIR).unwrap_or(most);
        Self::new(name, (most / step - HAIR).ceil() * step, step)
    }

    /// A logarithmic axis with these ticks, which are more than 0.
    pub(crate) fn logarithmic(name: &'static str, ticks: &[f64]) -> Self {
        Self { name, ticks: ticks.to_vec(), is_logarithmic: true }
    }

    /// The numbers at the axis.
    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> {
        self.ticks.iter().copied()
    }

    /// The position of a value: 0 is the beginning of the axis, and 1 is its end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.is_logarithmic { value.log10() } else { value };
        let ends = [self.ticks.first(), self.ticks.last()].map(|end| scale(*end.unwrap_or(&1.0)));
        (scale(value) - ends[0]) / (ends[1] - ends[0])
    }
}

/// The maximum number of steps of an axis that fits its values.
const MAX_STEPS: f64 = 5.0;

/// The part of a step by which a value may be beyond the end of the axis.
const HAIR: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_fits_its_greatest_value() {
        let cases = [
            (42.2, vec![0.0, 10.0, 20.0, 30.0, 40.0, 50.0]),
            (100.1, vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0]),
            (1_195.0, vec![0.0, 250.0, 500.0, 750.0, 1_000.0, 1_250.0]),
            (0.0, vec![0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ];
        for (most, expected) in cases {
            let ticks: Vec<_> = Axis::fitting("%", most).ticks().collect();
            assert_eq!(ticks.len(), expected.len(), "{most}: {ticks:?}");
            let is_near = |(tick, expected): (&f64, f64)| (tick - expected).abs() < 1e-9;
            assert!(ticks.iter().zip(expected).all(is_near), "{most}: {ticks:?}");
        }
    }

    #[test]
    fn a_logarithmic_axis_has_the_same_space_for_each_factor() {
        let axis = Axis::logarithmic("sites", &[10.0, 100.0, 1_000.0]);
        let places = [10.0, 100.0, 1_000.0].map(|value| axis.place(value));
        assert!(places.iter().zip([0.0, 0.5, 1.0]).all(|(it, place)| (it - place).abs() < 1e-9));
        let axis = Axis::new("visitors", 200.0, 50.0);
        assert!((axis.place(150.0) - 0.75).abs() < 1e-9);
    }
}
