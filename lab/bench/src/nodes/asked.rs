//! A closed loop: callers that make the next call after each answer.

use std::time::Duration;

use anyhow::Result;
use tokio::{task::JoinSet, time::Instant};
use waiting_room_engines::EngineServer;

use crate::usage::process_cpu_time;

/// The figures of the callers and of the server.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) per_second: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    /// The CPU time of the server for one call, in microseconds.
    pub(super) server_us: f64,
}

/// Runs the callers for a while; `ask` makes one call, and receives the number of its caller.
pub(super) async fn ask<F>(
    server: Option<&EngineServer>,
    callers: u32,
    duration: Duration,
    ask: impl Fn(u32) -> F + Clone + Send + 'static,
) -> Result<Asked>
where
    F: Future<Output = Result<()>> + Send,
{
    let cpu = || server.and_then(EngineServer::process_id).map(process_cpu_time).transpose();
    let cpu_before = cpu()?;
    let began = Instant::now();
    let mut running = JoinSet::new();
    for caller in 0..callers {
        let ask = ask.clone();
        running.spawn(async move {
            let mut micros = Vec::new();
            while began.elapsed() < duration {
                let sent = Instant::now();
                ask(caller).await?;
                micros.push(sent.elapsed().as_secs_f64() * 1e6);
            }
            Ok::<_, anyhow::Error>(micros)
        });
    }
    let mut micros = Vec::new();
    while let Some(some) = running.join_next().await {
        micros.extend(some??);
    }
    let took = began.elapsed();
    let used = cpu()?.zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
    micros.sort_by(f64::total_cmp);
    let count = micros.len() as f64;
    let at = |percent: usize| micros.get(micros.len() * percent / 100).copied().unwrap_or(f64::NAN);
    Ok(Asked {
        per_second: count / took.as_secs_f64(),
        p50_us: at(50),
        p99_us: at(99),
        server_us: used.map_or(f64::NAN, |used| used.as_secs_f64() * 1e6 / count),
    })
}
