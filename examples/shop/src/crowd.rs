//! The visitors that the program sends to its own shop, over real HTTP.

use std::{error::Error, net::SocketAddr, path::Path, time::Duration};

use shop::RoomArgs;
use waiting_room_crowd::{Crowd, Outcome};
use waiting_room_sim::{Day, Trace};

use crate::cli::CrowdArgs;

/// The visitors that keep a room with these rules full: how many are inside, and how many wait, so that a
/// person who joins them waits for about 25 seconds.
pub(crate) fn standing(room: &RoomArgs) -> [u32; 2] {
    let by_rate = room.rate.saturating_mul(VISIT) / 60;
    let inside = room.limit.min(by_rate).clamp(1, MOST);
    [inside, (inside * 3).div_ceil(2)]
}

/// Sends a crowd to a shop with these rules, and returns what the crowd saw.
pub(crate) async fn send(
    args: &CrowdArgs,
    shop: SocketAddr,
    room: &RoomArgs,
) -> Result<Outcome, Box<dyn Error>> {
    let crowd = match &args.replay {
        Some(file) => replay(file, room, args.seed)?,
        None => {
            let visitors = args.crowd.unwrap_or_default();
            Crowd::even(visitors, args.duration, args.seed, room.promises())
        }
    };
    let seed = crowd.seed();
    let witness = crowd.witness();
    eprintln!("{} visitors come, seed {seed}", crowd.visitors());
    crowd.visit(&[shop], args.drain).await;
    Ok(Outcome::new(&witness, seed))
}

/// The crowd of the steepest hour in a file.
fn replay(file: &Path, room: &RoomArgs, seed: Option<u64>) -> Result<Crowd, Box<dyn Error>> {
    let day = Day::open(file)?;
    let hour = day.steepest(60)?;
    eprintln!("from {} to {} in {file:?}", day.label(hour.start), day.label(hour.end - 1));
    let trace = Trace::from_iter(day.counts()[hour].iter().copied());
    // Only the shape of the hour is used, so that each day fills each room.
    let by_slots = f64::from(room.limit) * 60.0 / room.promises().session_duration.as_secs_f64();
    let scale = PEAK * by_slots.min(room.rate.into()) / busiest(&trace);
    let trace = trace.scaled_to(trace.total() * scale);
    Ok(Crowd::of_trace(&trace, PRESSED, seed, room.promises()))
}

/// The visitors of the busiest minute of a replay, which has as many minutes of the trace as fit.
fn busiest(trace: &Trace) -> f64 {
    let fit = usize::try_from(60 / PRESSED.as_secs()).expect("PRESSED is at least a second");
    let length = trace.counts().len().clamp(1, fit);
    trace.counts().windows(length).map(|window| window.iter().sum()).fold(0.0, f64::max)
}

/// The time for which a visitor of a standing crowd is inside, on average, in seconds.
const VISIT: u32 = 16;
/// The maximum number of visitors of a standing crowd who are inside.
const MOST: u32 = 2_000;
/// The time of a minute in a replay: an hour takes three minutes.
const PRESSED: Duration = Duration::from_secs(3);
/// The demand in the busiest minute of a replay, as a multiple of what the limits allow.
const PEAK: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    fn room(line: &str) -> RoomArgs {
        Cli::read(line.split_whitespace()).unwrap().room
    }

    #[test]
    fn the_busiest_minute_of_a_replay_asks_for_three_times_the_allowance() {
        let day = Path::new("data/worldcup98-1998-06-30.csv");
        let visitors = replay(day, &room("shop --crowd 1"), None).unwrap().visitors();
        assert!((1_000..=2_000).contains(&visitors), "{visitors}");
        assert!((busiest(&Trace::from_iter([2; 60])) - 40.0).abs() < 1e-9);
    }

    #[test]
    fn a_standing_crowd_is_as_large_as_the_limits_of_its_room_ask_for() {
        for (line, visitors) in [
            ("shop", [10, 15]),
            ("shop --limit 1", [1, 2]),
            ("shop --limit 100", [53, 80]),
            ("shop --limit 9999 --rate 999999", [2_000, 3_000]),
        ] {
            assert_eq!(standing(&room(line)), visitors, "{line}");
        }
    }
}
