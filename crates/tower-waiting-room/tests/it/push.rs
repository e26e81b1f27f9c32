//! Push: streams of events that tell waiting visitors their position and their turn, in virtual
//! time.

mod bounds;
mod stores;
mod stream;

use std::{collections::HashMap, convert::Infallible, time::Duration};

use futures_util::future::join_all;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use serde_json::Value;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::AbortHandle,
    time::{Instant, sleep, timeout},
};
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    WaitingRoomConfig, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder,
    room::{MemoryStore, Push},
    service::ResponseBody,
    time::{Clock, Timestamp},
};

use crate::support::config;

pub(crate) const PATH: &str = "/waiting-room/events";

/// A room whose time is the paused time of tokio.
#[derive(Clone)]
struct Room {
    layer: WaitingRoomLayer,
}

#[derive(Clone, Copy, Debug)]
struct PausedClock(Instant);

impl Clock for PausedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(1_700_000_000) + self.0.elapsed()
    }
}

/// A visitor with its cookie.
struct Visitor {
    room: Room,
    cookie: Option<String>,
    headers: HeaderMap,
}

/// The answer to a request.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: ResponseBody<Empty<bytes::Bytes>>,
}

/// An open stream, which a task reads as a server does. Dropping it disconnects the client.
struct Stream {
    events: UnboundedReceiver<Event>,
    task: AbortHandle,
}

/// One event or comment, as it was sent.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Heartbeat,
    Named { name: String, data: Value, retry_ms: Option<u64> },
}

/// A room with push whose sessions do not lapse in a test.
fn lasting() -> WaitingRoomConfigBuilder {
    pushing().session_duration(secs(3_600))
}

fn pushing() -> WaitingRoomConfigBuilder {
    config().push(Push::at(PATH))
}

impl Room {
    fn new(config: WaitingRoomConfigBuilder) -> Self {
        Self::of(config.build().unwrap())
    }

    fn of(config: WaitingRoomConfig) -> Self {
        Self { layer: WaitingRoomLayer::with_clock(config, PausedClock(Instant::now())) }
    }
}

impl Room {
    fn visitor(&self) -> Visitor {
        Visitor { room: self.clone(), cookie: None, headers: HeaderMap::new() }
    }

    /// A visitor who has a slot.
    async fn guest(&self) -> Visitor {
        let mut guest = self.visitor();
        assert_eq!(guest.get("/").await.status, StatusCode::OK);
        guest
    }

    /// A visitor with a place in the line, and its open stream.
    async fn streaming(&self) -> (Visitor, Stream) {
        let mut visitor = self.visitor();
        visitor.get("/").await;
        let stream = visitor.open().await;
        (visitor, stream)
    }

    /// This many visitors who arrive one after the other, with their streams.
    async fn crowd(&self, visitors: usize) -> Vec<(Visitor, Stream)> {
        let mut crowd: Vec<_> = (0..visitors).map(|_| self.visitor()).collect();
        for visitor in &mut crowd {
            visitor.get("/").await;
            sleep(Duration::from_millis(1)).await;
        }
        let opened = crowd.into_iter().map(|mut visitor| async move {
            let stream = visitor.open().await;
            (visitor, stream)
        });
        join_all(opened).await
    }
}

impl Visitor {
    async fn send(&mut self, request: http::request::Builder) -> Answer {
        let mut request = request.body(Empty::<bytes::Bytes>::new()).unwrap();
        request.headers_mut().extend(self.headers.clone());
        if let Some(cookie) = &self.cookie {
            request.headers_mut().insert(header::COOKIE, cookie.parse().unwrap());
        }
        let application = service_fn(|request: Request<Empty<bytes::Bytes>>| async move {
            let mut response = Response::new(Empty::new());
            if request.uri().path() == "/end" {
                let revoke = "revoke".parse().unwrap();
                response.headers_mut().insert("waiting-room-command", revoke);
            }
            Ok::<_, Infallible>(response)
        });
        let response = self.room.layer.layer(application).oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        if let Some(cookie) = parts.headers.get(header::SET_COOKIE) {
            let (pair, attributes) = cookie.to_str().unwrap().split_once(';').unwrap();
            self.cookie = (!attributes.contains("Max-Age=0")).then(|| pair.to_owned());
        }
        Answer { status: parts.status, headers: parts.headers, body }
    }

    async fn get(&mut self, path: &str) -> Answer {
        self.send(Request::get(path).header("accept", "application/json")).await
    }

    /// Asks for a stream.
    async fn events(&mut self, path: &str) -> Answer {
        self.send(Request::get(path).header("accept", "text/event-stream")).await
    }

    async fn open(&mut self) -> Stream {
        let answer = self.events(PATH).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.headers["content-type"], "text/event-stream");
        Stream::of(answer)
    }

    async fn is_inside(&mut self) -> bool {
        self.get("/").await.status == StatusCode::OK
    }
}

impl Answer {
    async fn json(self) -> Value {
        serde_json::from_slice(&self.body.collect().await.unwrap().to_bytes()).unwrap()
    }
}

impl Stream {
    fn of(answer: Answer) -> Self {
        let (sender, events) = unbounded_channel();
        let mut body = answer.body;
        let reading = async move {
            while let Some(frame) = body.frame().await {
                let frame = frame.unwrap().into_data().unwrap();
                _ = sender.send(Event::read(&frame));
            }
        };
        Self { events, task: tokio::spawn(reading).abort_handle() }
    }

    /// The next event or comment, or `None` at the end of the stream.
    async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The next event that is not a heartbeat.
    async fn event(&mut self) -> Option<(String, Value)> {
        loop {
            match self.next().await? {
                Event::Heartbeat => {}
                Event::Named { name, data, .. } => return Some((name, data)),
            }
        }
    }

    /// Reads until it is the visitor's turn, and returns the time that this took.
    async fn turn(&mut self) -> Duration {
        let since = Instant::now();
        while self.event().await.expect("a turn comes before the end").0 != "turn" {}
        since.elapsed()
    }

    /// Whether the stream says for this time that it is not the visitor's turn.
    async fn has_no_turn_for(&mut self, time: Duration) -> bool {
        timeout(time, self.turn()).await.is_err()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Event {
    fn read(frame: &[u8]) -> Self {
        let text = std::str::from_utf8(frame).unwrap();
        if text == ":\n\n" {
            return Self::Heartbeat;
        }
        let lines = text.strip_suffix("\n\n").expect("an event ends with an empty line").lines();
        let fields: HashMap<_, _> = lines.map(|line| line.split_once(": ").unwrap()).collect();
        assert!(!fields.contains_key("id"), "{text}");
        Self::Named {
            name: fields["event"].to_owned(),
            data: serde_json::from_str(fields["data"]).unwrap(),
            retry_ms: fields.get("retry").map(|retry| retry.parse().unwrap()),
        }
    }
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn position(event: &(String, Value)) -> u64 {
    assert_eq!(event.0, "position");
    event.1["waitingRoom"]["position"].as_u64().unwrap()
}
