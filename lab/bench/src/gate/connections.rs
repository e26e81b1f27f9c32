//! The memory of a client that waits over loopback: the server's part of its connection, and its
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

/// Measures how much the server grows for each client, before and after its request.
pub(super) fn weighed(effort: Effort) -> Result<Report> {
    allow_many_connections()?;
    let title = "The memory of a client that waits over loopback";
    let columns = ["waits for", "connected, KiB", "waiting, KiB", "bar"];
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
        "Resident memory of the server for each of {} connections of HTTP/1. In every row, 16 of \
         them are in the handler.",
        effort.connections(),
    ));
    Ok(report)
}

/// Returns the KiB of each client when it is connected, and when its request waits.
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

/// Returns the resident bytes once they do not change any more.
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

/// The time after which an unchanged size counts as final.
const LOOK: Duration = Duration::from_millis(200);
