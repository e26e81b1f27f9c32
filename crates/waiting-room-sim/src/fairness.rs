//! Draws of a real room, in virtual time, and whether they favor any order of arrival.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{
    ConfigError, RoomRules, Ticket, Timestamp, VisitorId,
    room::{
        Recovery,
        event::{Event, Schedule, Seed},
    },
};

use crate::{
    DrawBias, DrawTally,
    desk::{Desk, Door, Reply, Token},
};

/// Lets a room draw the order of a small crowd, once for each of `draws` seeds, and compares the
/// order of arrival with the places that the visitors were told.
///
/// The seeds of the draws, and the times of arrival in the prequeue, are derived from `seed`.
///
/// # Errors
///
/// A rule of the room is invalid, which does not happen.
pub fn draw_bias(seed: u64, draws: u32) -> Result<DrawBias, ConfigError> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut tally = DrawTally::new(ENTRANTS, GROUPS);
    for _ in 0..draws {
        tally.record(&places(&mut rng)?);
    }
    Ok(tally.bias())
}

/// The places of the visitors of one event, in their order of arrival.
fn places(rng: &mut Pcg64Mcg) -> Result<Vec<u32>, ConfigError> {
    let doors = Event::new("doors", START, START + PREQUEUE).prequeue_start(OPENED);
    let schedule =
        Schedule::new([doors])?.with_seed("simulation", "doors", Seed::new(rng.random()))?;
    // With a single slot, all visitors but one wait after the start, and are told their places.
    let rules = RoomRules::new("simulation", 1).session_duration(PREQUEUE);
    let mut desk = Desk::new(rules, Recovery::AdmitAtOnce)?.with_schedule(schedule)?;
    let mut arrivals: Vec<_> = (0..ENTRANTS).map(|_| rng.random_range(ARRIVALS_MS)).collect();
    arrivals.sort_unstable();
    let mut visitors = vec![(None::<Ticket>, None::<u32>); ENTRANTS];
    let times = arrivals.into_iter().map(|millis| OPENED + Duration::from_millis(millis));
    let mut due: BinaryHeap<_> = times.zip(0..).map(Reverse).collect();
    while let Some(Reverse((now, who))) = due.pop() {
        let (ticket, place) = &mut visitors[who];
        let id = VisitorId::new(rng.random());
        // The one who is admitted has the first place: the only one that no other visitor is told.
        let reply = desk.ask(ticket.map(Token::Ticket), id, now);
        let Reply::Waiting { ticket: issued, retry_after } = reply else { continue };
        *ticket = Some(issued);
        *place = issued.entrant.and_then(|entrant| entrant.place);
        if place.is_none() && now < START + PREQUEUE {
            due.push(Reverse((now + retry_after, who)));
        }
    }
    Ok(visitors.into_iter().map(|(_, place)| place.unwrap_or(1)).collect())
}

const OPENED: Timestamp = Timestamp::from_secs(1_700_000_000);
const PREQUEUE: Duration = Duration::from_secs(60);
const START: Timestamp = Timestamp::from_secs(1_700_000_060);

/// The times of arrival in the prequeue. The last one is early enough for a place before the start.
const ARRIVALS_MS: std::ops::Range<u64> = 0..56_000;

/// The visitors of each event, and the groups into which they are divided.
const ENTRANTS: usize = 32;
const GROUPS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::seeds;

    #[test]
    fn the_draw_of_a_room_favors_no_order_of_arrival_over_a_hundred_seeds() {
        for seed in seeds(1) {
            let bias = draw_bias(seed, 100).unwrap();
            assert_eq!((bias.draws, bias.degrees), (100, 49));
            assert!(bias.is_fair(), "{bias:?}");
        }
    }

    #[test]
    fn each_place_is_reported_once() {
        let mut rng = Pcg64Mcg::seed_from_u64(seeds(1)[0]);
        let mut places = places(&mut rng).unwrap();
        places.sort_unstable();
        assert!(places.into_iter().eq(1..=32));
    }
}
