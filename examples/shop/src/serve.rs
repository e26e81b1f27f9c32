//! Serves the shop until somebody says stop.

use std::{io, net::SocketAddr};

use tokio::{net::TcpListener, signal};
use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer};

use crate::shop;

/// Serves on this address until ctrl-c, then finishes the requests under way.
pub(crate) async fn serve(config: WaitingRoomConfig, listen: SocketAddr) -> io::Result<()> {
    let room = WaitingRoomLayer::new(config);
    let listener = TcpListener::bind(listen).await?;
    eprintln!("the shop is open on http://{}; ctrl-c closes it", listener.local_addr()?);
    axum::serve(listener, shop::app(room)).with_graceful_shutdown(stop()).await
}

/// Waits for ctrl-c, or for what `docker stop` and systemd send.
async fn stop() {
    #[cfg(unix)]
    if let Ok(mut terminate) = signal::unix::signal(signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    // Without a way to be told, it serves until it is killed.
    if signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
