//! The load: an open loop, in which arrivals do not depend on answers, and a closed loop.

use std::{sync::Arc, thread, time::Duration};

use anyhow::Result;
use http::StatusCode;
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use rand_distr::Exp1;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until, timeout_at},
};

use super::{
    client::Client,
    found::{Found, Outcome},
};
use crate::{requests::runtime, usage::pin_to};

/// Sends `per_second` requests per second, at times drawn from a seed. Requests that arrive after
/// the warm-up count.
pub(super) fn open_loop(
    port: u16,
    per_second: f64,
    (warm_up, measured): (Duration, Duration),
    seed: u64,
) -> Result<Found> {
    on_the_other_core(async move {
        let client = Arc::new(Client::new(port));
        let begin = Instant::now();
        let mut found = Found { measured, ..Found::default() };
        let mut clients = JoinSet::new();
        let mut add = |(intended, outcome, late)| {
            if intended >= begin + warm_up {
                found.add(outcome, late);
            }
        };
        let arrivals = Arrivals::new(per_second, seed);
        for due in arrivals.take_while(|due| *due < warm_up + measured) {
            sleep_until(begin + due).await;
            clients.spawn(come(Arc::clone(&client), begin + due));
            while let Some(done) = clients.try_join_next() {
                add(done?);
            }
        }
        while let Some(done) = clients.join_next().await {
            add(done?);
        }
        Ok(found)
    })
}

/// Measures the answers per second that clients receive if each of them sends its next request
/// after every answer. The measurement begins after a warm-up, and lasts until each client has an
/// answer, however long that takes.
pub(super) fn closed_loop(
    port: u16,
    clients: u32,
    (warm_up, measured): (Duration, Duration),
) -> Result<f64> {
    on_the_other_core(async move {
        let client = Arc::new(Client::new(port));
        let from = Instant::now() + warm_up;
        let mut asking = JoinSet::new();
        for _ in 0..clients {
            asking.spawn(ask_until(Arc::clone(&client), from, from + measured));
        }
        let mut answers = 0;
        while let Some(done) = asking.join_next().await {
            answers += done??;
        }
        Ok(f64::from(answers) / from.elapsed().max(measured).as_secs_f64())
    })
}

fn on_the_other_core<T: Send>(load: impl Future<Output = Result<T>> + Send) -> Result<T> {
    let run = || {
        pin_to(1)?;
        runtime().block_on(load)
    };
    thread::scope(|scope| scope.spawn(run).join().expect("a load that fails returns an error"))
}

/// Runs one client with this intended arrival.
async fn come(client: Arc<Client>, intended: Instant) -> (Instant, Outcome, Duration) {
    let late = intended.elapsed();
    let answer = timeout_at(intended + PATIENCE, client.ask()).await;
    let waited = intended.elapsed();
    let outcome = match answer {
        // A timer is not exact: this client should have left before the answer.
        Ok(_) if waited > PATIENCE => Outcome::Gone,
        Ok(Ok(StatusCode::OK)) => Outcome::Served(waited),
        Ok(Ok(_)) => Outcome::Refused,
        Ok(Err(_)) => Outcome::Failed,
        Err(_) => Outcome::Gone,
    };
    (intended, outcome, late)
}

/// Returns how many answers one client gets between two times; at least one, which may come later.
async fn ask_until(client: Arc<Client>, from: Instant, end: Instant) -> Result<u32> {
    let mut answers = 0;
    while answers == 0 {
        client.ask().await?;
        answers = u32::from(Instant::now() >= from);
    }
    while let Ok(answer) = timeout_at(end, client.ask()).await {
        answer?;
        answers += 1;
    }
    Ok(answers)
}

/// A Poisson process: an endless iterator over the times of arrival, in order.
pub(super) struct Arrivals {
    chance: Xoshiro256PlusPlus,
    per_second: f64,
    now: Duration,
}

impl Arrivals {
    pub(super) fn new(per_second: f64, seed: u64) -> Self {
        let chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { chance, per_second, now: Duration::ZERO }
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let gap: f64 = self.chance.sample(Exp1);
        self.now += Duration::from_secs_f64(gap / self.per_second);
        Some(self.now)
    }
}

/// How long a client waits for an answer.
pub(super) const PATIENCE: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use axum::{Router, routing::get};
    use tokio::net::TcpListener;

    use super::*;

    async fn client_of_a_service() -> Arc<Client> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let app = Router::new().route("/", get(|| async {}));
        tokio::spawn(axum::serve(listener, app).into_future());
        Arc::new(Client::new(port))
    }

    async fn come_late(by: Duration) -> Outcome {
        let client = client_of_a_service().await;
        let (_, outcome, late) = come(client, Instant::now() - by).await;
        assert!(late >= by);
        outcome
    }

    #[tokio::test]
    async fn the_wait_of_a_late_request_counts_from_its_due_time() {
        let late = PATIENCE / 5;
        let outcome = come_late(late).await;
        assert!(matches!(outcome, Outcome::Served(waited) if waited >= late), "{outcome:?}");
    }

    #[tokio::test]
    async fn a_client_gets_an_answer_in_any_time() {
        let over = Instant::now();
        assert!(ask_until(client_of_a_service().await, over, over).await.unwrap() > 0);
    }

    #[tokio::test]
    async fn a_client_due_to_leave_before_its_answer_is_gone() {
        assert_eq!(come_late(PATIENCE).await, Outcome::Gone);
    }

    #[test]
    fn clients_arrive_at_the_given_rate_and_repeatably() {
        let come = |seed| Arrivals::new(100.0, seed).take_while(|at| at.as_secs() < 100);
        let many = come(1).count();
        assert!((9_700..10_300).contains(&many), "{many}");
        assert!(come(1).eq(come(1)) && !come(1).eq(come(2)));
    }
}
