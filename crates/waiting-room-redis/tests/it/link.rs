//! A network link to a server, with faults.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    select,
    sync::{Notify, mpsc},
    time::{Instant, sleep_until},
};

/// A proxy that can lose all data while the connections at both ends stay open.
pub(crate) struct Link {
    pub(crate) port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The number of calls of `vanish`. A connection that was made before the last call is dead.
    vanished: AtomicU32,
    /// Whether all connections are dead, including new ones.
    is_cut: AtomicBool,
    /// Closes all open connections.
    dropped: Notify,
    /// The delay of each byte in each direction.
    delay: Duration,
}

impl Link {
    pub(crate) async fn to(server: u16) -> Self {
        Self::with_round_trip(server, Duration::ZERO).await
    }

    /// Creates a link to a server on this port, with this round trip time.
    pub(crate) async fn with_round_trip(server: u16, round_trip: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { delay: round_trip / 2, ..State::default() });
        let at = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let born = at.vanished.load(Ordering::Relaxed);
                let server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(carry(from_client, to_server, Arc::clone(&at), born));
                tokio::spawn(carry(from_server, to_client, Arc::clone(&at), born));
            }
        });
        Self { port, state }
    }

    /// Loses all data on the connections that are open now; new ones work.
    pub(crate) fn vanish(&self) {
        self.state.vanished.fetch_add(1, Ordering::Relaxed);
    }

    /// Closes the connections that are open now.
    pub(crate) fn drop_connections(&self) {
        self.state.dropped.notify_waiters();
    }

    /// Loses all data on all connections, including new ones.
    pub(crate) fn cut(&self) {
        self.state.is_cut.store(true, Ordering::Relaxed);
    }

    /// Delivers data again from now on.
    pub(crate) fn mend(&self) {
        self.state.is_cut.store(false, Ordering::Relaxed);
    }
}

async fn carry(mut from: OwnedReadHalf, to: OwnedWriteHalf, state: Arc<State>, born: u32) {
    let (under_way, arriving) = mpsc::unbounded_channel();
    tokio::spawn(arrive(arriving, to));
    let mut bytes = vec![0; 16_384];
    loop {
        let read = select! {
            read = from.read(&mut bytes) => read,
            () = state.dropped.notified() => return,
        };
        let Ok(count @ 1..) = read else { return };
        let is_deaf = state.vanished.load(Ordering::Relaxed) != born;
        if is_deaf || state.is_cut.load(Ordering::Relaxed) {
            continue;
        }
        if under_way.send((Instant::now() + state.delay, bytes[..count].to_vec())).is_err() {
            return;
        }
    }
}

async fn arrive(mut arriving: mpsc::UnboundedReceiver<(Instant, Vec<u8>)>, mut to: OwnedWriteHalf) {
    while let Some((at, bytes)) = arriving.recv().await {
        sleep_until(at).await;
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
