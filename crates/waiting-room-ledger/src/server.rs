//! The server: accepts connections of sites and operators, and gives each stream to the holder of
//! its room.
//!
//! Everything that a client can make the server hold is bounded: the connections, the streams of a
//! connection, the time until a greeting is complete, the bytes of a frame, the messages that wait
//! for a slow reader, and the headers.

mod peers;
mod stream;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use h2::{RecvStream, server::SendResponse};
use http::{Method, Request, Response, StatusCode};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};

use crate::{
    holder::{HolderHandle, Role},
    server::{
        peers::{Caller, Peers},
        stream::{Greeted, serve_operator, serve_site},
    },
    wire::{
        FrameError, FrameReader, FrameWriter, Hello, KeyError, Opener, Pulse, Purpose, Ready,
        Sealer, SharedKeys, nonce,
    },
};

/// The maximum number of streams of one connection: one stream, and one that replaces it.
const MAX_STREAMS: u32 = 2;
/// The maximum length of a request's headers in bytes.
const MAX_HEADERS: u32 = 4096;
/// The maximum length of a greeting in bytes.
const MAX_GREETING_LEN: usize = 256;
/// The time within which a connection and a greeting have to be complete. A client whose greeting
/// was refused has to read the reason within the same time. A connection without a stream is also
/// closed after this time.
const GREETING_WITHIN: Duration = Duration::from_secs(5);
/// The time in which a peer has to take a frame, and to answer a ping.
const PEER_PATIENCE: Duration = Duration::from_secs(5);

/// The keys of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerKeys {
    sites: SharedKeys,
    operators: Option<SharedKeys>,
}

impl ServerKeys {
    /// Accepts sites with these keys, and no operators.
    #[must_use]
    pub const fn new(sites: SharedKeys) -> Self {
        Self { sites, operators: None }
    }

    /// Reads the keys of sites and, if a file of operators is given, the keys of operators.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read, if [`SharedKeys::parse`] rejects it, if one
    /// key is in both files, or if a key of operators belongs to a site.
    pub fn read(sites: &Path, operators: Option<&Path>) -> Result<Self, KeyError> {
        let keys = Self::new(SharedKeys::read(sites)?);
        let Some(path) = operators else { return Ok(keys) };
        let operators = SharedKeys::read(path)?;
        if let Some(site) = operators.first_site() {
            return Err(KeyError::OfSite { path: path.display().to_string(), site });
        }
        if keys.sites.overlaps(&operators) {
            let [sites, operators] = [sites, path].map(|path| path.display().to_string());
            return Err(KeyError::InBoth { sites, operators });
        }
        Ok(keys.operators(operators))
    }

    /// Accepts the orders of operators with these keys, which sites do not know.
    #[must_use]
    pub fn operators(mut self, keys: SharedKeys) -> Self {
        self.operators = Some(keys);
        self
    }
}

/// Accepts the streams of sites and operators for the rooms of this process.
///
/// The server bounds what clients can make it hold: it has up to 8 192 connections of clients with
/// a key, 1 024 connections without a key, and two streams on each. If there are more connections
/// without a key, the address with the most of them loses its oldest one. A greeting has to be
/// complete within 5 s, and a client that does not read a frame within 5 s is disconnected.
#[derive(Debug)]
pub struct LedgerServer {
    rooms: BTreeMap<String, HolderHandle>,
    keys: ServerKeys,
    next_stream: AtomicU64,
    peers: Arc<Peers>,
}

impl LedgerServer {
    /// Creates a server for these rooms.
    #[must_use]
    pub fn new(
        rooms: impl IntoIterator<Item = (String, HolderHandle)>,
        keys: ServerKeys,
    ) -> Arc<Self> {
        Arc::new(Self {
            rooms: rooms.into_iter().collect(),
            keys,
            next_stream: AtomicU64::new(1),
            peers: Arc::default(),
        })
    }

