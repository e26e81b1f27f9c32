//! The way to a server.

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

/// A way on which everything can vanish, with the connections left open at both ends.
pub(crate) struct Link {
    pub(crate) port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Connections that were made before so many times of vanishing are deaf.
    vanished: AtomicU32,
    /// All connections are deaf, also those that are still to be made.
    is_cut: AtomicBool,
    /// Ends the connections that there are.
    dropped: Notify,
    /// Each byte takes so long in each direction.
    delay: Duration,
}

impl Link {
    pub(crate) async fn to(server: u16) -> Self {
        Self::with_round_trip(server, Duration::ZERO).await
    }

    /// A way there and back that takes this long.
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

    /// From now on nothing comes through on the connections that there are.
    pub(crate) fn vanish(&self) {
        self.state.vanished.fetch_add(1, Ordering::Relaxed);
    }

    /// Closes the connections that there are.
    pub(crate) fn drop_connections(&self) {
        self.state.dropped.notify_waiters();
    }

    /// From now on nothing comes through at all.
    pub(crate) fn cut(&self) {
        self.state.is_cut.store(true, Ordering::Relaxed);
    }

    /// What is sent from now on comes through again.
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
