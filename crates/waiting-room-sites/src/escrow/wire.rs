//! The messages as bytes, for a transport.
//!
//! The encoding is compact: a heartbeat has about 60 bytes. Each message begins with the
//! [version](WIRE_VERSION) of the encoding and the kind of the message. Counts are varints (LEB128),
//! and times and random bits have eight bytes each, the most significant one first.
//!
//! A message has exactly one encoding, and a decoder accepts nothing else: no longer varint, no
//! bytes after the end, no unknown kind. So a message that was sealed can be compared by its bytes.
//!
//! A decoder reads what a peer has sent, so it allocates nothing, and bounds every count
//! ([`MAX_COUNT`]).

mod bytes;
mod messages;

pub use self::{
    bytes::WireError,
    messages::{MAX_COUNT, MAX_MESSAGE_LEN, WIRE_VERSION},
};
