//! One run: a server, a crowd, optionally a restart, and a verdict.

use std::{error::Error, pin::pin, time::Duration};

use tokio::{select, sync::watch, time::sleep};
use tower_waiting_room::{
    KeyRing, TokenKey, WaitingRoomConfig,
    time::{Clock, SystemClock},
};

use super::{
    display::Scene,
    gathering::Crowd,
    outcome::{Form, Outcome, Restart},
    sale::SalePlan,
    witness::Witness,
};
use crate::{
    cli::{Arrivals, CrowdOrder},
    room::{RecoveryName, RoomArgs},
    server::{Closed, Server},
};

/// Serves a shop, sends a crowd to it, and judges what the crowd saw.
pub(crate) async fn run(room: &RoomArgs, order: CrowdOrder) -> Result<Outcome, Box<dyn Error>> {
    if let Arrivals::Sale { prequeue, .. } = order.arrivals {
        return sell(&room.for_sale(), &order, prequeue).await;
    }
    let room = room.for_crowd(order.options.one_address);
    let crowd = Crowd::new(&order, &room)?;
    let restart = restart(&room, &order, &crowd)?;
    let keys = room.own_keys()?.unwrap_or_else(|| KeyRing::new(TokenKey::random()));
    // Before the first start there was no state that could have been lost.
    let first = with_recovery(&room, RecoveryName::Admit).config(Some(keys.clone()))?;
    raise_file_limit();
    let server = Closed::new(first).open(Server::ANYWHERE)?;

    let seed = crowd.seed();
    let witness = crowd.witness();
    let news = format!("{} on http://{}, seed {seed}", crowd.story(), server.address());
    let (scene, shown) = watch::channel(Scene { room: server.handle().room(), news });
    let shops = [server.address()];
    let crowd = crowd.visit(&shops, shown);
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
    let form = if order.options.json { Form::Json } else { Form::Table };
    let one_address = order.options.one_address.then(|| witness.one_address());
    Ok(Outcome { restart, one_address, ..Outcome::new(&witness, seed, form) })
}

/// Holds a sale with a prequeue, sends a crowd to it, and judges what the crowd saw.
async fn sell(
    room: &RoomArgs,
    order: &CrowdOrder,
    prequeue: Duration,
) -> Result<Outcome, Box<dyn Error>> {
    let crowd = Crowd::new(order, room)?;
    let seed = crowd.seed();
    // Before the sale, because it takes a moment.
    let bias = SalePlan::bias(seed)?;
    let keys = room.own_keys()?.unwrap_or_else(|| KeyRing::new(TokenKey::random()));
    raise_file_limit();
    let clock = SystemClock::new();
    let plan = SalePlan::new(clock.now(), prequeue);
    let server = Closed::new(plan.config(room, keys, seed)?).open(Server::ANYWHERE)?;
    let crowd = crowd.of_sale(room, plan.promise(room));
    let witness = crowd.witness();
    let news = format!("{} on http://{}, seed {seed}", crowd.story(), server.address());
    let (_scene, shown) = watch::channel(Scene { room: server.handle().room(), news });
    sleep(plan.opens.since(clock.now())).await;
    crowd.visit(&[server.address()], shown).await;
    server.handle().end_push_streams();
    let form = if order.options.json { Form::Json } else { Form::Table };
    Ok(Outcome::of_sale(&witness, seed, form, bias))
}

/// Kills the server at the planned time, and starts another on the same address, without its state.
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
    let hold = config.room().map_or(Duration::ZERO, |rules| rules.timing().recovery_pause());
    let room = Closed::new(config);
    while !witness.restarted(hold) {
        // The requests under way cannot reach a server, so they fail within a moment.
        sleep(Duration::from_millis(1)).await;
    }
    let server = room.open(address)?;
    let news = format!("another server listens on http://{address} with the same keys");
    scene.send_replace(Scene { room: server.handle().room(), news });
    Ok(server)
}

/// The planned restart, if there is one.
fn restart(room: &RoomArgs, order: &CrowdOrder, crowd: &Crowd) -> Result<Option<Restart>, String> {
    let Some(at) = order.options.restart_at else { return Ok(None) };
    let over = crowd.over();
    if at >= over {
        return Err(format!("--restart-at is {at:?}, expected less than {over:?}"));
    }
    let recovery = room.recovery.unwrap_or(RecoveryName::Pause);
    Ok(Some(Restart { at, recovery }))
}

fn with_recovery(room: &RoomArgs, recovery: RecoveryName) -> RoomArgs {
    RoomArgs { recovery: Some(recovery), ..room.clone() }
}

/// Raises the limit of open files. Each visitor has a connection, and both of its ends are in this
/// process.
fn raise_file_limit() {
    if let Err(error) = rlimit::increase_nofile_limit(FILES) {
        tracing::warn!(%error, "the limit of open files cannot be raised");
    }
}

/// The time without a server, long enough for visitors to notice.
const DOWN: Duration = Duration::from_secs(1);

/// Two open files for each visitor of the largest crowd, and some spare ones.
const FILES: u64 = 16_384;
