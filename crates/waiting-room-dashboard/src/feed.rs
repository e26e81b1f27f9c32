//! The streams of server-sent events, all of which receive the same events.
//!
//! The board sends one event per second to all streams. The event is rendered once, and each stream
//! holds a reference to it. A stream ends after [`Feed::EVENTS`] events, and the browser then
//! connects again, so a client that never reads holds its stream for a bounded time. A stream whose
//! connection has not taken [`Feed::BACKLOG`] events is dropped at once.
//!
//! A stream ends in any of these ways: its client disconnects, it is too slow, its time is over,
//! the application ends all streams before a shutdown, or the board is dropped.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http_body::{Body, Frame};

use crate::streams::EventStreams;

/// All open streams.
#[derive(Debug, Default)]
pub(super) struct Feed {
    open: Mutex<OpenStreams>,
}

#[derive(Debug, Default)]
struct OpenStreams {
    channels: Vec<Arc<Mutex<Channel>>>,
    /// Whether the application has ended all streams.
    is_ended: bool,
}

/// Why no stream is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoStream {
    /// [`Feed::MAX`] streams are open.
    TooMany,
    /// The application has ended all streams, because it is shutting down.
    Ended,
}

/// The events that a stream has not sent yet.
#[derive(Debug, Default)]
struct Channel {
    events: VecDeque<Bytes>,
    /// The number of events that the stream still receives.
    left: u32,
    waker: Option<Waker>,
    is_closed: bool,
}

/// The body of a response that sends the events.
#[derive(Debug)]
pub(super) struct Stream {
    channel: Arc<Mutex<Channel>>,
    feed: Weak<Feed>,
}

impl Feed {
    /// The maximum number of open streams.
    pub(super) const MAX: usize = 32;
    /// The number of events after which a stream ends.
    pub(super) const EVENTS: u32 = 60;
    /// The number of events that a slow client may be behind.
    pub(super) const BACKLOG: usize = 8;

    /// Opens a stream.
    ///
    /// # Errors
    ///
    /// Returns the reason if no stream may be opened now.
    pub(super) fn open(self: &Arc<Self>) -> Result<Stream, NoStream> {
        let mut open = locked(&self.open);
        if open.is_ended {
            return Err(NoStream::Ended);
        }
        if open.channels.len() >= Self::MAX {
            return Err(NoStream::TooMany);
        }
        // The comment makes proxies and browsers consider the stream to be open. The client
        // connects again half a second after the end of a stream.
        let events = VecDeque::from([Bytes::from_static(b": open\nretry: 500\n\n")]);
        let channel = Channel { events, left: Self::EVENTS, ..Channel::default() };
        let channel = Arc::new(Mutex::new(channel));
        open.channels.push(Arc::clone(&channel));
        Ok(Stream { channel, feed: Arc::downgrade(self) })
    }

    /// Sends an event to all streams, and drops those that are too slow.
    pub(super) fn send(&self, event: &Bytes) {
        let mut wakers = Vec::new();
        locked(&self.open).channels.retain(|channel| {
            let mut channel = locked(channel);
            if channel.events.len() >= Self::BACKLOG {
                channel.events.clear();
                channel.is_closed = true;
            } else {
                channel.events.push_back(event.clone());
                channel.left -= 1;
                channel.is_closed = channel.left == 0;
            }
            wakers.extend(channel.waker.take());
            !channel.is_closed
        });
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns the number of open streams.
    pub(super) fn len(&self) -> usize {
        locked(&self.open).channels.len()
    }
}

impl EventStreams for Feed {
    fn end_all(&self) {
        let mut open = locked(&self.open);
        open.is_ended = true;
        let channels = std::mem::take(&mut open.channels);
        drop(open);
        for channel in channels {
            let mut channel = locked(&channel);
            channel.is_closed = true;
            let waker = channel.waker.take();
            drop(channel);
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.end_all();
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut channel = locked(&self.channel);
        if let Some(event) = channel.events.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(event))));
        }
        if channel.is_closed {
            return Poll::Ready(None);
        }
        channel.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(feed) = self.feed.upgrade() {
            let channels = &mut locked(&feed.open).channels;
            channels.retain(|channel| !Arc::ptr_eq(channel, &self.channel));
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes all events that a stream can send now. The second part is whether the stream is over.
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
        let feed = Arc::<Feed>::default();
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
        let feed = Arc::<Feed>::default();
        let mut streams: Vec<_> = (0..Feed::MAX).map(|_| feed.open().unwrap()).collect();
        assert_eq!(feed.open().err(), Some(NoStream::TooMany));
        streams.pop();
        assert!(feed.open().is_ok());
    }

    #[test]
    fn a_slow_reader_is_dropped_and_holds_no_events() {
        let feed = Arc::<Feed>::default();
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
        let feed = Arc::<Feed>::default();
        let mut stream = feed.open().unwrap();
        for left in (0..Feed::EVENTS).rev() {
            feed.send(&Bytes::from_static(b"data: 1\n\n"));
            assert_eq!(taken(&mut stream).1, left == 0);
        }
        assert_eq!(feed.len(), 0);
    }

    #[test]
    fn ending_all_streams_closes_them_at_once_and_opens_no_more() {
        let feed = Arc::<Feed>::default();
        let mut streams = [feed.open().unwrap(), feed.open().unwrap()];
        taken(&mut streams[0]);
        feed.end_all();
        let is_over = streams.each_mut().map(|stream| taken(stream).1);
        assert_eq!((is_over, feed.len()), ([true, true], 0));
        assert_eq!(feed.open().err(), Some(NoStream::Ended));
    }

    #[test]
    fn the_streams_end_with_their_feed() {
        let feed = Arc::<Feed>::default();
        let mut stream = feed.open().unwrap();
        taken(&mut stream);
        drop(feed);
        assert!(taken(&mut stream).1);
    }
}
