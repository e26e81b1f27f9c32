//! The figures as pictures: curves and bars.
//!
//! The background is left free and the colours are of a middle lightness, to be read on white and
//! on black.

mod bars;
mod canvas;
mod curves;

pub(crate) use self::{
    bars::{Bars, draw_bars},
    curves::{Axis, Curves, draw_curves},
};
