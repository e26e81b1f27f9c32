//! What a client weighs that waits over loopback: its connection, the server's part of it, and its
//! place in the queue.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use tokio::{task::JoinSet, time::sleep};

use super::overload::{Client, Contender, Server, Work};
use crate::{
    effort::Effort,
    figure::{Bar, NONE, figure},
    report::Report,
    requests::runtime,
    usage::{allow_many_connections, resident_bytes_of},
};

/// A table of what the process grows by for each client, before and after it asks.
pub(super) fn weighed(effort: Effort) -> Result<Report> {
    allow_many_connections()?;
    let title = "What a client weighs that waits over loopback";
    let columns = ["what it waits for", "connected, KiB", "and waits, KiB", "bar"];
    let mut report = Report::new(title, "gate", effort, &columns);
    for (name, contender) in CONTENDERS {
        let [idle, waiting] = clients(contender, effort.connections())?;
        let has_bar = contender == Contender::OursFifo;
        let bar = has_bar.then(|| Bar::at_most("KiB", 21.3, waiting).to_string());
        report.row([
            name.to_owned(),
            figure(idle),
            figure(waiting),
            bar.unwrap_or_else(|| NONE.to_owned()),
        ]);
    }
    report.note(format!(
        "What is resident of a server for each of {} connections of HTTP/1, 16 of which are in \
         the handler in every row.",
        effort.connections(),
    ));
    Ok(report)
}

/// What each of so many clients weighs that is connected, and what after it has asked, in KiB.
fn clients(contender: Contender, connections: u32) -> Result<[f64; 2]> {
    let server = Server::start(contender, Work::Never)?;
    runtime().block_on(async {
        let client = Arc::new(Client::new(server.port()));
        let before = settled(&server).await?;
        client.connect(connections).await?;
        let idle = settled(&server).await?;
        let mut waiting = JoinSet::new();
        for _ in 0..connections {
            let client = Arc::clone(&client);
            waiting.spawn(async move { client.ask().await });
        }
        let asked = settled(&server).await?;
        let each = |bytes: f64| bytes / 1_024.0 / f64::from(connections);
        Ok([each(idle - before), each(asked - before)])
    })
}

/// How many bytes are resident once that does not change any more.
async fn settled(server: &Server) -> Result<f64> {
    let mut before = 0;
    loop {
        sleep(LOOK).await;
        let now = resident_bytes_of(server.id())?;
        if now == before {
            return Ok(f64::from(u32::try_from(now / 1_024)?) * 1_024.0);
        }
        before = now;
    }
}

const CONTENDERS: [(&str, Contender); 3] = [
    ("the service, with no gate", Contender::Nothing),
    ("a permit of tower's limit", Contender::Tower),
    ("a permit of ours", Contender::OursFifo),
];

/// As long as nothing changes, nothing will.
const LOOK: Duration = Duration::from_millis(200);
