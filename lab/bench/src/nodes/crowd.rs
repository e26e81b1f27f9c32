//! A long line: the memory of each visitor, and the cost of the check-ins for the server.

use std::time::Duration;

use anyhow::{Context, Result};
use redis::AsyncCommands;
use tokio::time::{Instant, interval};
use waiting_room_core::{Pass, Store, Timestamp, VisitorId};
use waiting_room_engines::EngineServer;

use super::deciders::{connection, full, line};
use crate::usage::process_cpu_time;

/// The resources of the server for a long line.
#[derive(Debug)]
pub(super) struct Crowd {
    pub(super) active_bytes: f64,
    pub(super) waiting_bytes: f64,
    /// Check-ins per second.
    pub(super) per_second: f64,
    /// The load of one core, from 0 to 1.
    pub(super) cpu: f64,
}

/// Fills a room, lines up visitors, and then lets them check in on time for a while.
pub(super) async fn crowd(
    server: &EngineServer,
    visitors: u32,
    duration: Duration,
) -> Result<Crowd> {
    let store = full(server).await?;
    let before = used_memory(server).await?;
    let now = store.now();
    for number in 0..visitors {
        // A valid pass that the room does not know counts when it is seen, as after a loss.
        let id = VisitorId::new(1 << 100 | u128::from(number));
        let expires_at = Timestamp::from_secs(now.as_secs() + 3_600);
        store.renew(Pass::new(id, 0, now, now, expires_at)).await?;
    }
    let with_active = used_memory(server).await?;
    let tickets = line(&store, visitors).await?;
    let with_line = used_memory(server).await?;

    let mut ticks = interval(Duration::from_millis(10));
    let process = server.process_id().context("the server runs")?;
    let cpu = process_cpu_time(process)?;
    let began = Instant::now();
    let mut sent = 0_usize;
    while began.elapsed() < duration {
        ticks.tick().await;
        let due = began.elapsed().as_micros() * u128::from(visitors) / ROUND.as_micros();
        let due = usize::try_from(due)?;
        let some = (sent..due).map(|index| store.check_in(tickets[index % tickets.len()]));
        for verdict in futures_util::future::join_all(some).await {
            verdict?;
        }
        sent = due.max(sent);
    }
    let used = process_cpu_time(process)?.saturating_sub(cpu);
    Ok(Crowd {
        active_bytes: (with_active - before) / f64::from(visitors),
        waiting_bytes: (with_line - with_active) / f64::from(visitors),
        per_second: sent as f64 / began.elapsed().as_secs_f64(),
        cpu: used.as_secs_f64() / began.elapsed().as_secs_f64(),
    })
}

/// The mean interval of a check-in, which is 20 to 26 s.
const ROUND: Duration = Duration::from_secs(23);

async fn used_memory(server: &EngineServer) -> Result<f64> {
    let mut connection = connection(server).await?;
    let _: Option<String> = connection.get("nothing").await?;
    let info: String = redis::cmd("INFO").arg("memory").query_async(&mut connection).await?;
    let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
    Ok(line.context("INFO says how much memory is used")?.parse()?)
}
