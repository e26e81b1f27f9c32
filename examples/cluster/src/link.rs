//! A TCP proxy between two programs on this machine, which can be cut, delayed or stalled.
//!
//! ```text
//!  node ═══► Link ═══► store          bytes that enter at one end leave at the other,
//!             │                       if the weather allows it
//!          weather
//! ```

use std::{
    collections::VecDeque,
    future::pending,
    io,
    net::{self, Ipv4Addr, SocketAddr},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    runtime::{Builder, Runtime},
    select,
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep_until},
};

/// Carries connections to a server until it is dropped.
///
/// It has a thread of its own, so that a crowd that keeps the other threads busy does not look like
/// a slow network.
#[derive(Debug)]
pub(crate) struct Link {
    address: SocketAddr,
    state: watch::Sender<State>,
    /// Always `Some` until the link is dropped.
    runtime: Option<Runtime>,
}

/// What happens to the bytes on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    /// They are carried.
    Clear,
    /// Existing and new connections are closed.
    Cut,
    /// They vanish without an error. A connection that exists in this weather stays dead, as if a
    /// firewall on the way had dropped its state; a connection that is made later works.
    Deaf,
    /// They are carried with this additional delay in each direction.
    Slow(Duration),
    /// They are held back.
    Still,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    target: SocketAddr,
    /// The delay of each byte in one direction, in clear weather.
    delay: Duration,
    weather: Weather,
}

impl Link {
    /// A link to a server, with the given round-trip time.
    pub(crate) fn to(target: SocketAddr, round_trip: Duration) -> io::Result<Self> {
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
        runtime.spawn(async move { serve(TcpListener::from_std(listener)?, seen).await });
        Ok(Self { address, state, runtime: Some(runtime) })
    }

    /// The address that clients connect to instead of the server.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the weather, also for existing connections.
    pub(crate) fn set(&self, weather: Weather) {
        self.state.send_modify(|state| state.weather = weather);
    }

    /// Redirects the link to another server. Connections to the old one are closed.
    pub(crate) fn lead_to(&self, target: SocketAddr) {
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

async fn serve(listener: TcpListener, state: watch::Receiver<State>) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(carry(stream, state.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Carries one connection until one of its ends, or the weather, closes it.
async fn carry(near: TcpStream, state: watch::Receiver<State>) -> io::Result<()> {
    let State { target, weather, .. } = *state.borrow();
    if weather == Weather::Cut {
        return Ok(());
    }
    let far = TcpStream::connect(target).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let ((near_read, near_write), (far_read, far_write)) = (near.into_split(), far.into_split());
    select! {
        there = pump(near_read, far_write, target, state.clone()) => there,
        back = pump(far_read, near_write, target, state) => back,
    }
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    target: SocketAddr,
    mut state: watch::Receiver<State>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut under_way: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut is_deaf = state.borrow_and_update().weather == Weather::Deaf;
    loop {
        let arrives = under_way.front().map(|(at, _)| *at);
        let read = select! {
            read = from.read(&mut buffer), if under_way.len() < MAX_UNDER_WAY => read?,
            () = arrive(arrives) => {
                if let Some((_, bytes)) = under_way.pop_front() {
                    to.write_all(&bytes).await?;
                }
                continue;
            }
            changed = state.changed() => {
                let State { target: now, weather, .. } = *state.borrow_and_update();
                if changed.is_err() || now != target || weather == Weather::Cut {
                    return Ok(());
                }
                is_deaf |= weather == Weather::Deaf;
                continue;
            }
        };
        if read == 0 {
            return Ok(());
        }
        let State { delay, weather, .. } = *state.borrow();
        is_deaf |= weather == Weather::Deaf;
        let late = match weather {
            Weather::Slow(late) => late,
            Weather::Still => {
                drop(state.wait_for(|state| state.weather != Weather::Still).await);
                Duration::ZERO
            }
            Weather::Clear | Weather::Cut | Weather::Deaf => Duration::ZERO,
        };
        if is_deaf {
            continue;
        }
        if (delay + late).is_zero() && under_way.is_empty() {
            to.write_all(&buffer[..read]).await?;
        } else {
            under_way.push_back((Instant::now() + delay + late, buffer[..read].to_vec()));
        }
    }
}

/// Sleeps until `at`. Never completes if no bytes are under way.
async fn arrive(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

/// The maximum number of chunks under way in one direction. Beyond it, nothing more is read.
const MAX_UNDER_WAY: usize = 4_096;
const BUFFER: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    /// A server that echoes every byte.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    tokio::io::copy(&mut read, &mut write).await
                });
            }
        });
        address
    }

    async fn says(stream: &mut TcpStream, word: &[u8; 4]) -> bool {
        let mut heard = [0; 4];
        stream.write_all(word).await.unwrap();
        let heard_it = timeout(SOON, stream.read_exact(&mut heard)).await;
        matches!(heard_it, Ok(Ok(_))) && heard == *word
    }

    #[tokio::test]
    async fn a_connection_that_was_deaf_once_is_deaf_for_ever_and_a_new_one_is_not() {
        let link = Link::to(echo().await, Duration::ZERO).unwrap();
        let mut old = TcpStream::connect(link.address()).await.unwrap();
        assert!(says(&mut old, b"ding").await);
        link.set(Weather::Deaf);
        assert!(!says(&mut old, b"dong").await);
        link.set(Weather::Clear);
        assert!(!says(&mut old, b"bell").await);
        let mut new = TcpStream::connect(link.address()).await.unwrap();
        assert!(says(&mut new, b"ding").await);
    }

    #[tokio::test]
    async fn what_is_held_back_comes_later_and_what_is_slow_comes_late() {
        let link = Link::to(echo().await, Duration::ZERO).unwrap();
        let mut stream = TcpStream::connect(link.address()).await.unwrap();
        link.set(Weather::Still);
        assert!(!says(&mut stream, b"ding").await);
        link.set(Weather::Clear);
        let mut heard = [0; 4];
        stream.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"ding");
        let late = Duration::from_millis(20);
        link.set(Weather::Slow(late));
        let asked = Instant::now();
        assert!(says(&mut stream, b"dong").await && asked.elapsed() >= 2 * late);
    }

    #[tokio::test]
    async fn a_link_takes_its_time_and_carries_meanwhile() {
        let link = Link::to(echo().await, SOON / 2).unwrap();
        let mut stream = TcpStream::connect(link.address()).await.unwrap();
        let asked = Instant::now();
        for word in [b"ding", b"dong", b"bell"] {
            stream.write_all(word).await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut heard = [0; 12];
        stream.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"dingdongbell");
        assert!(asked.elapsed() >= SOON / 2);
    }

    #[tokio::test]
    async fn a_cut_and_another_target_close_what_is_open() {
        let link = Link::to(echo().await, Duration::ZERO).unwrap();
        let mut stream = TcpStream::connect(link.address()).await.unwrap();
        assert!(says(&mut stream, b"ding").await);
        link.set(Weather::Cut);
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        link.set(Weather::Clear);
        let mut stream = TcpStream::connect(link.address()).await.unwrap();
        assert!(says(&mut stream, b"ding").await);
        link.lead_to(echo().await);
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    }

    const SOON: Duration = Duration::from_millis(200);
}
