//! The figures as pictures: curves and bars.
//!
//! The background is left free and the colours are of a middle lightness, to be read on white and
//! on black.

mod bars;
mod canvas;
mod curves;
mod pictures;

pub(super) use self::pictures::pictures;
