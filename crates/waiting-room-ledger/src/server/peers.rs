//! The peers of a server: which connections have shown a key, which connections without a key make
//! room for others, and which warnings were logged.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use crate::holder::count_refused_stream;

/// The maximum number of connections that have shown a key.
const MAX_CONFIRMED: usize = 8192;
/// The maximum number of connections that have not shown a key yet.
pub(super) const MAX_UNCONFIRMED: usize = 1024;
/// The maximum number of warnings that are remembered, so that each is logged once.
const MAX_REPORTED: usize = 1024;
/// The time after which a warning is logged again.
const TELL_AGAIN: Duration = Duration::from_secs(60 * 60);

/// The connections, and the warnings that were logged.
#[derive(Debug, Default)]
pub(super) struct Peers {
    connections: Mutex<Connections>,
    reported: Mutex<Reported>,
}

/// The connections that have shown a key, and those that have not.
///
/// Each has a bound of its own, so clients without a key take no connection from sites.
#[derive(Debug, Default)]
struct Connections {
    confirmed: usize,
    /// The connections of each address that are not confirmed yet, in order of arrival.
    unconfirmed: HashMap<String, BTreeMap<u64, Arc<Notify>>>,
    /// The number of connections in `unconfirmed`.
    len: usize,
    /// The number of the next connection.
    next: u64,
}

/// A connection, which counts as one without a key until it is confirmed.
#[derive(Debug)]
pub(super) struct Caller {
    peers: Arc<Peers>,
    address: String,
    number: u64,
    is_confirmed: AtomicBool,
    /// Notified when the connection has to make room for another one.
    evicted: Arc<Notify>,
}

/// The warnings that were logged in the last hour, up to a bound.
#[derive(Debug, Default)]
struct Reported(HashMap<String, Instant>);

impl Peers {
    /// Counts a connection of a peer. Until it is confirmed, it may have to make room for later
    /// ones.
    pub(super) fn arrive(self: &Arc<Self>, peer: &str) -> Caller {
        let address = address_of(peer);
        let evicted = Arc::<Notify>::default();
        let number = self.locked().arrive(address.clone(), Arc::clone(&evicted));
        let peers = Arc::clone(self);
        Caller { peers, address, number, is_confirmed: AtomicBool::new(false), evicted }
    }

    /// Tells the operator of this server why a peer was refused, at most once an hour.
    pub(super) fn report(&self, peer: &str, sentence: &str) {
        count_refused_stream();
        let warning = format!("{} {sentence}", address_of(peer));
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.is_news(warning, Instant::now()) {
            tracing::warn!(peer, reason = sentence, "a stream was refused or ended");
        }
    }

    fn locked(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    /// Adds a connection without a key, and returns its number. If there are too many such
    /// connections, the address that has the most of them loses its oldest one. A site, whose
    /// address has few, is therefore not disconnected by others before its key has arrived.
    fn arrive(&mut self, address: String, evicted: Arc<Notify>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.unconfirmed.entry(address).or_default().insert(number, evicted);
        self.len += 1;
        if self.len > MAX_UNCONFIRMED {
            let first = |of: &BTreeMap<u64, _>| of.keys().next().copied();
            let most = self.unconfirmed.iter().max_by_key(|(_, of)| (of.len(), Reverse(first(of))));
            let oldest = most.and_then(|(address, of)| Some((address.clone(), first(of)?)));
            let oldest = oldest.and_then(|(address, number)| self.remove(&address, number));
            oldest.iter().for_each(|oldest| oldest.notify_one());
        }
        number
    }

    /// Removes a connection without a key, unless it has made room already.
    fn remove(&mut self, address: &str, number: u64) -> Option<Arc<Notify>> {
        let of_address = self.unconfirmed.get_mut(address)?;
        let removed = of_address.remove(&number)?;
        if of_address.is_empty() {
            self.unconfirmed.remove(address);
        }
        self.len -= 1;
        Some(removed)
    }
}

impl Caller {
    /// Records that the peer has a key of this ledger. Returns whether the connection may stay: it
    /// may not if it has made room already, or if too many peers have shown a key.
    pub(super) fn confirm(&self) -> bool {
        let mut connections = self.peers.locked();
        if self.is_confirmed() {
            return true;
        }
        let stays = connections.confirmed < MAX_CONFIRMED
            && connections.remove(&self.address, self.number).is_some();
        if stays {
            connections.confirmed += 1;
            self.is_confirmed.store(true, Ordering::Relaxed);
        }
        stays
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.is_confirmed.load(Ordering::Relaxed)
    }

    /// Waits until the connection has to make room for another one.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut connections = self.peers.locked();
        if self.is_confirmed() {
            connections.confirmed -= 1;
        } else {
            connections.remove(&self.address, self.number);
        }
    }
}

impl Reported {
    /// Returns true if the warning has not been logged in the last hour, and records the warning.
    /// If there are too many others, the oldest one is forgotten: a peer cannot silence a warning
    /// for good by causing many others.
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
/// the whole network.
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
    fn the_oldest_connection_of_the_address_with_the_most_makes_room() {
        let peers = Arc::new(Peers::default());
        let site = peers.arrive("10.0.0.1:9");
        let mut flood: Vec<_> = (0..MAX_UNCONFIRMED)
            .map(|nth| peers.arrive(&format!("10.0.{}.2:{nth}", nth % 17)))
            .collect();
        assert!(!flood[0].confirm(), "it has made room");
        assert!(flood[1].confirm() && flood[1].confirm() && site.confirm());
        let counts = || {
            let connections = peers.locked();
            (connections.confirmed, connections.len)
        };
        assert_eq!(counts(), (2, MAX_UNCONFIRMED - 2));
        flood.extend((0..MAX_CONFIRMED).map(|_| peers.arrive("10.0.0.3:9")));
        peers.locked().confirmed = MAX_CONFIRMED;
        let last = flood.last().unwrap();
        assert!(!last.confirm() && site.confirm(), "the others with a key stay");
        peers.locked().confirmed = 2;
        drop((site, flood));
        assert_eq!(counts(), (0, 0));
        assert!(peers.locked().unconfirmed.is_empty());
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
