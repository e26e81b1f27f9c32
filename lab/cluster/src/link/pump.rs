//! Carries the connections of a link.

use std::{
    collections::VecDeque,
    fmt,
    future::pending,
    io,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
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
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};

use super::weather::{Direction, State, Weather};

/// Hears what the ends of a link send, whatever the weather does to it.
///
/// A server is heard even after its client has gone, for as long as it keeps the connection open, up
/// to a minute.
pub trait Tap: fmt::Debug + Send + Sync + 'static {
    /// Begins to listen to a new connection.
    fn listen(&self) -> Listeners;
}

/// The callback of a tap for one direction of a connection. It is called with all bytes in order.
pub type Listener = Box<dyn FnMut(&[u8]) + Send>;

/// The callbacks of a tap for both directions of a connection.
#[expect(missing_debug_implementations, reason = "functions have no state to show")]
#[expect(clippy::exhaustive_structs, reason = "a connection has two directions")]
pub struct Listeners {
    /// Hears what the client sends.
    pub there: Listener,
    /// Hears what the server sends.
    pub back: Listener,
}

/// The state that all connections of a link share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) state: watch::Receiver<State>,
    /// The number of pieces that were carried there and back.
    pub(super) carried: Arc<[AtomicU64; 2]>,
    pub(super) tap: Option<Arc<dyn Tap>>,
}

/// Accepts connections, and carries each to the server.
pub(super) async fn serve(listener: TcpListener, shared: Shared) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(carry(stream, shared.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Carries one connection until one of its ends, or the weather, closes it.
async fn carry(near: TcpStream, shared: Shared) -> io::Result<()> {
    let State { target, weather, .. } = *shared.state.borrow();
    if weather == Weather::Cut {
        return Ok(());
    }
    let far = TcpStream::connect(target).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    let listeners = shared.tap.as_ref().map(|tap| tap.listen());
    let (hears, hears_back) = listeners.map(|listener| (listener.there, listener.back)).unzip();
    let mut there = pin!(Pump::new(Direction::There, hears, &shared).run(near_read, far_write));
    let mut back = pin!(Pump::new(Direction::Back, hears_back, &shared).run(far_read, near_write));
    select! {
        gone = &mut there => match gone {
            // What the server sends although its client has gone is heard, too.
            Ok(()) if shared.tap.is_some() => {
                timeout(LISTENS_ON, back).await.unwrap_or(Ok(()))
            }
            gone => gone,
        },
        back = &mut back => back,
    }
}

/// One direction of a connection.
struct Pump<'a> {
    direction: Direction,
    state: watch::Receiver<State>,
    carried: &'a AtomicU64,
    listener: Option<Listener>,
    is_deaf: bool,
}

impl<'a> Pump<'a> {
    fn new(direction: Direction, listener: Option<Listener>, shared: &'a Shared) -> Self {
        let [there, back] = &*shared.carried;
        let carried = match direction {
            Direction::There => there,
            Direction::Back => back,
        };
        Self { direction, state: shared.state.clone(), carried, listener, is_deaf: false }
    }

    /// Carries what arrives until the connection is closed.
    async fn run(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        let mut under_way: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
        let State { target, weather, .. } = *self.state.borrow_and_update();
        self.notes(weather);
        loop {
            let arrives = under_way.front().map(|(at, _)| *at);
            let read = select! {
                read = from.read(&mut buffer), if under_way.len() < MAX_UNDER_WAY => match read {
                    // A client that is killed has gone like any other.
                    Err(_) if self.listener.is_some() => return Ok(()),
                    read => read?,
                },
                () = arrive(arrives) => {
                    if let Some((_, bytes)) = under_way.pop_front() {
                        self.write(&mut to, &bytes).await?;
                    }
                    continue;
                }
                changed = self.state.changed() => {
                    let State { target: now, weather, .. } = *self.state.borrow_and_update();
                    if changed.is_err() || now != target || weather == Weather::Cut {
                        return Ok(());
                    }
                    self.notes(weather);
                    continue;
                }
            };
            if read == 0 {
                return Ok(());
            }
            if let Some(listener) = &mut self.listener {
                listener(&buffer[..read]);
            }
            let State { delay, weather, .. } = *self.state.borrow();
            self.notes(weather);
            if weather == Weather::Still {
                drop(self.state.wait_for(|state| state.weather != Weather::Still).await);
            }
            if self.is_deaf {
                continue;
            }
            let number = self.carried.fetch_add(1, Ordering::Relaxed);
            let delay = delay + weather.delay(number);
            if delay.is_zero() && under_way.is_empty() {
                self.write(&mut to, &buffer[..read]).await?;
            } else {
                under_way.push_back((Instant::now() + delay, buffer[..read].to_vec()));
            }
        }
    }

    /// Hands bytes over. If there is a listener, it goes on even if the reader has gone.
    async fn write(&mut self, to: &mut OwnedWriteHalf, bytes: &[u8]) -> io::Result<()> {
        match to.write_all(bytes).await {
            Err(_) if self.listener.is_some() => {
                self.is_deaf = true;
                Ok(())
            }
            written => written,
        }
    }

    /// Takes note of the weather. What a connection has lost once, it loses from then on.
    fn notes(&mut self, weather: Weather) {
        self.is_deaf |= weather == Weather::Deaf || weather == Weather::DeafOneWay(self.direction);
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
/// How long a server is heard whose client has gone.
const LISTENS_ON: Duration = Duration::from_secs(60);
