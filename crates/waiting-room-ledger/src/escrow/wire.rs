//! The messages as bytes, for a transport.
//!
//! The encoding is compact: a heartbeat has about 60 bytes, and 100 if visitors wait in a long line.
//! Each message begins with the [version](WIRE_VERSION) of the encoding and the kind of the message.
//! Counts are varints (LEB128), and times and random bits have eight bytes each, the most significant
//! one first.
//!
//! A message has exactly one encoding, and a decoder accepts nothing else: no varint that is longer
//! than necessary, no bytes after the end, no unknown kind. So a message that was sealed can be
//! compared by its bytes.
//!
//! A decoder reads what a peer has sent, so it bounds every count ([`MAX_COUNT`]), and allocates
//! nothing except for the sites of a [`World`](crate::escrow::World), of which there are 2048 at
//! most.

pub(super) mod bytes;
mod messages;
mod tally;

pub use self::{
    bytes::WireError,
    messages::{MAX_COUNT, MAX_MESSAGE_LEN, WIRE_VERSION},
    tally::MAX_WORLD_LEN,
};
