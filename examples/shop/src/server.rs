//! The server: the shop, its metrics, and the operator's dashboard.

use std::{
    env,
    error::Error,
    io,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use rand::{TryRng, rngs::SysRng};
use shop::app;
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle, time};
use tower_waiting_room::{WaitingRoomHandle, WaitingRoomLayer};
use waiting_room_dashboard::{Dashboard, basic_auth};

use crate::{
    cli::Cli,
    metrics,
    otlp::{Collector, Exports},
};

/// A shop that is open.
pub(crate) struct Server {
    /// The address for visitors on this machine.
    pub(crate) address: SocketAddr,
    /// The password of the dashboard, if there is a dashboard.
    pub(crate) password: Option<String>,
    room: WaitingRoomHandle,
    exports: Option<Exports>,
    serving: JoinHandle<io::Result<()>>,
    stop: oneshot::Sender<()>,
}

impl Server {
    /// Opens the shop of this command line.
    pub(crate) async fn open(cli: &Cli) -> Result<Self, Box<dyn Error>> {
        let config = cli.config()?;
        let collector = match &cli.otlp {
            Some(collector) => Some(collector.clone()),
            None => Collector::from_environment()?,
        };
        let listener = TcpListener::bind(cli.listen).await.map_err(|error| {
            let Cli { listen, .. } = cli;
            format!("{listen}: {error}; set another address, such as --listen 127.0.0.1:3001")
        })?;
        let mut address = listener.local_addr()?;
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        let (prometheus, exports) = metrics::install(collector.as_ref())?;
        let room = WaitingRoomLayer::new(config);
        let handle = room.handle();
        let metrics = metrics::route(prometheus, handle.clone());
        let password = if cli.has_dashboard() { Some(password()?) } else { None };
        let auth = password.as_ref().map(|password| basic_auth("admin", password)).transpose()?;
        let dashboard = auth.map(|auth| Dashboard::new(handle.clone(), auth));
        let shop = app(room).merge(metrics);
        // The dashboard is outside of the room, so the operator does not wait in line.
        let shop = match &dashboard {
            Some(dashboard) => shop.nest_service("/admin", dashboard.router()),
            None => shop,
        };
        let (stop, stopped) = oneshot::channel();
        let stopped = async move {
            _ = stopped.await;
            // An open page of the dashboard would otherwise delay the end by up to a minute.
            if let Some(dashboard) = dashboard {
                dashboard.end_streams();
            }
        };
        let shop = shop.into_make_service_with_connect_info::<SocketAddr>();
        let serving = axum::serve(listener, shop).with_graceful_shutdown(stopped);
        let serving = tokio::spawn(serving.into_future());
        Ok(Self { address, password, room: handle, exports, serving, stop })
    }

    /// Waits until this many visitors are in line, but for no longer than ten seconds.
    pub(crate) async fn has_line(&self, of: u32) {
        let stands = async {
            while let Some(room) = self.room.room()
                && room.snapshot().await.is_ok_and(|seen| seen.waiting < of)
            {
                time::sleep(Duration::from_millis(50)).await;
            }
        };
        _ = time::timeout(Duration::from_secs(10), stands).await;
    }

    /// Completes the running requests and the exports of metrics.
    pub(crate) async fn close(self) -> Result<(), Box<dyn Error>> {
        drop(self.stop);
        self.serving.await??;
        if let Some(exports) = self.exports {
            exports.close().await;
        }
        Ok(())
    }
}

/// The password of the operator: that of the environment, or a random one.
fn password() -> Result<String, Box<dyn Error>> {
    let random = SysRng.try_next_u64()?;
    Ok(env::var("SHOP_ADMIN_PASSWORD").unwrap_or_else(|_| format!("{random:016x}")))
}
