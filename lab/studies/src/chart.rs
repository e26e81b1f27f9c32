//! Charts: the figures of a sheet as curves or as bars, and the elements of all charts.
//!
//! The background is transparent and the colours are of medium lightness, to be readable on white
//! and on black.

mod bars;
mod curves;
mod paper;

pub(crate) use self::{
    bars::{Bars, Panel, draw_bars},
    curves::{Curves, draw_curves},
    paper::Axis,
};
