use std::time::Duration;

use waiting_room_core::{Meter, Quota, Refusals, SlidingCounter, SlidingLog, Timestamp};
use waiting_room_sim::Trace;

pub(super) use waiting_room_sim::seeds;

use super::{
    candidate::Candidate,
    exact::Truth,
    plot::plot,
    tally::Tally,
    traffic::START,
    trial::{Used, try_out},
    *,
};
