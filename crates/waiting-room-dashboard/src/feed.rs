//! The streams of server-sent events, all of which receive the same events.
//!
//! The board sends one event per second to all streams. The event is rendered once, and each stream
//! holds a reference to it. A stream ends after [`Feed::EVENTS`] events, and the browser then
//! connects again. A stream whose connection has not taken [`Feed::BACKLOG`] events is dropped at once.
//! A client that never reads therefore holds its place for a bounded time, and at most
//! [`Feed::BACKLOG`] events until its connection ends.
//!
//! A stream ends in any of these ways: its client disconnects, the client is too slow, the time of
//! the stream is over, the application ends all streams before a shutdown, or the board is dropped.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// All open streams.
#[derive(Debug)]
pub(super) struct Feed {
    /// The senders of events, one for each stream, or `None` after the application has ended all
    /// streams.
    open: Mutex<Option<Vec<Sender<Bytes>>>>,
}

/// The reason why no stream is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoStream {
    /// [`Feed::MAX`] streams are open.
    TooMany,
    /// The application has ended all streams, because it is shutting down.
    Ended,
}

/// The body of a response that sends the events.
#[derive(Debug)]
pub(super) struct Stream {
    events: Receiver<Bytes>,
    /// The number of frames that the stream still sends.
    left: u32,
}

impl Feed {
    /// The maximum number of open streams.
    pub(super) const MAX: usize = 32;
    /// The number of events after which a stream ends.
    pub(super) const EVENTS: u32 = 60;
    /// The number of events that a slow client may be behind.
    pub(super) const BACKLOG: usize = 8;

    pub(super) fn new() -> Self {
        Self { open: Mutex::new(Some(Vec::new())) }
    }

    /// Opens a stream.
    ///
    /// # Errors
    ///
    /// Returns the reason if no stream may be opened now.
    pub(super) fn open(&self) -> Result<Stream, NoStream> {
        let mut open = self.locked();
        let streams = open.as_mut().ok_or(NoStream::Ended)?;
        streams.retain(|stream| !stream.is_closed());
        if streams.len() >= Self::MAX {
            return Err(NoStream::TooMany);
        }
        let (sender, events) = channel(Self::BACKLOG);
        // The comment makes proxies and browsers consider the stream to be open. The client
        // connects again half a second after the end of a stream. The new channel has room.
        _ = sender.try_send(Bytes::from_static(b": open\nretry: 500\n\n"));
        streams.push(sender);
        Ok(Stream { events, left: 1 + Self::EVENTS })
    }

    /// Sends an event to all streams, and drops those that are too slow.
    pub(super) fn send(&self, event: &Bytes) {
        if let Some(streams) = &mut *self.locked() {
            streams.retain(|stream| stream.try_send(event.clone()).is_ok());
        }
    }

    /// Ends all open streams, and opens no others from now on.
    pub(super) fn end_all(&self) {
        *self.locked() = None;
    }

    /// Returns the number of open streams.
    pub(super) fn len(&self) -> usize {
        let open = self.locked();
        open.iter().flatten().filter(|stream| !stream.is_closed()).count()
    }

    fn locked(&self) -> MutexGuard<'_, Option<Vec<Sender<Bytes>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // The events of a stream that was dropped are out of date.
        if self.events.is_closed() {
            return Poll::Ready(None);
        }
        let event = ready!(self.events.poll_recv(cx));
        self.left -= 1;
        if self.left == 0 {
            self.events.close();
        }
        Poll::Ready(event.map(|event| Ok(Frame::data(event))))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Takes all events that a stream can send now. The second value says whether the stream is
    /// over.
    fn taken(stream: &mut Stream) -> (Vec<Bytes>, bool) {
        let mut events = Vec::new();
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            match Pin::new(&mut *stream).poll_frame(&mut cx) {
                Poll::Ready(Some(Ok(frame))) => events.push(frame.into_data().unwrap()),
                Poll::Ready(Some(Err(never))) => match never {},
                Poll::Ready(None) => return (events, true),
                Poll::Pending => return (events, false),
            }
        }
    }

    #[test]
    fn every_stream_receives_every_event() {
        let feed = Feed::new();
        let mut streams = [feed.open().unwrap(), feed.open().unwrap()];
        feed.send(&Bytes::from_static(b"data: 1\n\n"));
        for stream in &mut streams {
            let (events, is_over) = taken(stream);
            assert_eq!(events.concat(), b": open\nretry: 500\n\ndata: 1\n\n");
            assert!(!is_over);
        }
    }

    #[test]
    fn the_number_of_streams_is_bounded_and_a_dropped_stream_makes_room() {
        let feed = Feed::new();
        let mut streams: Vec<_> = (0..Feed::MAX).map(|_| feed.open().unwrap()).collect();
        assert_eq!(feed.open().err(), Some(NoStream::TooMany));
        streams.pop();
        assert!(feed.open().is_ok());
    }

    #[test]
    fn a_slow_reader_is_dropped_and_gets_no_more_events() {
        let feed = Feed::new();
        let mut slow = feed.open().unwrap();
        let mut fast = feed.open().unwrap();
        for _ in 0..Feed::BACKLOG {
            feed.send(&Bytes::from_static(b"data: 1\n\n"));
            taken(&mut fast);
        }
        assert_eq!(feed.len(), 1);
        assert_eq!(taken(&mut slow), (Vec::new(), true));
        assert!(!taken(&mut fast).1);
    }

    #[test]
    fn a_stream_ends_after_its_time() {
        let feed = Feed::new();
        let mut stream = feed.open().unwrap();
        for left in (0..Feed::EVENTS).rev() {
            feed.send(&Bytes::from_static(b"data: 1\n\n"));
            assert_eq!(taken(&mut stream).1, left == 0);
        }
        assert_eq!(feed.len(), 0);
    }

    #[test]
    fn ending_all_streams_closes_them_at_once_and_opens_no_more() {
        let feed = Feed::new();
        let mut streams = [feed.open().unwrap(), feed.open().unwrap()];
        taken(&mut streams[0]);
        feed.end_all();
        let is_over = streams.each_mut().map(|stream| taken(stream).1);
        assert_eq!((is_over, feed.len()), ([true, true], 0));
        assert_eq!(feed.open().err(), Some(NoStream::Ended));
    }

    #[test]
    fn the_streams_end_with_their_feed() {
        let feed = Feed::new();
        let mut stream = feed.open().unwrap();
        taken(&mut stream);
        drop(feed);
        assert!(taken(&mut stream).1);
    }
}
