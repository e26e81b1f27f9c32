//! The wire protocol between a site and the ledger: frames on one HTTP/2 stream, each sealed with a
//! key.
//!
//! ```text
//!  site                                             ledger
//!   │  POST /v1/site                                  │
//!   │  Hello {room, site, incarnation, nonce} ──────► │  sealed with the shared key
//!   │                                                 │  503, 401, 404: refused, with a sentence
//!   │ ◄────────────────────── 200, Ready {nonce}      │
//!   │  Confirm ─────────────────────────────────────► │  from here on, sealed with the keys of
//!   │  ToGlobal ────────────────────────────────────► │  this stream, and numbered
//!   │ ◄───────────────────────────────────── ToSite   │
//!   │ ◄─────────────────────────── Close {sentence}   │
//! ```
//!
//! A frame consists of its length (two bytes), its content, and a seal of 16 bytes: HMAC-SHA-256,
//! truncated. The keys of a stream are derived from the shared key and a nonce of each side, one
//! key for each direction, and each seal covers the number of its frame. So a frame that was
//! forged, repeated, left out, sent back or recorded on another stream ends the stream. Nothing is
//! encrypted: the content consists of counts, and the only data about visitors are random ids. On a
//! network that others can read, run the stream inside a tunnel.

mod hello;
mod orders;
mod seal;

use std::{fmt, future::poll_fn, io, time::Duration};

use bytes::{BufMut, Bytes, BytesMut};
use h2::{Ping, PingPong, RecvStream, SendStream};
use tokio::time::timeout;

use self::seal::SEAL_LEN;
pub use self::seal::{KeyError, SharedKeys};
pub(crate) use self::{
    hello::{Hello, Purpose, Ready},
    orders::{close, parse_order, sentence_of, write_order},
    seal::{Opener, Sealer, nonce},
};

/// The maximum length of a frame's content in bytes.
pub(crate) const MAX_FRAME_LEN: usize = 16 * 1024;
const LENGTH_LEN: usize = 2;

/// The reason why a stream of frames is over.
#[derive(Debug)]
pub(crate) enum FrameError {
    /// The peer has closed the stream.
    Closed,
    /// A frame is longer than its reader accepts.
    TooLong { given: usize, most: usize },
    /// The seal is not valid for the next frame.
    Seal,
    /// The peer reads too slowly.
    Slow,
    /// The connection has failed.
    Transport(h2::Error),
}

impl FrameError {
    /// Returns whether a frame was not sealed with the key of the stream, in which case the
    /// operator should know.
    pub(crate) const fn is_forged(&self) -> bool {
        match self {
            Self::Seal => true,
            Self::Closed | Self::TooLong { .. } | Self::Slow | Self::Transport(_) => false,
        }
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the stream was closed"),
            Self::TooLong { given, most } => {
                write!(f, "a frame has {given} bytes, expected at most {most}")
            }
            Self::Seal => f.write_str("a frame is not sealed with the key of the stream"),
            Self::Slow => f.write_str("the peer reads too slowly"),
            Self::Transport(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FrameError {}

impl From<FrameError> for io::Error {
    fn from(error: FrameError) -> Self {
        Self::other(error)
    }
}

impl From<h2::Error> for FrameError {
    fn from(error: h2::Error) -> Self {
        Self::Transport(error)
    }
}

/// Reads frames. Buffers at most one frame, and what the peer may send without waiting.
#[derive(Debug)]
pub(crate) struct FrameReader {
    stream: RecvStream,
    buffer: BytesMut,
    most: usize,
}

impl FrameReader {
    /// Reads frames whose content has up to `most` bytes.
    pub(crate) fn new(stream: RecvStream, most: usize) -> Self {
        Self { stream, buffer: BytesMut::new(), most }
    }

    /// The next frame: its content and its seal.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if the future is dropped: a part of a frame stays in the buffer.
    pub(crate) async fn next_sealed(&mut self) -> Result<(Bytes, Bytes), FrameError> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(frame);
            }
            let data = self.stream.data().await.ok_or(FrameError::Closed)??;
            self.buffer.extend_from_slice(&data);
            self.stream.flow_control().release_capacity(data.len())?;
        }
    }

