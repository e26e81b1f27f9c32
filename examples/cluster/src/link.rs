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
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
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
pub struct Link {
    address: SocketAddr,
    state: watch::Sender<State>,
    carried: Arc<[AtomicU64; 2]>,
    /// Always `Some` until the link is dropped.
    runtime: Option<Runtime>,
}

/// What happens to the bytes on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weather {
    /// They are carried.
    Clear,
    /// Existing and new connections are closed.
    Cut,
    /// They vanish without an error. A connection that exists in this weather stays dead, as if a
    /// firewall on the way had dropped its state; a connection that is made later works.
    Deaf,
    /// They vanish in one direction, also on connections that are made meanwhile.
    DeafOneWay(Direction),
    /// They are carried with this additional delay in each direction.
    Slow(Duration),
    /// They are carried with an additional delay between these two, which depends on the number of
    /// the piece. They stay in order.
    Jitter(Duration, Duration),
    /// They are held back.
    Still,
}

/// A direction on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Direction {
    /// From clients to the server.
    There,
    /// From the server to clients.
    Back,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    target: SocketAddr,
    /// The delay of each byte in one direction, in clear weather.
    delay: Duration,
    weather: Weather,
}

impl Link {
    /// A link to a server, with the given round-trip time.
    ///
    /// # Errors
    ///
    /// No port can be used, or no thread be started.
    pub fn to(target: SocketAddr, round_trip: Duration) -> io::Result<Self> {
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
        let counts = Arc::clone(&carried);
        runtime.spawn(async move { serve(TcpListener::from_std(listener)?, seen, counts).await });
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

    /// How much the link has carried so far.
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

async fn serve(
    listener: TcpListener,
    state: watch::Receiver<State>,
    carried: Arc<[AtomicU64; 2]>,
) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(carry(stream, state.clone(), Arc::clone(&carried)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Carries one connection until one of its ends, or the weather, closes it.
async fn carry(
    near: TcpStream,
    state: watch::Receiver<State>,
    carried: Arc<[AtomicU64; 2]>,
) -> io::Result<()> {
    let State { target, weather, .. } = *state.borrow();
    if weather == Weather::Cut {
        return Ok(());
    }
    let far = TcpStream::connect(target).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let ((near_read, near_write), (far_read, far_write)) = (near.into_split(), far.into_split());
    let [there, back] = &*carried;
    let there = Pump { direction: Direction::There, target, state: state.clone(), carried: there };
    let back = Pump { direction: Direction::Back, target, state, carried: back };
    select! {
        there = there.run(near_read, far_write) => there,
        back = back.run(far_read, near_write) => back,
    }
}

/// One direction of a connection.
struct Pump<'a> {
    direction: Direction,
    target: SocketAddr,
    state: watch::Receiver<State>,
    carried: &'a AtomicU64,
}

impl Pump<'_> {
    async fn run(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        let mut under_way: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
        let weather = self.state.borrow_and_update().weather;
        let mut is_deaf = self.is_deaf(weather);
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
                changed = self.state.changed() => {
                    let State { target: now, weather, .. } = *self.state.borrow_and_update();
                    if changed.is_err() || now != self.target || weather == Weather::Cut {
                        return Ok(());
                    }
                    is_deaf |= self.is_deaf(weather);
                    continue;
                }
            };
            if read == 0 {
                return Ok(());
            }
            let State { delay, weather, .. } = *self.state.borrow();
            is_deaf |= self.is_deaf(weather);
            if weather == Weather::Still {
                drop(self.state.wait_for(|state| state.weather != Weather::Still).await);
            }
            if is_deaf {
                continue;
            }
            let number = self.carried.fetch_add(1, Ordering::Relaxed);
            let delay = delay + weather.delay(number);
            if delay.is_zero() && under_way.is_empty() {
                to.write_all(&buffer[..read]).await?;
            } else {
                under_way.push_back((Instant::now() + delay, buffer[..read].to_vec()));
            }
        }
    }

    /// Returns whether a connection loses what is sent in this direction from now on.
    fn is_deaf(&self, weather: Weather) -> bool {
        weather == Weather::Deaf || weather == Weather::DeafOneWay(self.direction)
    }
}

impl Weather {
    /// The additional delay of the piece with this number.
    fn delay(self, number: u64) -> Duration {
        match self {
            Self::Slow(late) => late,
            Self::Jitter(least, most) => {
                Xoshiro256PlusPlus::seed_from_u64(number).random_range(least..=most)
            }
            Self::Clear | Self::Cut | Self::Deaf | Self::DeafOneWay(_) | Self::Still => {
                Duration::ZERO
            }
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
    async fn one_direction_is_lost_while_the_other_one_works() {
        let link = Link::to(echo().await, Duration::ZERO).unwrap();
        for direction in [Direction::There, Direction::Back] {
            let before = link.carried();
            link.set(Weather::DeafOneWay(direction));
            let mut stream = TcpStream::connect(link.address()).await.unwrap();
            assert!(!says(&mut stream, b"ding").await);
            let after = link.carried();
            let arrived = after.there - before.there;
            assert_eq!(arrived, u64::from(direction == Direction::Back), "{direction:?}");
            assert_eq!(after.back, before.back, "{direction:?}");
            link.set(Weather::Clear);
            let mut stream = TcpStream::connect(link.address()).await.unwrap();
            assert!(says(&mut stream, b"dong").await);
        }
    }

    #[tokio::test]
    async fn jitter_delays_every_piece_and_keeps_the_order() {
        let link = Link::to(echo().await, Duration::ZERO).unwrap();
        let mut stream = TcpStream::connect(link.address()).await.unwrap();
        let (least, most) = (Duration::from_millis(5), Duration::from_millis(30));
        link.set(Weather::Jitter(least, most));
        let asked = Instant::now();
        for word in [b"ding", b"dong", b"bell"] {
            stream.write_all(word).await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut heard = [0; 12];
        stream.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"dingdongbell");
        assert!(asked.elapsed() >= 2 * least);
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
