//! The commands of the program.

use std::{error::Error, time::Duration};

use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::{
    net::TcpListener,
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};
use tracing_subscriber::EnvFilter;

use super::arguments::{Arguments, Command, KeeperOf, Operator, Recover, Serve, SetUp};
use crate::{
    escrow::{Epoch, KeptAccount, Standing, Term},
    holder::{Holder, HolderHandle, HolderTimes, Order},
    keeper::{Corrections, Kept, PostgresKeeper},
    link::{OperatorError, OperatorLink, TcpDial},
    server::{LedgerServer, ServerKeys},
    slots::SiteId,
    wire::SharedKeys,
};

/// An error that ends the program.
type Failure = Box<dyn Error + Send + Sync>;

/// Runs a command.
pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::SetUp(set_up) => run_set_up(set_up).await,
        Command::Serve(serve) => run_serve(serve).await,
        Command::Recover(recover) => run_recover(recover).await,
        Command::Status(operator) => give(&operator, Order::Status).await,
        Command::AddSite(of) => give(&of.operator, Order::AddSite(SiteId::new(of.site))).await,
        Command::Drain(of) => give(&of.operator, Order::Drain(SiteId::new(of.site))).await,
        Command::Remove(of) => give(&of.operator, Order::Remove(SiteId::new(of.site))).await,
        Command::Fence(of) => {
            give(&of.operator, Order::Fence(SiteId::new(of.site), of.epoch)).await
        }
        Command::SetLimit(of) => give(&of.operator, Order::SetLimit(of.limit)).await,
    }
}

async fn run_set_up(set_up: SetUp) -> Result<(), Failure> {
    let SetUp { keeper, room, world, first_term } = set_up;
    let rules = world.rules()?;
    // The first ledger takes over with the term after this one.
    let (limit, sites) = world.limit_and_sites()?;
    let mut kept = Kept::new(Term::new(first_term - 1), limit, rules);
    let account = KeptAccount::new(Epoch::default(), Standing::Away);
    kept.accounts = sites.into_iter().map(|site| (site, account)).collect();
    postgres(&keeper, &room, "set-up").set_up(&kept).await?;
    let sites = kept.accounts.len();
    println!("room {room} is set up: limit {limit}, {sites} sites");
    if let Some(warning) = rules.lease_warning() {
        println!("{warning}");
    }
    Ok(())
}

async fn run_recover(recover: Recover) -> Result<(), Failure> {
    let Recover { keeper, room, add_site, fence, limit, first_term } = recover;
    let mut corrections = Corrections::new();
    corrections = add_site.into_iter().map(SiteId::new).fold(corrections, Corrections::add_site);
    corrections = fence.into_iter().map(SiteId::new).fold(corrections, Corrections::fence);
    if let Some(limit) = limit {
        corrections = corrections.limit(limit);
    }
    if let Some(term) = first_term {
        corrections = corrections.first_term(Term::new(term));
    }
    let kept = postgres(&keeper, &room, "recover").recover(&corrections).await?;
    println!("the next ledger of room {room} learns from the sites before it grants anything");
    println!("limit {}, sites {}", kept.limit, listed(&kept, |_| true));
    let fenced = listed(&kept, KeptAccount::is_fenced);
    if !fenced.is_empty() {
        println!("fenced: {fenced}");
    }
    Ok(())
}

/// Lists the numbers of the sites whose accounts are chosen.
fn listed(kept: &Kept, is_chosen: impl Fn(&KeptAccount) -> bool) -> String {
    let chosen = kept.accounts.iter().filter(|(_, account)| is_chosen(account));
    let numbers: Vec<_> = chosen.map(|(site, _)| site.number().to_string()).collect();
    numbers.join(", ")
}

async fn run_serve(serve: Serve) -> Result<(), Failure> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let keys = ServerKeys::read(&serve.site_keys, serve.operator_keys.as_deref())?;
    if let Some(address) = serve.metrics {
        // The exporter has to precede the holders, which describe the metrics.
        let exporter = PrometheusBuilder::new().with_http_listener(address);
        exporter.install().map_err(|error| format!("metrics is {address}: {error}"))?;
    }
    let (stop, stopped) = watch::channel(false);
    let mut rooms = Vec::new();
    let mut holders = JoinSet::new();
    for room in &serve.room {
        let keeper = postgres(&serve.keeper, room, &serve.name);
        let handle = hold(room, keeper, &mut holders, stopped.clone()).await?;
        rooms.push((room.clone(), handle));
    }
    let listener = TcpListener::bind(&serve.listen)
        .await
        .map_err(|error| format!("listen is {:?}: {error}", serve.listen))?;
    println!("listens on {}", listener.local_addr()?);
    let server = LedgerServer::new(rooms, keys);
    let ended = tokio::select! {
        ended = server.listen(&listener) => ended.map_err(Failure::from),
        () = stop_signal() => Ok(()),
    };
    stop.send_replace(true);
    while holders.join_next().await.is_some() {}
    ended
}

/// Checks the keeper, so that the program does not start with an unfit one, and begins to stand by.
async fn hold(
    room: &str,
    keeper: PostgresKeeper,
    holders: &mut JoinSet<()>,
    mut stopped: watch::Receiver<bool>,
) -> Result<HolderHandle, Failure> {
    let (mut holder, handle) = Holder::new(room, keeper, HolderTimes::default());
    holder.check().await?;
    holders.spawn(holder.run(async move {
        // The program ends if the sender is gone.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }));
    Ok(handle)
}

/// Gives an order to the holder, and prints the result.
async fn give(operator: &Operator, order: Order) -> Result<(), Failure> {
    let keys = SharedKeys::read(&operator.operator_keys)?;
    let addresses = operator.ledgers.iter().cloned();
    let link = OperatorLink::new(TcpDial::new(), addresses, &operator.room, keys);
    let end = Instant::now() + operator.wait;
    loop {
        match link.order(order).await {
            Ok(result) => {
                print!("{result}");
                return Ok(());
            }
            Err(OperatorError::Unreachable(_)) if Instant::now() < end => sleep(LOOK).await,
            Err(error) => return Err(error.into()),
        }
    }
}

fn postgres(keeper: &KeeperOf, room: &str, name: &str) -> PostgresKeeper {
    PostgresKeeper::new(&keeper.keeper, keeper.failover.into(), room, name)
}

/// Completes when the program is told to stop.
async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};

    let interrupted = tokio::signal::ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminated) => tokio::select! {
            _ = interrupted => {}
            _ = terminated.recv() => {}
        },
        Err(_) => drop(interrupted.await),
    }
}

/// The pause between two attempts to reach the holder.
const LOOK: Duration = Duration::from_millis(100);
