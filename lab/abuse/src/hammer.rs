//! Many connections, each of which sends its next request as soon as the last one is answered.

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    client::{Answer, Client},
    site::Site,
};

/// The answers to a flood of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) sent: u64,
    /// The number of requests without an answer.
    pub(crate) failed: u64,
    /// The number of answers from the application.
    pub(crate) served: u64,
    /// The number of answers by reason, or by status if they have no reason.
    pub(crate) reasons: BTreeMap<String, u64>,
    /// The time from before the first request to after the last answer.
    pub(crate) elapsed: Duration,
}

/// Sends the requests that `make` returns for consecutive numbers, from the address `from`, for the
/// time `length`.
pub(crate) async fn hammer<F>(
    site: &Site,
    from: Ipv4Addr,
    length: Duration,
    make: F,
) -> Result<Tally>
where
    F: Fn(u64) -> Request<Empty<Bytes>> + Send + Sync + 'static,
{
    let start = Instant::now();
    let make = Arc::new(make);
    let number = Arc::new(AtomicU64::new(0));
    let mut connections = JoinSet::new();
    for _ in 0..site.scale.connections() {
        let mut client = Client::new(from, site.address());
        let make = Arc::clone(&make);
        let number = Arc::clone(&number);
        connections.spawn(async move {
            let mut tally = Tally::default();
            while start.elapsed() < length {
                let request = make(number.fetch_add(1, Ordering::Relaxed));
                tally.note(client.send(request).await.as_ref().ok());
            }
            tally
        });
    }
    let mut all = Tally::default();
    while let Some(tally) = connections.join_next().await {
        all.add(tally?);
    }
    Ok(Tally { elapsed: start.elapsed(), ..all })
}

impl Tally {
    pub(crate) fn note(&mut self, answer: Option<&Answer>) {
        self.sent += 1;
        let Some(answer) = answer else {
            self.failed += 1;
            return;
        };
        self.served += u64::from(answer.is_served());
        let reason = match answer.reason() {
            "" => answer.status.as_str(),
            reason => reason,
        };
        *self.reasons.entry(reason.to_owned()).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.failed += other.failed;
        self.served += other.served;
        for (reason, count) in other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
    }

    /// The number of answers.
    pub(crate) const fn answered(&self) -> u64 {
        self.sent - self.failed
    }
}
