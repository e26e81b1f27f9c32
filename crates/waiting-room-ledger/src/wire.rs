//! The wire between a site and the ledger: frames on one HTTP/2 stream, each sealed with a key.
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
//! A frame is its length (two bytes), its content, and a seal of 16 bytes: HMAC-SHA-256, truncated.
//! The keys of a stream are derived from the shared key and a nonce of each side, one key for each
//! direction, and each seal covers the number of its frame. So a frame that was forged, repeated,
//! left out, sent back or recorded on another stream ends the stream. Nothing is encrypted: the
//! content is counts, no data of visitors except random ids. On a network that others can read, run
//! it inside a tunnel.

mod frame;
mod hello;
mod orders;
mod seal;

pub use self::seal::{KeyError, SharedKeys};
pub(crate) use self::{
    frame::{FrameError, FrameReader, FrameWriter, MAX_FRAME_LEN, Pulse},
    hello::{Hello, Purpose, Ready},
    orders::{close, parse_order, sentence_of, write_order},
    seal::{Opener, Sealer, nonce},
};
