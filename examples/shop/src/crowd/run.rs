//! One run: a server, a crowd, perhaps a restart, and a verdict.

use std::{error::Error, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use tokio::{
    select, signal,
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};
use tower_waiting_room::{KeyRing, TokenKey, WaitingRoomConfig};

use super::{
    display::{self, Scene},
    outcome::{Form, Outcome, Restart},
    schedule::Schedule,
    visitor::Visitor,
    witness::Witness,
};
use crate::{
    cli::CrowdOrder,
    room::{RecoveryName, RoomArgs},
    server::{Closed, Server},
};

/// Serves a shop, sends a crowd to it, and judges what the crowd saw.
pub(crate) async fn run(room: &RoomArgs, order: CrowdOrder) -> Result<Outcome, Box<dyn Error>> {
    let room = room.for_crowd();
    let schedule = Schedule::new(&order, &room)?;
    let restart = restart(&room, &order, &schedule)?;
    let keys = room.own_keys()?.unwrap_or_else(|| KeyRing::new(TokenKey::random()));
    // Before the first start there was nothing that could have been lost.
    let first = with_recovery(&room, RecoveryName::Admit).config(Some(keys.clone()))?;
    raise_file_limit();
    let server = Closed::new(first).open(Server::ANYWHERE)?;

    let seed = schedule.seed;
    let news = format!("{} on http://{}, seed {seed}", schedule.story, server.address());
    let witness = Arc::new(Witness::new(room.promises()));
    let (scene, shown) = watch::channel(Scene { room: server.handle(), news });
    let visitors = u64::try_from(schedule.plans.len()).unwrap_or(u64::MAX);
    let mut shows = JoinSet::new();
    shows.spawn(display::show(shown, Arc::clone(&witness), visitors));
    let crowd = crowd(schedule, server.address(), Arc::clone(&witness), order.options.drain);
    match restart {
        None => crowd.await,
        Some(restart) => {
            let config = with_recovery(&room, restart.recovery).config(Some(keys))?;
            let mut crowd = pin!(crowd);
            let again = again(server, restart, config, &witness, &scene);
            select! {
                () = &mut crowd => {}
                server = again => {
                    let _server = server?;
                    crowd.await;
                }
            }
        }
    }
    shows.shutdown().await;

    let failures = witness.glimpse().failures;
    let report = witness.report().with_seed(seed);
    let form = if order.options.json { Form::Json } else { Form::Table };
    Ok(Outcome { report, restart, failures, form })
}

/// Sends the crowd, and waits for the last to go.
///
/// Who still waits when the time is over, or at ctrl-c, gives up.
async fn crowd(schedule: Schedule, server: SocketAddr, witness: Arc<Witness>, drain: Duration) {
    let start = Instant::now();
    let mut over = pin!(over(start + schedule.over + drain));
    let mut visitors = JoinSet::new();
    for (number, plan) in (1..).zip(schedule.plans) {
        select! {
            () = sleep_until(start + plan.arrival) => {}
            () = &mut over => return visitors.shutdown().await,
        }
        match Visitor::new(number, plan, server, Arc::clone(&witness)) {
            Ok(visitor) => {
                visitors.spawn(visitor.live());
            }
            Err(error) => tracing::error!(%error, "a visitor could not come"),
        }
    }
    let everybody = async { while visitors.join_next().await.is_some() {} };
    select! {
        () = everybody => {}
        () = &mut over => {}
    }
    visitors.shutdown().await;
}

/// Waits for the end of the time, or for ctrl-c.
async fn over(end: Instant) {
    select! {
        () = sleep_until(end) => {}
        Ok(()) = signal::ctrl_c() => {}
    }
}

/// Kills the server at this time, and starts another on the same address that knows nothing.
async fn again(
    server: Server,
    restart: Restart,
    config: WaitingRoomConfig,
    witness: &Witness,
    scene: &watch::Sender<Scene>,
) -> Result<Server, Box<dyn Error>> {
    sleep(restart.at).await;
    let address = server.address();
    server.kill().await;
    scene.send_modify(|scene| {
        "the server was killed, and its memory is gone".clone_into(&mut scene.news)
    });
    sleep(DOWN).await;
    let hold = config.rules().recovery_hold();
    let room = Closed::new(config);
    while !witness.restarted(hold) {
        // What is under way has nowhere to go, and fails within a moment.
        sleep(Duration::from_millis(1)).await;
    }
    let server = room.open(address)?;
    let news = format!("another serves on http://{address} with the same keys");
    scene.send_replace(Scene { room: server.handle(), news });
    Ok(server)
}

/// The restart that was asked for.
fn restart(
    room: &RoomArgs,
    order: &CrowdOrder,
    schedule: &Schedule,
) -> Result<Option<Restart>, String> {
    let Some(at) = order.options.restart_at else { return Ok(None) };
    if at >= schedule.over {
        let over = schedule.over;
        return Err(format!("--restart-at is {at:?}, expected less than {over:?}"));
    }
    let recovery = room.recovery.unwrap_or(RecoveryName::Hold);
    Ok(Some(Restart { at, recovery }))
}

fn with_recovery(room: &RoomArgs, recovery: RecoveryName) -> RoomArgs {
    RoomArgs { recovery: Some(recovery), ..room.clone() }
}

/// Every visitor has a connection, and both of its ends are in this process.
fn raise_file_limit() {
    if let Err(error) = rlimit::increase_nofile_limit(FILES) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// The server is away for this long, so that visitors notice.
const DOWN: Duration = Duration::from_secs(1);

/// Two for each of the largest crowd, and some.
const FILES: u64 = 16_384;
