//! The body of a push stream.
//!
//! ```text
//!           ┌───────────────── wait: `position` ─────────────────┐
//!           ▼                                                    │
//!  open ─► idle ── due, called, or at the front ─► stay ─► verdict
//!           │                                                    │
//!           │                                    turn: `turn` ───┴─► idle until the visitor enters
//!           └─ nothing sent for a while: a comment
//! ```
//!
//! The stream has no task. It runs when the server polls it, after its timer, a call from
//! [`Streams`](crate::room::Streams) or the store's reply has woken the task of the connection. A
//! server polls only as fast as the client reads, so at most one event exists at a time, and it is
//! never older than the moment at which the server asks for it.
//!
//! While the client does not read, the stream does not check in, and its visitor counts as away
//! after a while. Visitors who are away delay no other visitor.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep, sleep_until};
use waiting_room_core::{
    Reason, StoreError, Ticket, Timestamp, Verdict,
    error::StoreErrorKind,
    room::{RoomMode, event::Phase},
    time::Clock,
};

use super::{journey::Opening, order::Pipeline, push::order};
use crate::{
    request::Language,
    respond::StreamFacts,
    room::{BoxFuture, RoomStage, StreamPlace, Visitor},
    telemetry::StreamEnd,
};

/// The events of one visitor.
///
/// # Cancel safety
///
/// Dropping the stream closes it. The visitor keeps its place, and is away after one and a half
/// check-in intervals unless it sends a request or opens another stream.
pub(crate) struct EventStream {
    room: Arc<RoomStage>,
    pipeline: Arc<Pipeline>,
    place: StreamPlace,
    language: Option<Language>,
    /// The visitor's ticket as of the store's last answer.
    ticket: Ticket,
    /// The event to send next.
    event: Option<Bytes>,
    /// The question to the store, while it is being answered.
    asked: Option<BoxFuture<Result<Verdict, StoreError>>>,
    timer: Pin<Box<Sleep>>,
    /// The time of the last question to the store.
    asked_at: Instant,
    /// The time from the last question to the next one, unless the stream is at the front.
    interval: Duration,
    /// Whether the store did not answer the last question. The stream then waits before it asks
    /// again.
    has_failed: bool,
    /// The time of the last event or comment.
    sent_at: Instant,
    /// The time at which the stream ends.
    ends_at: Instant,
    /// The time until which the visitor may enter, once the stream has announced its turn.
    turn_until: Option<Instant>,
    is_over: bool,
}

impl EventStream {
    /// The time between two checks by a stream at the front. Streams are also called when a session
    /// ends on this node. In all other cases, this time bounds how long a slot can be free before
    /// its visitor knows.
    const LOOK: Duration = Duration::from_millis(500);
    /// The time for which a visitor counts as present after the stream has announced its turn.
    const TURN: Duration = Duration::from_secs(10);
    /// The time between two questions about a visitor whose turn was announced, but who has not
    /// entered yet.
    const COMING: Duration = Duration::from_secs(1);
    /// The time between two questions while the store does not answer.
    const RETRY: Duration = Duration::from_secs(5);
    /// The times after which clients connect again, in milliseconds: the shortest time, and the
    /// width of the range.
    const RECONNECT_MS: [u64; 2] = [1_000, 3_000];

    /// Begins the stream with the answer to the first question.
    pub(crate) fn new(
        room: Arc<RoomStage>,
        pipeline: Arc<Pipeline>,
        opening: Opening,
    ) -> Option<Self> {
        let Opening { place, language, told } = opening;
        let (ticket, reason) = told?;
        let now = Instant::now();
        let draw = ticket.id.draw(pipeline.clock.now().as_nanos());
        // Streams that were opened together do not end together.
        let longest = place.push().longest(&room.rules());
        let lifetime = longest - longest / 5 * low(draw >> 32, 1_000) / 1_000;
        let mut stream = Self {
            room,
            pipeline,
            place,
            language,
            ticket,
            event: None,
            asked: None,
            timer: Box::pin(sleep_until(now)),
            asked_at: now,
            interval: Duration::ZERO,
            has_failed: false,
            sent_at: now,
            ends_at: now + lifetime,
            turn_until: None,
            is_over: false,
        };
        stream.handle_verdict(Ok(Verdict::Wait { ticket, reason }), now);
        let [shortest, others] = Self::RECONNECT_MS;
        let retry = format!("retry: {}\n", shortest + draw % others).into_bytes();
        let first = stream.event.take().unwrap_or_default();
        stream.event = Some([&retry[..], &first].concat().into());
        Some(stream)
    }