    /// Accepts connections until the listener fails.
    ///
    /// # Errors
    ///
    /// Returns an error only if the listener is unusable. A connection that fails does not affect
    /// the others.
    ///
    /// # Cancel safety
    ///
    /// All connections are closed if the future is dropped.
    pub async fn listen(self: &Arc<Self>, listener: &TcpListener) -> io::Result<()> {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((socket, peer)) => {
                        // Frames are small, and each one is awaited.
                        let _ = socket.set_nodelay(true);
                        let server = Arc::clone(self);
                        connections.spawn(async move { server.serve(socket, peer.to_string()).await });
                    }
                    Err(error) if is_passing(&error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                    Err(error) => return Err(error),
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }

    /// Serves one connection until it ends. `peer` is its name in the log.
    ///
    /// # Cancel safety
    ///
    /// The connection is closed if the future is dropped.
    pub async fn serve<Io>(self: Arc<Self>, io: Io, peer: String)
    where
        Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let caller = Arc::new(self.peers.arrive(&peer));
        tokio::select! {
            () = Arc::clone(&self).converse(io, &peer, &caller) => {}
            () = caller.evicted() => {
                self.peers.report(&peer, "its address has too many connections without a greeting");
            }
        }
    }

    /// Serves the streams of a connection until it ends.
    async fn converse<Io>(self: Arc<Self>, io: Io, peer: &str, caller: &Arc<Caller>)
    where
        Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut builder = h2::server::Builder::new();
        builder.max_concurrent_streams(MAX_STREAMS).max_header_list_size(MAX_HEADERS);
        let Ok(Ok(mut connection)) = timeout(GREETING_WITHIN, builder.handshake(io)).await else {
            return;
        };
        let mut pulse = Some(Pulse::new(connection.ping_pong(), PEER_PATIENCE));
        let mut streams = JoinSet::new();
        // After a refusal, the connection stays open until the client has read the sentence.
        let mut closes_at = None;
        loop {
            let until = closes_at.unwrap_or_else(|| Instant::now() + GREETING_WITHIN);
            tokio::select! {
                accepted = connection.accept() => {
                    let Some(Ok((request, mut respond))) = accepted else { return };
                    if closes_at.is_some() {
                        respond.send_reset(h2::Reason::REFUSED_STREAM);
                        continue;
                    }
                    let server = Arc::clone(&self);
                    let peer = peer.to_owned();
                    let pulse = pulse.take();
                    let caller = Arc::clone(caller);
                    let greeted = server.greet(request, respond, peer, pulse, caller);
                    streams.spawn(greeted);
                }
                () = sleep_until(until), if streams.is_empty() => return,
                Some(ended) = streams.join_next() => {
                    let is_welcome = matches!(ended, Ok(true)) && caller.is_confirmed();
                    if !is_welcome && closes_at.is_none() {
                        connection.graceful_shutdown();
                        closes_at = Some(Instant::now() + GREETING_WITHIN);
                    }
                }
            }
        }
    }

    /// Reads the greeting of a stream, and serves the stream. Returns whether the greeting was accepted.
    async fn greet(
        self: Arc<Self>,
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        peer: String,
        pulse: Option<Pulse>,
        caller: Arc<Caller>,
    ) -> bool {
        let is_site = match (request.method(), request.uri().path()) {
            (&Method::POST, "/v1/site") => true,
            (&Method::POST, "/v1/operator") => false,
            _ => {
                refuse(respond, StatusCode::NOT_FOUND, "unknown path");
                return false;
            }
        };
        let mut reader = FrameReader::new(request.into_body(), MAX_GREETING_LEN);
        let Ok(Ok((content, seal))) = timeout(GREETING_WITHIN, reader.next_sealed()).await else {
            refuse(respond, StatusCode::BAD_REQUEST, "the greeting is missing");
            return false;
        };
        let answer =
            Hello::decode(&content).map_err(|flaw| (StatusCode::BAD_REQUEST, flaw)).and_then(
                |hello| self.admit(&hello, is_site, &content, &seal).map(|keys| (hello, keys)),
            );
        let (hello, (room, ready, mut sealer, opener)) = match answer {
            Ok(answer) => answer,
            Err((status, sentence)) => {
                if status != StatusCode::SERVICE_UNAVAILABLE {
                    self.peers.report(&peer, &sentence);
                }
                refuse(respond, status, &sentence);
                return false;
            }
        };
        let Ok(stream) = respond.send_response(Response::new(()), false) else { return false };
        let mut writer = FrameWriter::new(stream, PEER_PATIENCE);
        let sent = match nonce_frame(&mut writer, ready, &mut sealer).await {
            Ok(()) => self.next_stream.fetch_add(1, Ordering::Relaxed),
            Err(_) => return false,
        };
        let greeted = Greeted { id: sent, room, reader, writer, sealer, opener, caller };
        match hello.purpose {
            Purpose::Operator => serve_operator(greeted).await,
            Purpose::Site { site, incarnation } => {
                let ended = serve_site(greeted, site, incarnation, pulse).await;
                if let Err(sentence) = ended {
                    self.peers.report(&peer, &format!("site {}: {sentence}", site.number()));
                }
            }
        }
        true
    }

    /// Checks a greeting, and derives the keys of its stream.
    fn admit(
        &self,
        hello: &Hello,
        is_site: bool,
        content: &[u8],
        seal: &[u8],
    ) -> Result<(HolderHandle, Ready, Sealer, Opener), (StatusCode, String)> {
        if is_site != matches!(hello.purpose, Purpose::Site { .. }) {
            return Err((StatusCode::BAD_REQUEST, "the greeting is for another path".to_owned()));
        }
        let keys = if is_site { Some(&self.keys.sites) } else { self.keys.operators.as_ref() };
        let keys = keys.ok_or_else(|| {
            (StatusCode::UNAUTHORIZED, "this ledger has no key for operators".to_owned())
        })?;
        let nonce =
            nonce().map_err(|error| (StatusCode::SERVICE_UNAVAILABLE, error.to_string()))?;
        let (ready, sealer, opener) = hello.open(content, seal, keys, nonce).ok_or_else(|| {
            (StatusCode::UNAUTHORIZED, "the key is not one of this ledger".to_owned())
        })?;
        let room = self.rooms.get(&hello.room).ok_or_else(|| {
            let names: Vec<_> = self.rooms.keys().collect();
            (StatusCode::NOT_FOUND, format!("room is {:?}, expected one of {names:?}", hello.room))
        })?;
        if room.role() == Role::Standby {
            let sentence = "this process is a standby, expected the holder".to_owned();
            return Err((StatusCode::SERVICE_UNAVAILABLE, sentence));
        }
        Ok((room.clone(), ready, sealer, opener))
    }
}

/// Sends the ledger's nonce, with which the client finds the keys of the stream.
async fn nonce_frame(
    writer: &mut FrameWriter,
    ready: Ready,
    sealer: &mut Sealer,
) -> Result<(), FrameError> {
    writer.write(sealer, &ready.encode()).await
}

/// Refuses a request with a sentence. The sentence is not sealed, so a client only logs it.
fn refuse(mut respond: SendResponse<Bytes>, status: StatusCode, sentence: &str) {
    let mut response = Response::new(());
    *response.status_mut() = status;
    if let Ok(mut body) = respond.send_response(response, false) {
        // If the client has gone, the sentence is lost.
        let _ = body.send_data(Bytes::copy_from_slice(sentence.as_bytes()), true);
    }
}

/// Returns whether a listener's error concerns only one connection, or is temporary.
fn is_passing(error: &io::Error) -> bool {
    // EMFILE and ENFILE, which pass when connections end.
    let is_full = matches!(error.raw_os_error(), Some(23 | 24));
    let kinds = [
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::Interrupted,
    ];
    is_full || kinds.contains(&error.kind())
}
