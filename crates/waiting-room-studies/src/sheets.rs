//! What studies have in common: tables of figures with several seeds, bars, files and pictures.
//!
//! A [`Sheet`] has a line for each thing that is compared and a [`Column`] for each figure; each
//! figure is a [`Spread`] of one value a seed. A [`Bar`] holds the worst of them against a bound.

mod bar;
mod output;
mod plot;
mod sheet;
mod spread;

pub(crate) use self::{
    bar::{Bar, Bound},
    output::{csv, table},
    plot::{Axis, Bars, Curves, draw_bars, draw_curves},
    sheet::{Column, Sheet, measure_each},
};
