//! The process with the servers, all of them on one thread of one core, and its handle.

use std::{io, net::SocketAddr, time::Duration};

use anyhow::{Result, anyhow};
use axum::{Router, body::Body, extract::Request, routing::get};
use bytes::Bytes;
use http::{Response, header};
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use tokio::{net::TcpListener, task::JoinSet};
use tower::ServiceExt;

use super::rooms::{HTML, JSON, full_room, guarded_room, still_room};
use crate::{
    child::{Process, end_with_starter, say},
    limits::REFUSING,
    requests::{hello, runtime},
    usage::{pin_to, process_cpu_time},
};

/// A process with the servers, which is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    process: Process,
    pub(super) address: Address,
}

impl Server {
    pub(super) fn start() -> Result<Self> {
        let (process, address) = Process::of_this_program(&["serve"])?;
        Ok(Self { process, address })
    }

    /// The CPU time of the process so far.
    pub(super) fn cpu_time(&self) -> Result<Duration> {
        process_cpu_time(self.process.id())
    }
}

/// The ports and tokens for requests to the servers. The process prints them in one line, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Address {
    /// The port of the application alone.
    pub(super) hello: u16,
    /// The port of the application behind a full room.
    pub(super) room: u16,
    /// The port of the application behind a full room whose clock stands still.
    pub(super) still: u16,
    /// The port of the application behind a full room, a limit and a gate.
    pub(super) guarded: u16,
    /// The port of an application that always sends a copy of the answer to a ticket, in JSON.
    pub(super) json: u16,
    /// The same in HTML.
    pub(super) html: u16,
    /// The pass that fills the room.
    pub(super) pass: String,
    /// The pass that fills the room with a limit and a gate.
    pub(super) guarded_pass: String,
    /// A ticket of the room that is not due during the measurement.
    pub(super) early: String,
    /// A ticket that is due, of the room whose clock stands still.
    pub(super) due: String,
    /// The ports of the applications that refuse every request.
    pub(super) refusing: Vec<u16>,
}

/// Serves until standard input ends.
pub(crate) fn serve() -> Result<()> {
    pin_to(0)?;
    end_with_starter();
    runtime().block_on(async {
        let room = full_room().await?;
        let still = still_room().await?;
        let guarded = guarded_room().await?;
        let app = hello().layer(room.layer.for_axum());
        let cookie = format!("__Host-wr-shop={}", room.ticket);
        let mut servers = JoinSet::new();
        let mut refusing = Vec::new();
        for case in REFUSING {
            refusing.push(listen(&mut servers, (case.app)()).await?);
        }
        let address = Address {
            hello: listen(&mut servers, hello()).await?,
            json: listen(&mut servers, ready_made(&app, JSON, &cookie).await?).await?,
            html: listen(&mut servers, ready_made(&app, HTML, &cookie).await?).await?,
            room: listen(&mut servers, app).await?,
            still: listen(&mut servers, hello().layer(still.layer.for_axum())).await?,
            guarded: listen(&mut servers, hello().layer(guarded.layer.for_axum())).await?,
            pass: room.pass,
            guarded_pass: guarded.pass,
            early: room.ticket,
            due: still.ticket,
            refusing,
        };
        say(&address)?;
        match servers.join_next().await {
            Some(ended) => Ok(ended??),
            None => Err(anyhow!("there are servers")),
        }
    })
}

async fn listen(servers: &mut JoinSet<io::Result<()>>, app: Router) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    servers.spawn(axum::serve(listener, app).into_future());
    Ok(port)
}

/// Creates an application that always sends the answer that `app` gives now to a request with this
/// cookie: the remaining cost if nothing is decided or rendered, and the same bytes are sent.
pub(super) async fn ready_made(app: &Router, types: &str, cookie: &str) -> Result<Router> {
    let request = Request::get("/").header(header::ACCEPT, types).header(header::COOKIE, cookie);
    let Ok(response) = app.clone().oneshot(request.body(Body::empty())?).await;
    let (mut head, body) = response.into_parts();
    // The server sets this header itself, and it must not be there twice.
    head.headers.remove(header::CONTENT_LENGTH);
    let answer: Response<Bytes> = Response::from_parts(head, body.collect().await?.to_bytes());
    let repeat = move || std::future::ready(answer.clone().map(Body::from));
    Ok(Router::new().route("/", get(repeat)))
}
