//! A server that can be killed: what a crowd visits.
//!
//! It has a runtime of its own, so that to kill it is one step that leaves nothing: no task, no
//! connection, no socket, no memory of the room. What is left to its successor is what a real
//! process would leave: the address, the keys, and the tokens in the hands of the visitors.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpSocket},
    runtime::{Builder, Runtime},
    task,
};
use tower_waiting_room::{WaitingRoomConfig, WaitingRoomHandle, WaitingRoomLayer};

use crate::app::app;

/// A room that exists, and does not serve yet.
#[derive(Debug)]
pub(crate) struct Closed {
    room: WaitingRoomLayer,
}

/// A shop that serves.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    handle: WaitingRoomHandle,
    /// Taken when the server ends.
    runtime: Option<Runtime>,
}

impl Closed {
    /// A new room, empty.
    pub(crate) fn new(config: WaitingRoomConfig) -> Self {
        Self { room: WaitingRoomLayer::new(config) }
    }

    /// Serves on `address`; port 0 is any free one.
    pub(crate) fn open(self, address: SocketAddr) -> io::Result<Server> {
        let handle = self.room.handle();
        let runtime = Builder::new_multi_thread().thread_name("server").enable_all().build()?;
        let inside = runtime.enter();
        let listener = listen(address)?;
        let address = listener.local_addr()?;
        let app = app(self.room);
        runtime.spawn(async move {
            let service = app.into_make_service_with_connect_info::<SocketAddr>();
            if let Err(error) = axum::serve(listener, service).await {
                tracing::error!(%error, "the server has stopped");
            }
        });
        drop(inside);
        Ok(Server { address, handle, runtime: Some(runtime) })
    }
}

impl Server {
    /// Some free port of this machine.
    pub(crate) const ANYWHERE: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The operator's view of its room.
    pub(crate) fn handle(&self) -> WaitingRoomHandle {
        self.handle.clone()
    }

    /// Ends it at once, in the middle of whatever it does. The address is free afterwards.
    pub(crate) async fn kill(mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        let killed = task::spawn_blocking(move || runtime.shutdown_timeout(MAX_SHUTDOWN));
        if let Err(error) = killed.await {
            tracing::error!(%error, "the server was not killed");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A runtime that waits for its tasks must not be dropped where one may not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Like `TcpListener::bind`, which cannot be called where one may not wait.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// No task of the server blocks, so it ends much sooner.
const MAX_SHUTDOWN: Duration = Duration::from_secs(5);

/// So many connections may wait to be accepted: a crowd comes at once.
const BACKLOG: u32 = 1024;
