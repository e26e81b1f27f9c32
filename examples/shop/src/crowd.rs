//! Sends a crowd to a shop of its own, over real HTTP.

use std::{
    error::Error,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use shop::{RoomArgs, app};
use tokio::net::TcpListener;
use tower_waiting_room::WaitingRoomLayer;
use waiting_room_crowd::{Crowd, Outcome};
use waiting_room_sim::{Day, Trace};

use crate::cli::CrowdArgs;

/// Serves a shop with these rules, sends a crowd to it, and returns what the crowd saw. The sessions
/// are shorter than without a crowd, unless their length is set.
pub(crate) async fn run(room: &RoomArgs, args: &CrowdArgs) -> Result<Outcome, Box<dyn Error>> {
    let room = RoomArgs { session: room.session.or(Some(SESSION)), ..room.clone() };
    let crowd = match &args.replay {
        Some(file) => replay(file, &room, args.seed)?,
        None => {
            let visitors = args.crowd.unwrap_or_default();
            Crowd::even(visitors, args.duration, args.seed, room.promises())
        }
    };
    let seed = crowd.seed();
    let witness = crowd.witness();
    let layer = WaitingRoomLayer::new(room.config(room.own_keys()?)?);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let app = app(layer).into_make_service_with_connect_info::<SocketAddr>();
    let server = tokio::spawn(axum::serve(listener, app).into_future());
    eprintln!("{} visitors on http://{address}, seed {seed}", crowd.visitors());
    crowd.visit(&[address], args.drain).await;
    server.abort();
    Ok(Outcome::new(&witness, seed))
}

/// The crowd of the steepest hour in a file.
fn replay(file: &Path, room: &RoomArgs, seed: Option<u64>) -> Result<Crowd, Box<dyn Error>> {
    let day = Day::open(file)?;
    let hour = day.steepest(60)?;
    eprintln!("from {} to {} in {file:?}", day.label(hour.start), day.label(hour.end - 1));
    let trace = Trace::from_iter(day.counts()[hour].iter().copied());
    // Only the shape of the hour is used, so that each day fills each room.
    let scale = PEAK * room.allowed_per_minute() / busiest(&trace);
    let trace = trace.scaled_to(trace.total() * scale);
    Ok(Crowd::of_trace(&trace, PRESSED, seed, room.promises()))
}

/// The visitors of the busiest minute of a replay, which has as many minutes of the trace as fit.
fn busiest(trace: &Trace) -> f64 {
    let fit = usize::try_from(60 / PRESSED.as_secs()).expect("PRESSED is at least a second");
    let length = trace.counts().len().clamp(1, fit);
    trace.counts().windows(length).map(|window| window.iter().sum()).fold(0.0, f64::max)
}

/// The length of sessions: short enough that visitors can wait for them to end.
const SESSION: Duration = Duration::from_secs(60);
/// The time of a minute in a replay: an hour takes three minutes.
const PRESSED: Duration = Duration::from_secs(3);
/// The demand in the busiest minute of a replay, as a multiple of what the limits allow.
const PEAK: f64 = 3.0;

#[cfg(test)]
mod tests {
    use clap::Parser;
    use waiting_room_sim::seeds;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn the_busiest_minute_of_a_replay_asks_for_three_times_the_allowance() {
        let Cli { room, .. } = Cli::parse_from(["shop", "--session", "60s"]);
        let day = Path::new("data/worldcup98-1998-06-30.csv");
        let visitors = replay(day, &room, None).unwrap().visitors();
        assert!((1_000..=2_000).contains(&visitors), "{visitors}");
        assert!((busiest(&Trace::from_iter([2; 60])) - 40.0).abs() < 1e-9);
    }

    /// Runs over real sockets, so in real time: it takes about five seconds.
    #[tokio::test(flavor = "multi_thread")]
    async fn thirty_visitors_find_every_promise_kept() {
        let seed = seeds(1)[0];
        let line =
            format!("shop --crowd 30 --duration 2 --drain 3 --limit 8 --session 1 --seed {seed}");
        let Cli { room, crowd, .. } = Cli::parse_from(line.split_whitespace());
        let outcome = run(&room, &crowd).await.unwrap();
        let report = outcome.report();
        assert!(report.violations().is_empty(), "{outcome}");
        assert_eq!((report.visitors, report.seed), (30, Some(seed)));
        assert_eq!(report.admitted + report.refused + report.abandoned, 30);
        assert!(report.admitted > 8 && report.max_active >= 4, "{report:?}");
    }
}
