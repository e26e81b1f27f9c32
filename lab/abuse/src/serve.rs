//! The service under attack, in a process of its own.
//!
//! Each configuration file becomes a layer; the first file is the outermost layer. A second port,
//! outside all layers, serves the numbers.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, Result};
use axum::{
    Json, Router,
    body::Body,
    extract::{ConnectInfo, State},
    routing::{any, get, post},
};
use bytes::Bytes;
use clap::Args;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, stdin},
    net::TcpListener,
    select,
};
use tower_waiting_room::{StoreFailure, WaitingRoomHandle, WaitingRoomLayer, room::Visit};

use crate::{ledger, settings::configured};

/// The command line of the service.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServeOrder {
    /// The address of the service; the numbers are served on another port.
    #[arg(long)]
    pub(crate) listen: SocketAddr,
    /// A configuration file; can be repeated, and the first file is the outermost layer.
    #[arg(long, required = true)]
    pub(crate) config: Vec<PathBuf>,
    /// The server that keeps the room, if the service is a site of several.
    #[arg(long, requires = "ledger")]
    pub(crate) store: Option<String>,
    /// The address of the ledger of these sites.
    #[arg(long)]
    pub(crate) ledger: Option<String>,
}

/// The state of the service, as served on the second port.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Numbers {
    /// The number of handler runs, by the address of the client.
    pub(crate) runs: BTreeMap<IpAddr, u64>,
    /// The rooms by name.
    pub(crate) rooms: BTreeMap<String, RoomNumbers>,
    /// The gates by name.
    pub(crate) gates: BTreeMap<String, GateNumbers>,
    pub(crate) misconfigurations: Vec<String>,
}

/// The numbers of one room.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(crate) struct RoomNumbers {
    pub(crate) active: u32,
    pub(crate) waiting: u32,
}

/// The numbers of one gate.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(crate) struct GateNumbers {
    pub(crate) in_flight: u32,
    pub(crate) queued: u32,
}

#[derive(Clone, Default)]
struct App {
    runs: Arc<Mutex<BTreeMap<IpAddr, u64>>>,
    rooms: Vec<WaitingRoomHandle>,
}

/// Serves until standard input is closed.
///
/// Prints both addresses to standard output once it is ready: the address of the service, then that
/// of the numbers.
pub(crate) async fn serve(order: ServeOrder) -> Result<()> {
    let mut layers = Vec::new();
    for path in &order.config {
        layers.push(layer(path, &order).await?);
    }
    let rooms = layers.iter().map(WaitingRoomLayer::handle).collect();
    let app = App { rooms, ..App::default() };
    let service = Router::new()
        .route("/leave", get(leave))
        .route("/download", get(download))
        .route("/upload", post(upload))
        .fallback(any(welcome))
        .with_state(app.clone());
    let service = layers.into_iter().rev().fold(service, |service, layer| service.layer(layer));
    let numbers = Router::new().route("/numbers", get(numbers)).with_state(app);
    let open = TcpListener::bind(order.listen).await?;
    let admin = TcpListener::bind(order.listen).await?;
    println!("{} {}", open.local_addr()?, admin.local_addr()?);
    let service = service.into_make_service_with_connect_info::<SocketAddr>();
    select! {
        served = async { axum::serve(open, service).await } => Ok(served?),
        served = async { axum::serve(admin, numbers).await } => Ok(served?),
        _ = async { stdin().read(&mut [0]).await } => Ok(()),
    }
}

async fn layer(path: &Path, order: &ServeOrder) -> Result<WaitingRoomLayer> {
    let mut config = configured(path)?;
    if let (Some(store), Some(ledger)) = (&order.store, &order.ledger) {
        let rules = config.room().context("a site has a room")?.clone();
        let store = ledger::join(rules, store, ledger.clone()).await?;
        config = config.into_builder().room_store(store, StoreFailure::Wait).build()?;
    }
    Ok(WaitingRoomLayer::new(config))
}

/// Answers every path and every method, including preflights.
async fn welcome(
    State(app): State<App>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
) -> &'static str {
    app.ran(from);
    "Welcome to the shop."
}

/// Ends the session, which frees its slot.
async fn leave(visit: Option<Visit>) -> &'static str {
    if let Some(visit) = visit {
        visit.end();
    }
    "Good-bye."
}

/// Sends 16 MiB in chunks, more than the buffers of a connection can hold.
async fn download(State(app): State<App>, ConnectInfo(from): ConnectInfo<SocketAddr>) -> Body {
    app.ran(from);
    let pieces = (0..PIECES).map(|_| Ok::<_, Infallible>(Bytes::from_static(&PIECE)));
    Body::from_stream(stream::iter(pieces))
}

/// Reads the whole body.
async fn upload(body: Bytes) -> String {
    format!("{} bytes", body.len())
}

async fn numbers(State(app): State<App>) -> Json<Numbers> {
    let mut numbers = Numbers { runs: app.counted(), ..Numbers::default() };
    for handle in &app.rooms {
        if let Some(room) = handle.room()
            && let Ok(now) = room.snapshot().await
        {
            let name = room.rules().name.clone();
            numbers.rooms.insert(name, RoomNumbers { active: now.active, waiting: now.waiting });
        }
        for gate in handle.gates() {
            let (in_flight, queued) = gate
                .snapshots()
                .iter()
                .fold((0, 0), |(runs, waits), gate| (runs + gate.in_flight, waits + gate.queued));
            numbers.gates.insert(gate.name().to_owned(), GateNumbers { in_flight, queued });
        }
        let found = handle
            .misconfigurations()
            .into_iter()
            .map(|misconfiguration| format!("{misconfiguration:?}"));
        numbers.misconfigurations.extend(found);
    }
    Json(numbers)
}

impl App {
    fn ran(&self, from: SocketAddr) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        *runs.entry(from.ip()).or_default() += 1;
    }

    fn counted(&self) -> BTreeMap<IpAddr, u64> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

static PIECE: [u8; 16 * 1024] = [b'.'; 16 * 1024];
const PIECES: u32 = 1_024;
