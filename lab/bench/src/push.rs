//! Push streams that are held open: their memory, the CPU time that they take while the line does not
//! move, and that of a turn.
//!
//! Each stream is read by a task of its own, as a server does, but there are no sockets: the memory
//! of a connection depends on the server and not on the layer.
//!
//! While the line does not move, each stream checks in as often as a visitor would poll, and tells
//! its position each time. A turn includes the looks of the streams at the front that find it.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, ensure};
use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{WaitingRoomLayer, room::Push, service::ResponseBody};

use crate::{
    effort::Effort,
    figure::figure,
    report::Report,
    requests::runtime,
    usage::{resident_bytes, thread_cpu_time},
    visitors::{config, cookie_of},
};

/// Measures the streams, and prints the table.
pub(crate) fn run(effort: Effort) -> Result<()> {
    let (streams, hold) = match effort {
        Effort::Full => (10_000, Duration::from_secs(60)),
        Effort::Quick => (10_000, Duration::from_secs(20)),
        Effort::Smoke => (50, Duration::from_millis(100)),
    };
    let held = runtime().block_on(held(streams, hold))?;
    let columns = [
        "push streams",
        "bytes each",
        "CPU µs to open one",
        "held: CPU µs each a minute",
        "events each a minute",
        "CPU µs an event",
        "CPU µs a turn",
    ];
    let mut report = Report::new("Push streams", "push", effort, &columns);
    let Held { bytes, opening_us, holding_us, events, turn_us } = held;
    let row = [bytes, opening_us, holding_us, events, holding_us / events, turn_us].map(figure);
    report.row([streams.to_string()].into_iter().chain(row));
    report.note("The bytes include the task that reads a stream, but no socket.");
    report.note(
        "The line does not move while the streams are held. Then a tenth of it has its turn.",
    );
    println!("{report}");
    Ok(())
}

/// The cost of each stream.
struct Held {
    bytes: f64,
    opening_us: f64,
    /// The CPU time in a minute.
    holding_us: f64,
    /// The number of events in a minute.
    events: f64,
    turn_us: f64,
}

/// The numbers of events that all streams have sent.
#[derive(Debug, Default)]
struct Sent {
    events: AtomicU32,
    turns: AtomicU32,
}

/// Opens streams, holds them for this time, and then lets a tenth of them have their turn.
async fn held(streams: u32, hold: Duration) -> Result<Held> {
    let push = Push::at(PATH).max_streams(streams).max_streams_per_network(streams);
    let layer = WaitingRoomLayer::new(config().push(push).build()?);
    let guest = visit(&layer, "/", None).await;
    ensure!(guest.status() == StatusCode::OK, "the room has a slot");
    // The line exists before, so that only the streams are measured.
    let mut cookies = Vec::new();
    for _ in 0..streams {
        cookies.push(cookie_of(&visit(&layer, "/", None).await));
    }
    let bytes = resident_bytes()?;
    let begin = thread_cpu_time();
    let opened = join_all(cookies.into_iter().map(|cookie| visit(&layer, PATH, cookie))).await;
    let sent = Arc::<Sent>::default();
    let mut readers = Vec::new();
    for response in opened {
        ensure!(response.status() == StatusCode::OK, "{}", response.status());
        readers.push(tokio::spawn(read(response.into_body(), Arc::clone(&sent))));
    }
    // Each stream sends its first event.
    sleep(Duration::from_secs(1)).await;
    let opening = thread_cpu_time().saturating_sub(begin);
    let grown = resident_bytes()?.saturating_sub(bytes);

    let begin = thread_cpu_time();
    let before = sent.events.load(Ordering::Relaxed);
    sleep(hold).await;
    let holding = thread_cpu_time().saturating_sub(begin).as_secs_f64() / hold.as_secs_f64();
    let events = sent.events.load(Ordering::Relaxed) - before;
    ensure!(readers.iter().all(|reader| !reader.is_finished()), "all streams are open");
    ensure!(sent.turns.load(Ordering::Relaxed) == 0, "nobody has a turn before a slot is free");

    let turns = (streams / 10).max(1);
    let begin = thread_cpu_time();
    let began = Instant::now();
    let room = layer.handle().room().expect("the layer has a room");
    room.set_limits(1 + turns, None).await?;
    let told = async {
        while sent.turns.load(Ordering::Relaxed) < turns {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(30), told).await?;
    let turning = thread_cpu_time().saturating_sub(begin).as_secs_f64();
    // The other streams go on meanwhile.
    let turning = turning - holding * began.elapsed().as_secs_f64();
    let each = f64::from(streams);
    Ok(Held {
        bytes: grown as f64 / each,
        opening_us: opening.as_secs_f64() * 1e6 / each,
        holding_us: holding * 60.0 * 1e6 / each,
        events: f64::from(events) / hold.as_secs_f64() * 60.0 / each,
        turn_us: turning * 1e6 / f64::from(turns),
    })
}

/// Reads a stream to its end, and counts its events.
async fn read(mut body: ResponseBody<Full<Bytes>>, sent: Arc<Sent>) {
    while let Some(Ok(frame)) = body.frame().await {
        let frame = frame.into_data().unwrap_or_default();
        if frame.starts_with(b"event: turn") {
            sent.turns.fetch_add(1, Ordering::Relaxed);
        }
        if !frame.starts_with(b":") {
            sent.events.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Sends a request, with a token if there is one.
async fn visit(
    layer: &WaitingRoomLayer,
    path: &str,
    token: Option<String>,
) -> Response<ResponseBody<Full<Bytes>>> {
    let mut request = Request::get(path).header(header::ACCEPT, "text/event-stream");
    if let Some(token) = token {
        request = request.header(header::COOKIE, format!("__Host-wr-shop={token}"));
    }
    let request = request.body(()).expect("the request is well formed");
    let application = async |_| Ok::<_, Infallible>(Response::new(Full::default()));
    let Ok(response) = layer.layer(service_fn(application)).oneshot(request).await;
    response
}

const PATH: &str = "/waiting-room/events";
