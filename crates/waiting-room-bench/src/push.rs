//! Push streams that are held open: their memory, and the CPU time that they take while nothing
//! changes.
//!
//! Each stream is read by a task of its own, as a server does, but there are no sockets: the memory
//! of a connection depends on the server and not on the layer.

use std::{convert::Infallible, time::Duration};

use anyhow::{Result, ensure};
use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use tokio::time::sleep;
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
    let columns = ["push streams", "bytes each", "opened, CPU µs each", "held, CPU % of a core"];
    let mut report = Report::new("Push streams", "push", effort, &columns);
    let row = [held.bytes, held.opening_us, held.percent].map(figure);
    report.row([streams.to_string()].into_iter().chain(row));
    report.note("The bytes include the task that reads a stream, but no socket.");
    println!("{report}");
    Ok(())
}

struct Held {
    bytes: f64,
    opening_us: f64,
    percent: f64,
}

/// Opens streams, and holds them for this time.
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
    let (bytes, begin) = (resident_bytes()?, thread_cpu_time());
    let opened = join_all(cookies.into_iter().map(|cookie| visit(&layer, PATH, cookie))).await;
    let mut readers = Vec::new();
    for response in opened {
        ensure!(response.status() == StatusCode::OK, "{}", response.status());
        let mut body = response.into_body();
        let reading = async move { while body.frame().await.is_some() {} };
        readers.push(tokio::spawn(reading));
    }
    // Each stream sends its first event.
    sleep(Duration::from_secs(1)).await;
    let opening = thread_cpu_time().saturating_sub(begin);
    let grown = resident_bytes()?.saturating_sub(bytes);
    let begin = thread_cpu_time();
    sleep(hold).await;
    let holding = thread_cpu_time().saturating_sub(begin);
    ensure!(readers.iter().all(|reader| !reader.is_finished()), "all streams are open");
    let each = f64::from(streams);
    Ok(Held {
        bytes: grown as f64 / each,
        opening_us: opening.as_secs_f64() * 1e6 / each,
        percent: holding.as_secs_f64() / hold.as_secs_f64() * 100.0,
    })
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
