//! Connections to a ledger, and the greeting.

use std::{future::Future, io, time::Duration};

use bytes::Bytes;
use h2::client;
use http::{Request, StatusCode};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::AbortHandle,
    time::timeout,
};

use crate::wire::{
    FrameReader, FrameWriter, Hello, MAX_FRAME_LEN, Opener, Pulse, Purpose, Ready, Sealer,
    SharedKeys, nonce,
};

/// The maximum length, in bytes, of a sentence that refuses a stream.
const MAX_SENTENCE_LEN: usize = 1024;

/// Opens connections to addresses: TCP, TLS over TCP, or the network of a test.
pub trait Dial: Clone + Send + Sync + 'static {
    /// A connection.
    type Io: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Opens a connection.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no connection to this address at present.
    fn dial(&self, address: &str) -> impl Future<Output = io::Result<Self::Io>> + Send;
}

/// Opens TCP connections to addresses such as `ledger-1.internal:7400`.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TcpDial;

impl TcpDial {
    /// Creates a `TcpDial`.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Dial for TcpDial {
    type Io = TcpStream;

    async fn dial(&self, address: &str) -> io::Result<TcpStream> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(socket)
    }
}

/// A stream whose greeting the ledger has accepted. Dropping the stream closes its connection.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) reader: FrameReader,
    pub(super) writer: FrameWriter,
    pub(super) sealer: Sealer,
    pub(super) opener: Opener,
    pub(super) pulse: Pulse,
    pub(super) _connection: Connection,
}

/// The task that moves the bytes of a connection, which ends with its stream.
#[derive(Debug)]
pub(super) struct Connection(AbortHandle);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Connects to an address and greets the ledger there. Each step has to succeed `within` this time.
pub(super) async fn open<D: Dial>(
    dial: &D,
    address: &str,
    room: &str,
    purpose: Purpose,
    keys: &SharedKeys,
    within: Duration,
) -> io::Result<Opened> {
    let greeting = greet(dial, address, room, purpose, keys, within);
    timeout(within, greeting).await.map_err(|_| {
        io::Error::new(io::ErrorKind::TimedOut, format!("no greeting within {within:?}"))
    })?
}

async fn greet<D: Dial>(
    dial: &D,
    address: &str,
    room: &str,
    purpose: Purpose,
    keys: &SharedKeys,
    patience: Duration,
) -> io::Result<Opened> {
    let io = dial.dial(address).await?;
    let (requests, mut connection) =
        client::Builder::new().handshake::<_, Bytes>(io).await.map_err(io::Error::other)?;
    let pulse = Pulse::new(connection.ping_pong(), patience);
    let connection = Connection(tokio::spawn(async move { drop(connection.await) }).abort_handle());
    let mut requests = requests.ready().await.map_err(io::Error::other)?;
    let path = match purpose {
        Purpose::Operator => "http://ledger/v1/operator",
        Purpose::Site { .. } => "http://ledger/v1/site",
    };
    let request = Request::post(path).body(()).map_err(io::Error::other)?;
    let (response, stream) = requests.send_request(request, false).map_err(io::Error::other)?;
    let mut writer = FrameWriter::new(stream, patience);
    let hello = Hello { room: room.to_owned(), purpose, nonce: nonce()? };
    let (content, seal) = hello.seal(keys);
    writer.write_sealed(&content, &seal).await?;
    let response = response.await.map_err(io::Error::other)?;
    if response.status() != StatusCode::OK {
        return Err(refusal(response).await);
    }
    let mut reader = FrameReader::new(response.into_body(), MAX_FRAME_LEN);
    let (content, seal) = reader.next_sealed().await?;
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "the greeting is malformed");
    let ready = Ready::decode(&content).ok_or_else(malformed)?;
    let (sealer, mut opener) = hello.keys_for(ready, keys);
    if !opener.opens(&content, &seal) {
        return Err(malformed());
    }
    Ok(Opened { reader, writer, sealer, opener, pulse, _connection: connection })
}

/// The sentence with which a ledger refuses a stream, as an error.
async fn refusal(response: http::Response<h2::RecvStream>) -> io::Error {
    let status = response.status();
    let mut body = response.into_body();
    let mut sentence = Vec::new();
    while let Some(Ok(data)) = body.data().await {
        let room = MAX_SENTENCE_LEN.saturating_sub(sentence.len());
        sentence.extend(data.iter().take(room));
        if body.flow_control().release_capacity(data.len()).is_err() || room < data.len() {
            break;
        }
    }
    let kind = match status {
        StatusCode::SERVICE_UNAVAILABLE => io::ErrorKind::NotConnected,
        StatusCode::UNAUTHORIZED => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::InvalidInput,
    };
    // The sentence comes from the network, so it goes to the log without control characters.
    let sentence = String::from_utf8_lossy(&sentence).replace(char::is_control, " ");
    io::Error::new(kind, sentence)
}