    /// The content of the next frame, whose seal has to be valid.
    ///
    /// # Cancel safety
    ///
    /// See [`next_sealed`](Self::next_sealed).
    pub(crate) async fn next(&mut self, opener: &mut Opener) -> Result<Bytes, FrameError> {
        let (content, seal) = self.next_sealed().await?;
        if opener.opens(&content, &seal) { Ok(content) } else { Err(FrameError::Seal) }
    }

    /// Takes the first frame from the buffer, if it is complete.
    fn take(&mut self) -> Result<Option<(Bytes, Bytes)>, FrameError> {
        let Some(length) = self.buffer.first_chunk::<LENGTH_LEN>() else { return Ok(None) };
        let given = usize::from(u16::from_be_bytes(*length));
        if given > self.most {
            return Err(FrameError::TooLong { given, most: self.most });
        }
        if self.buffer.len() < LENGTH_LEN + given + SEAL_LEN {
            return Ok(None);
        }
        let mut frame = self.buffer.split_to(LENGTH_LEN + given + SEAL_LEN).freeze();
        let mut content = frame.split_off(LENGTH_LEN);
        let seal = content.split_off(given);
        Ok(Some((content, seal)))
    }
}

/// Writes frames. A peer that does not read is dropped.
#[derive(Debug)]
pub(crate) struct FrameWriter {
    stream: SendStream<Bytes>,
    patience: Duration,
}

impl FrameWriter {
    /// Writes frames to a peer that takes each of them within `patience`.
    pub(crate) const fn new(stream: SendStream<Bytes>, patience: Duration) -> Self {
        Self { stream, patience }
    }

    /// Writes a frame that is sealed already.
    ///
    /// # Cancel safety
    ///
    /// A frame may be written in part if the future is dropped, so the stream cannot be used any
    /// more.
    pub(crate) async fn write_sealed(
        &mut self,
        content: &[u8],
        seal: &[u8; SEAL_LEN],
    ) -> Result<(), FrameError> {
        let length = u16::try_from(content.len())
            .ok()
            .filter(|_| content.len() <= MAX_FRAME_LEN)
            .ok_or(FrameError::TooLong { given: content.len(), most: MAX_FRAME_LEN })?;
        let mut frame = BytesMut::with_capacity(LENGTH_LEN + content.len() + SEAL_LEN);
        frame.put_u16(length);
        frame.extend_from_slice(content);
        frame.extend_from_slice(seal);
        let writing = write_all(&mut self.stream, frame.freeze());
        timeout(self.patience, writing).await.map_err(|_| FrameError::Slow)?
    }

    /// Writes the next frame.
    ///
    /// # Cancel safety
    ///
    /// See [`write_sealed`](Self::write_sealed).
    pub(crate) async fn write(
        &mut self,
        sealer: &mut Sealer,
        content: &[u8],
    ) -> Result<(), FrameError> {
        let seal = sealer.seal(content);
        self.write_sealed(content, &seal).await
    }

    /// Ends the stream after what was written.
    pub(crate) fn end(&mut self) {
        // If the stream is over, there is nothing to end.
        let _ = self.stream.send_data(Bytes::new(), true);
    }
}

/// Writes as the peer makes room, so that no more than one frame is buffered here.
async fn write_all(stream: &mut SendStream<Bytes>, mut rest: Bytes) -> Result<(), FrameError> {
    while !rest.is_empty() {
        stream.reserve_capacity(rest.len());
        let room = match stream.capacity() {
            // `poll_capacity` reports only additional capacity.
            0 => poll_fn(|cx| stream.poll_capacity(cx)).await.ok_or(FrameError::Closed)??,
            room => room,
        };
        let part = rest.split_to(room.min(rest.len()));
        stream.send_data(part, false)?;
    }
    Ok(())
}

/// Finds out by HTTP/2 pings whether the peer of a connection is alive.
pub(crate) struct Pulse {
    pings: Option<PingPong>,
    within: Duration,
}

impl Pulse {
    /// Expects each answer `within` this time.
    pub(crate) const fn new(pings: Option<PingPong>, within: Duration) -> Self {
        Self { pings, within }
    }

    /// Sends a ping. Returns whether its answer has arrived in time.
    pub(crate) async fn is_felt(&mut self) -> bool {
        let Some(pings) = &mut self.pings else { return true };
        matches!(timeout(self.within, pings.ping(Ping::opaque())).await, Ok(Ok(_)))
    }
}

impl fmt::Debug for Pulse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pulse(within: {:?})", self.within)
    }
}
