//! A server that can be killed while a crowd visits it.
//!
//! The server has a runtime of its own, so that killing it is one step that leaves nothing behind:
//! no task, no connection, no socket, and no state of the room. Its successor inherits what a real
//! process would leave: the address, the keys, and the tokens that the visitors hold.

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

/// A room that exists, but is not served yet.
#[derive(Debug)]
pub(crate) struct Closed {
    room: WaitingRoomLayer,
}

/// A shop that is being served.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    handle: WaitingRoomHandle,
    /// Always `Some` until the server is killed or dropped.
    runtime: Option<Runtime>,
}

impl Closed {
    /// Creates an empty room.
    pub(crate) fn new(config: WaitingRoomConfig) -> Self {
        Self { room: WaitingRoomLayer::new(config) }
    }

    /// Serves on `address`. Port 0 selects a free port.
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
    /// Any free port of this machine.
    pub(crate) const ANYWHERE: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The operator's handle on the layer.
    pub(crate) fn handle(&self) -> WaitingRoomHandle {
        self.handle.clone()
    }

    /// Kills the server at once, without completing any request. The address is free afterwards.
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
        // Dropping a runtime waits for its tasks, and panics in an async context.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Like `TcpListener::bind`, but synchronous.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The maximum time for the shutdown. No task of the server blocks, so it takes much less.
const MAX_SHUTDOWN: Duration = Duration::from_secs(5);

/// The number of connections that may wait to be accepted, since a crowd connects all at once.
const BACKLOG: u32 = 1024;
