//! The server: accepts connections of sites and operators, and gives each stream to the holder of
//! its room.
//!
//! Everything that a client can make the server hold is bounded: the connections, the streams of a
//! connection, the time until a greeting is complete, the bytes of a frame, the messages that wait
//! for a slow reader, and the headers.

mod accept;
mod stream;

#[cfg(test)]
mod tests;

pub use self::accept::{LedgerServer, ServerKeys};
