//! A TCP proxy between two programs on this machine, which can be cut, delayed or stalled.
//!
//! ```text
//!  node ═══► Link ═══► store          bytes that enter at one end leave at the other,
//!             │ │                     if the weather allows it
//!       weather tap
//! ```

mod pump;
#[cfg(test)]
mod tests;
mod weather;

use std::{
    io,
    net::{self, Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::watch,
};

pub use self::{
    pump::{Listener, Listeners, Tap},
    weather::{Direction, Weather},
};
use self::{
    pump::{Shared, serve},
    weather::State,
};

/// Carries connections to a server until it is dropped.
///
/// It has a thread of its own, so that a crowd that keeps the other threads busy does not look like
/// a slow network.
#[derive(Debug)]
pub struct Link {
    address: SocketAddr,
    state: watch::Sender<State>,
    carried: Arc<[AtomicU64; 2]>,
    /// Always `Some` until the link is dropped.
    runtime: Option<Runtime>,
}

/// The number of pieces that a link has carried. A piece is what one end has sent at once, as far as
/// TCP preserves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Carried {
    /// From clients to the server.
    pub there: u64,
    /// From the server to clients.
    pub back: u64,
}

impl Link {
    /// A link to a server, with the given round-trip time.
    ///
    /// # Errors
    ///
    /// No port can be used, or no thread be started.
    pub fn to(target: SocketAddr, round_trip: Duration) -> io::Result<Self> {
        Self::open(target, round_trip, None)
    }

    /// The same, with a tap that hears what both ends send.
    ///
    /// # Errors
    ///
    /// Those of [`to`](Self::to).
    pub fn tapped(target: SocketAddr, round_trip: Duration, tap: Arc<dyn Tap>) -> io::Result<Self> {
        Self::open(target, round_trip, Some(tap))
    }

    fn open(
        target: SocketAddr,
        round_trip: Duration,
        tap: Option<Arc<dyn Tap>>,
    ) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("link")
            .enable_all()
            .build()?;
        let listener = net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let delay = round_trip / 2;
        let (state, seen) = watch::channel(State { target, delay, weather: Weather::Clear });
        let carried = Arc::new([const { AtomicU64::new(0) }; 2]);
        let shared = Shared { state: seen, carried: Arc::clone(&carried), tap };
        runtime.spawn(async move { serve(TcpListener::from_std(listener)?, shared).await });
        Ok(Self { address, state, carried, runtime: Some(runtime) })
    }

    /// The address that clients connect to instead of the server.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the weather, also for existing connections.
    pub fn set(&self, weather: Weather) {
        self.state.send_modify(|state| state.weather = weather);
    }

    /// The number of bytes that the link has carried so far.
    #[must_use]
    pub fn carried(&self) -> Carried {
        let [there, back] = &*self.carried;
        Carried { there: there.load(Ordering::Relaxed), back: back.load(Ordering::Relaxed) }
    }

    /// Redirects the link to another server. Connections to the old one are closed.
    pub fn lead_to(&self, target: SocketAddr) {
        self.state.send_modify(|state| state.target = target);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Dropping a runtime waits for its tasks, and panics in an async context.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