    /// Advances the stream until it has an event to send. `None` is the end of the stream.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            let now = Instant::now();
            if let Some(event) = self.event.take() {
                self.sent_at = now;
                return Poll::Ready(Some(event));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            if let Some(asked) = &mut self.asked
                && let Poll::Ready(verdict) = asked.as_mut().poll(cx)
            {
                self.asked = None;
                self.handle_verdict(verdict, now);
                continue;
            }
            let Some(standing) = self.place.standing(now) else {
                self.is_over = true;
                continue;
            };
            if now >= self.ends_at {
                self.end(StreamEnd::Lifetime);
                continue;
            }
            if self.turn_until.is_some_and(|until| now >= until) {
                self.end(StreamEnd::Turn);
                continue;
            }
            let interval = if self.has_failed {
                Self::RETRY
            } else if standing.is_front {
                self.interval.min(Self::LOOK)
            } else {
                self.interval
            };
            let next = self.asked_at + interval;
            if self.asked.is_none() && (standing.is_called || now >= next) {
                self.ask(now);
                continue;
            }
            let beat = self.sent_at + self.place.push().heartbeat;
            if now >= beat {
                self.event = Some(HEARTBEAT);
                continue;
            }
            let mut due = beat.min(self.ends_at).min(self.turn_until.unwrap_or(beat));
            if self.asked.is_none() {
                due = due.min(next);
            }
            // A call that came in the meantime does not wake the stream, so the stream checks
            // again.
            if !self.place.waits(due, cx.waker()) && self.asked.is_none() {
                continue;
            }
            if self.timer.deadline() != due {
                self.timer.as_mut().reset(due);
            }
            ready!(self.timer.as_mut().poll(cx));
        }
    }

    /// Asks the store whether it is the visitor's turn.
    fn ask(&mut self, now: Instant) {
        let room = &self.room;
        self.asked_at = now;
        if room.rules().mode == RoomMode::Suspended {
            // The visitor's next request is let through without a call to the store.
            let ticket = self.ticket;
            let reason = Reason::QueuedTurn;
            return self.handle_verdict(Ok(Verdict::Wait { ticket, reason }), now);
        }
        self.asked = Some(room.stay(self.ticket));
    }

    /// Takes the store's answer, and prepares the event for it.
    fn handle_verdict(&mut self, mut verdict: Result<Verdict, StoreError>, now: Instant) {
        self.has_failed = false;
        let room = &*Arc::clone(&self.room);
        if let Ok(verdict) = &mut verdict
            && !matches!(verdict, Verdict::Wait { ticket, .. } if !ticket.placed)
        {
            room.observe(&Visitor::Unknown, verdict);
        }
        match verdict {
            Ok(Verdict::Wait { ticket, reason: Reason::QueuedTurn }) => {
                self.ticket = ticket;
                self.turn(room, now);
            }
            // The visitor has been admitted, by another request or because the store has no `stay`.
            Ok(Verdict::Admit { .. }) => {
                self.turn(room, now);
                self.end(StreamEnd::Turn);
            }
            Ok(Verdict::Wait { ticket, reason }) => self.waits(room, ticket, &reason),
            Ok(Verdict::Refuse { .. }) => self.end(StreamEnd::Refused),
            // Requests reach the application without the store, so there is nothing to wait for.
            Err(error)
                if error.kind() != StoreErrorKind::Busy
                    && room.admits_without_store(self.pipeline.clock.now()) =>
            {
                self.turn(room, now);
            }
            Err(_) => self.has_failed = true,
        }
    }

    /// Announces the visitor's turn, unless it has been announced already.
    fn turn(&mut self, room: &RoomStage, now: Instant) {
        self.interval = Self::COMING;
        if self.turn_until.is_none() {
            self.turn_until = Some(now + Self::TURN);
            self.event = Some(self.render(room, "turn", &Reason::QueuedTurn));
        }
        self.moves(room, true);
    }

    /// Tells the visitor its position, as often as the store asks for a check-in.
    fn waits(&mut self, room: &RoomStage, ticket: Ticket, reason: &Reason) {
        let is_news = self.turn_until.take().is_some()
            || self.interval.is_zero()
            || ticket.shown_position != self.ticket.shown_position
            || self.asked_at >= self.sent_at + Self::SHORTEST;
        self.ticket = ticket;
        let now = self.pipeline.clock.now();
        self.interval = ticket.retry_after(now).max(Self::LOOK);
        if let Some(start) = self.look_at_start(room, now) {
            self.interval = self.interval.min(start);
        }
        if is_news {
            self.event = Some(self.render(room, "position", reason));
        }
        self.moves(room, false);
    }

    /// If this stream waits for the start of an event, returns the time until its next check for a
    /// turn, which is just after the start. Clients that poll are spread over a few seconds after
    /// the start, so that they do not all come at once. Streams need not be spread, because most of
    /// them send nothing at that time.
    fn look_at_start(&self, room: &RoomStage, now: Timestamp) -> Option<Duration> {
        let plan = room.plan()?;
        let Phase::Prequeue { event, .. } = plan.phase_at(now) else { return None };
        let spread = Duration::from_millis(low(self.ticket.id.draw(now.as_nanos()), 450).into());
        Some(event.start.since(now) + Self::AFTER_START + spread)
    }

    /// The time from the start of an event to the first check by a stream.
    const AFTER_START: Duration = Duration::from_millis(10);
    /// The shortest time between two events about the same position.
    const SHORTEST: Duration = Duration::from_secs(5);

    /// Moves the stream to its place in the order of the line.
    fn moves(&mut self, room: &RoomStage, has_turn: bool) {
        let order = order(&room.rules(), &self.ticket, self.pipeline.clock.now());
        self.place.moves(order, has_turn);
    }

    /// Ends the stream once the last event has been sent.
    fn end(&mut self, end: StreamEnd) {
        self.place.end = end;
        self.is_over = true;
    }

    /// Renders an event.
    fn render(&self, room: &RoomStage, name: &str, reason: &Reason) -> Bytes {
        let rules = room.rules();
        let plan = room.plan();
        let plan = plan.as_deref();
        let now = self.pipeline.clock.now();
        let told = StreamFacts { rules: &rules, plan, ticket: &self.ticket, reason, now };
        self.pipeline.responder.event(name, self.language, &told)
    }
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        this.poll_event(cx).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

/// A comment, which clients ignore.
const HEARTBEAT: Bytes = Bytes::from_static(b":\n\n");

/// Returns a random number below `bound`.
fn low(draw: u64, bound: u64) -> u32 {
    u32::try_from(draw % bound).unwrap_or_default()
}
