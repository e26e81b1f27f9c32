//! The arrivals and the behaviour of a crowd. All of it follows from the seed.

use std::{error::Error, time::Duration};

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use waiting_room_sim::plan::{Pace, Plan};

use crate::{
    cli::{Arrivals, CrowdOrder},
    replay::{self, Replay},
    room::RoomArgs,
};

/// The plans of a crowd, in the order of arrival.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    pub(super) seed: u64,
    pub(super) plans: Vec<Plan>,
    /// The time within which all visitors arrive.
    pub(super) over: Duration,
    /// A description of the crowd in one sentence.
    pub(super) story: String,
}

impl Schedule {
    /// Creates the schedule for a crowd and a room.
    pub(super) fn new(order: &CrowdOrder, room: &RoomArgs) -> Result<Self, Box<dyn Error>> {
        let seed = order.options.seed.unwrap_or_else(fresh_seed);
        let mut chance = Pcg64::seed_from_u64(seed);
        let bound = order.options.max_visitors;
        let (times, over, story) = match &order.arrivals {
            Arrivals::Even { visitors, over } => {
                check(*visitors, bound)?;
                (
                    Plan::even_arrivals(*visitors, *over, &mut chance),
                    *over,
                    format!("{visitors} visitors"),
                )
            }
            Arrivals::Sale { visitors, over, prequeue } => {
                check(*visitors, bound)?;
                if prequeue >= over {
                    return Err(
                        format!("--prequeue is {prequeue:?}, expected less than {over:?}").into()
                    );
                }
                let times = before_and_after(*visitors, *prequeue, *over, &mut chance);
                let story = format!("{visitors} visitors of a sale that starts in {prequeue:?}");
                (times, *over, story)
            }
            Arrivals::Replay(args) => {
                let Replay { pressed, story } = replay::load(args, room.allowed_per_minute())?;
                check(pressed.visitors(), bound)?;
                let peak = pressed.peak_per_minute();
                let count = pressed.visitors();
                let story = format!("{count} visitors, up to {peak:.0} a minute, as in {story}");
                (pressed.arrivals(&mut chance), pressed.over(), story)
            }
        };
        let longest_absence = room.place_retention.mul_f64(SAFE_PART_OF_RETENTION);
        let has_streams = matches!(order.arrivals, Arrivals::Sale { .. });
        let pace = Pace { over, longest_absence, has_streams };
        let draw = |time| {
            let plan = Plan::draw(time, &pace, &mut chance);
            if order.options.obey { plan.obedient() } else { plan }
        };
        let plans = times.into_iter().map(draw).collect();
        Ok(Self { seed, plans, over, story })
    }
}

/// The arrivals of a sale: most visitors come before the start.
fn before_and_after(
    visitors: u32,
    prequeue: Duration,
    over: Duration,
    chance: &mut impl Rng,
) -> Vec<Duration> {
    let early = visitors - visitors / COMES_LATE;
    let mut times = Plan::even_arrivals(early, prequeue, chance);
    let late = Plan::even_arrivals(visitors - early, over - prequeue, chance);
    times.extend(late.into_iter().map(|time| prequeue + time));
    times
}

/// Checks that the crowd is neither empty nor larger than the bound.
fn check(visitors: u32, bound: u32) -> Result<(), String> {
    if visitors == 0 {
        return Err("the crowd would be empty; raise --peak-factor".to_owned());
    }
    if visitors > bound {
        let given = format!("the crowd would be {visitors} visitors, expected at most {bound}");
        return Err(format!("{given}; --max-visitors raises the bound"));
    }
    Ok(())
}

/// Returns a random seed that is short enough to be typed, and small enough to survive JSON.
fn fresh_seed() -> u64 {
    u64::from(rand::make_rng::<Pcg64>().random::<u32>())
}

/// One in this many visitors of a sale comes after its start.
const COMES_LATE: u32 = 4;

/// The part of the retention that an absence may take. The retention begins with a check-in, and
/// the next request takes some time too.
const SAFE_PART_OF_RETENTION: f64 = 0.8;
