//! One client, and the times at which it repeats requests.

use std::time::Duration;

use axum::body::Bytes;
use reqwest::{StatusCode, header::RETRY_AFTER};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::seen::Seen;

/// A client with a connection of its own, and a picture to convert.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    source: Bytes,
    spread: f64,
    seen: Seen,
}

/// The result of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// The gate is full; the client may return after this time.
    Refused(Option<Duration>),
    /// The picture was converted.
    Served,
    /// There was no response, or an unexpected one.
    Trouble,
    /// The request waited in the queue for too long.
    TimedOut,
}

impl Client {
    pub(crate) fn new(url: String, source: Bytes, spread: f64) -> Result<Self, reqwest::Error> {
        Ok(Self { http: http()?, url, source, spread, seen: Seen::default() })
    }

    /// Sends one picture after the other until this time, and waits for the last one to be
    /// converted.
    pub(crate) async fn live(mut self, until: Instant) -> Seen {
        while Instant::now() < until {
            if !self.get_served(until + PATIENCE).await {
                self.seen.unserved += 1;
            }
        }
        self.seen.served_each.push(self.seen.waits_us.len());
        self.seen
    }

    /// Repeats the request until the picture is converted. Returns whether it was.
    async fn get_served(&mut self, until: Instant) -> bool {
        let since = Instant::now();
        let mut back_off = BackOff::new(self.spread);
        while Instant::now() < until {
            let retry_after = match self.ask().await {
                Told::Served => {
                    self.seen.waits_us.push(micros(since.elapsed()));
                    return true;
                }
                Told::Refused(retry_after) => {
                    self.seen.refused += 1;
                    retry_after
                }
                Told::TimedOut => {
                    self.seen.timed_out += 1;
                    None
                }
                Told::Trouble => {
                    self.seen.troubles += 1;
                    None
                }
            };
            sleep(back_off.pause(retry_after)).await;
        }
        false
    }

    async fn ask(&self) -> Told {
        let request = self.http.post(&self.url).body(self.source.clone());
        let Ok(response) = request.send().await else { return Told::Trouble };
        let status = response.status();
        let headers = response.headers();
        let retry_after = seconds(headers.get(RETRY_AFTER).map(|value| value.as_bytes()));
        match (status, response.bytes().await) {
            (StatusCode::OK, Ok(picture)) if !picture.is_empty() => Told::Served,
            (StatusCode::TOO_MANY_REQUESTS, _) => Told::Refused(retry_after),
            (StatusCode::GATEWAY_TIMEOUT, _) => Told::TimedOut,
            _ => Told::Trouble,
        }
    }
}

/// Requests the health check at intervals until this time, and returns the response times in
/// microseconds.
pub(crate) async fn pass_by(url: String, until: Instant) -> Result<Vec<u64>, reqwest::Error> {
    let http = http()?;
    let mut took = Vec::new();
    let mut ticks = interval(NOW_AND_THEN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while Instant::now() < until {
        ticks.tick().await;
        let asked = Instant::now();
        http.get(&url).send().await?.bytes().await?;
        took.push(micros(asked.elapsed()));
    }
    Ok(took)
}

fn http() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder().no_proxy().pool_max_idle_per_host(1).timeout(PATIENCE).build()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The time for which a client keeps trying to get its last picture, and the timeout of a request.
const PATIENCE: Duration = Duration::from_secs(60);

const NOW_AND_THEN: Duration = Duration::from_millis(50);

/// The intervals at which a client repeats a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackOff {
    next: Duration,
    /// From 0 to 1, and different for each client, so that clients do not return together.
    spread: f64,
}

impl BackOff {
    pub(crate) const fn new(spread: f64) -> Self {
        Self { next: FIRST, spread }
    }

    /// Returns the given `Retry-After`. If there is none, returns twice the last pause, up to a
    /// maximum.
    pub(crate) fn pause(&mut self, retry_after: Option<Duration>) -> Duration {
        if let Some(told) = retry_after {
            return told;
        }
        let pause = self.next.mul_f64(1.0 + self.spread);
        self.next = (self.next * 2).min(LONGEST);
        pause
    }
}

/// Parses a `Retry-After` header that contains a number of seconds.
pub(crate) fn seconds(retry_after: Option<&[u8]>) -> Option<Duration> {
    let seconds = std::str::from_utf8(retry_after?).ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_returns_at_the_stated_time() {
        let mut back_off = BackOff::new(0.5);
        let told = Duration::from_secs(7);
        assert_eq!(back_off.pause(Some(told)), told);
        assert_eq!(back_off.pause(seconds(Some(b"3"))), Duration::from_secs(3));
        assert_eq!(back_off.pause(None), Duration::from_millis(375), "what was told is no step");
    }

    #[test]
    fn without_a_stated_time_a_client_doubles_its_wait() {
        let pauses = |spread| {
            let mut back_off = BackOff::new(spread);
            [(); 8].map(|()| back_off.pause(None).as_millis())
        };
        assert_eq!(pauses(0.0), [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
        assert_eq!(pauses(0.5)[..3], [375, 750, 1_500]);
    }

    #[test]
    fn a_malformed_number_of_seconds_is_ignored() {
        for value in [&b""[..], b"soon", b"-1", b"1.5", b"Sat, 21 Nov 2026 08:00:00 GMT", b"\xff"] {
            assert_eq!(seconds(Some(value)), None, "{value:?}");
        }
        assert_eq!(seconds(None), None);
    }
}
