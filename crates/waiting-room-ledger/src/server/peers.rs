//! The peers of a server: how many connections of one address have not shown a key yet, and which
//! warnings about them were logged.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::holder::count_refused_stream;

/// The most connections of one address without a confirmed greeting. Many sites may connect from one
/// address, by a tunnel, but each is confirmed within a round trip.
pub(super) const MAX_UNCONFIRMED: usize = 512;
/// The most warnings that are remembered, so that each is logged once.
const MAX_REPORTED: usize = 1024;
/// The time after which a warning is logged again.
const TELL_AGAIN: Duration = Duration::from_secs(60 * 60);

/// The connections of each address, and the warnings that were logged.
#[derive(Debug, Default)]
pub(super) struct Peers {
    /// The connections of each address that are not confirmed yet.
    unconfirmed: Mutex<HashMap<String, usize>>,
    reported: Mutex<Reported>,
}

/// A connection, which counts as one without a key until it is confirmed.
#[derive(Debug)]
pub(super) struct Caller {
    peers: Arc<Peers>,
    address: String,
    is_confirmed: AtomicBool,
}

/// The warnings that were logged in the last hour, up to a bound.
#[derive(Debug, Default)]
struct Reported(HashMap<String, Instant>);

impl Peers {
    /// Counts a connection of a peer. Returns `None` if its address has too many that are not confirmed.
    pub(super) fn arrive(self: &Arc<Self>, peer: &str) -> Option<Caller> {
        let address = address_of(peer);
        let mut unconfirmed = self.unconfirmed.lock().unwrap_or_else(PoisonError::into_inner);
        let count = unconfirmed.entry(address.clone()).or_default();
        // An entry is never zero, so one that has just been made is below the bound.
        if *count >= MAX_UNCONFIRMED {
            return None;
        }
        *count += 1;
        let peers = Arc::clone(self);
        let is_confirmed = AtomicBool::new(false);
        Some(Caller { peers, address, is_confirmed })
    }

    /// Tells the operator of this server why a peer was refused, once in an hour.
    pub(super) fn report(&self, peer: &str, sentence: &str) {
        count_refused_stream();
        let warning = format!("{} {sentence}", address_of(peer));
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.is_news(warning, Instant::now()) {
            tracing::warn!(peer, reason = sentence, "a stream was refused or ended");
        }
    }
}

impl Caller {
    /// Records that the peer has a key of this ledger.
    pub(super) fn confirm(&self) {
        if self.is_confirmed.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut unconfirmed = self.peers.unconfirmed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = unconfirmed.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                unconfirmed.remove(&self.address);
            }
        }
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.is_confirmed.load(Ordering::Relaxed)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // It does not count any more.
        self.confirm();
    }
}

impl Reported {
    /// Returns whether a warning was not logged in the last hour, and records it. If there are too
    /// many others, the oldest one is forgotten: a peer cannot silence a warning for good by
    /// causing many others.
    fn is_news(&mut self, warning: String, now: Instant) -> bool {
        let is_recent = |at: &Instant| now.duration_since(*at) < TELL_AGAIN;
        if self.0.get(&warning).is_some_and(is_recent) {
            return false;
        }
        if self.0.len() >= MAX_REPORTED {
            self.0.retain(|_, at| is_recent(at));
        }
        if self.0.len() >= MAX_REPORTED
            && let Some(oldest) = self.0.iter().min_by_key(|(_, at)| **at)
        {
            let oldest = oldest.0.clone();
            self.0.remove(&oldest);
        }
        self.0.insert(warning, now);
        true
    }
}

/// The address of a peer without its port. For IPv6, it is the /64 network, because one host has
/// all of it.
fn address_of(peer: &str) -> String {
    let address = peer.parse().map(|peer: SocketAddr| peer.ip().to_canonical());
    match address {
        Ok(IpAddr::V4(address)) => address.to_string(),
        Ok(IpAddr::V6(address)) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
        // The peer uses a transport other than TCP.
        Err(_) => peer.rsplit_once(':').map_or(peer, |(address, _port)| address).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logged::Logged;

    #[test]
    fn connections_of_one_address_are_bounded_until_they_are_confirmed_or_end() {
        let peers = Arc::new(Peers::default());
        let mut callers: Vec<_> =
            (0..MAX_UNCONFIRMED).map(|port| peers.arrive(&format!("10.0.0.1:{port}"))).collect();
        assert!(callers.iter().all(Option::is_some));
        assert!(peers.arrive("10.0.0.1:9").is_none());
        assert!(peers.arrive("10.0.0.2:9").is_some());
        let first = callers[0].as_ref().unwrap();
        first.confirm();
        first.confirm();
        callers.push(peers.arrive("10.0.0.1:9"));
        assert!(callers.last().unwrap().is_some());
        assert!(peers.arrive("10.0.0.1:10").is_none(), "it counts once");
        drop(callers);
        assert!(peers.unconfirmed.lock().unwrap().is_empty());
    }

    #[test]
    fn hosts_have_an_address_or_a_network_of_their_own() {
        for (peer, address) in [
            ("10.0.0.1:80", "10.0.0.1"),
            ("[::ffff:10.0.0.1]:80", "10.0.0.1"),
            ("[2001:db8:0:1::7]:80", "2001:db8:0:1::/64"),
            ("[2001:db8:0:1:8::9]:81", "2001:db8:0:1::/64"),
            ("[2001:db8:0:2::7]:80", "2001:db8:0:2::/64"),
            ("test:1", "test"),
            ("test", "test"),
        ] {
            assert_eq!(address_of(peer), address);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_warning_is_logged_again_after_an_hour() {
        let (logged, _guard) = Logged::begin();
        let peers = Peers::default();
        let reported = || logged.with("WARN a stream was refused or ended").len();
        for (minutes, expected) in [(0, 1), (59, 1), (1, 2), (59, 2), (2, 3)] {
            tokio::time::advance(Duration::from_secs(60 * minutes)).await;
            peers.report("10.0.0.1:80", "the key is not one of this ledger");
            assert_eq!(reported(), expected);
        }
        peers.report("10.0.0.1:81", "the key is not one of this ledger");
        assert_eq!(reported(), 3, "another port is the same peer");
        peers.report("10.0.0.1:80", "the greeting is missing");
        peers.report("10.0.0.2:80", "the key is not one of this ledger");
        assert_eq!(reported(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_warnings_silences_no_other_one_and_is_bounded() {
        let mut reported = Reported::default();
        let begin = Instant::now();
        let at = |second| begin + Duration::from_secs(second);
        for flood in 0..5 * MAX_REPORTED as u64 {
            assert!(reported.is_news(format!("flood {flood}"), at(flood / 10)));
            assert!(reported.0.len() <= MAX_REPORTED);
        }
        assert!(reported.is_news("a site".to_owned(), at(600)));
        assert!(!reported.is_news("a site".to_owned(), at(600)));
        // The newest ones are still known, and the oldest are not.
        assert!(!reported.is_news(format!("flood {}", 5 * MAX_REPORTED - 1), at(600)));
        assert!(reported.is_news("flood 0".to_owned(), at(600)));
    }
}
