//! When a crowd comes that came once before.
//!
//! ```text
//! file ─► Day ─► the steepest hour ─► pressed into three minutes ─► scaled ─► Replay
//!         every minute, in order      each minute to 3 s            the busiest minute asks for
//!                                                                   three times what is allowed
//! ```
//!
//! Only the shape of the day is used: where it climbs, and how fast. How many come follows from
//! the limits of the room, so that any day makes any room queue, and none takes long.

mod load;
mod pressed;
#[cfg(test)]
mod tests;

pub(crate) use self::{
    load::{Replay, load},
    pressed::Pressed,
};
