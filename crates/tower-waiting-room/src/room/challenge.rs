//! The challenge: a response from the application that a newcomer has to satisfy before it gets its
//! first ticket.
//!
//! A ticket costs a client one request, and a place in the line costs a second request. If this is
//! too cheap, the application can answer the first touch itself, for example with a puzzle, and let
//! through only clients that present the solution. A closure decides whether to challenge a
//! newcomer, based on the request and on the number of first touches that this node has seen from
//! the client's network. The closure runs before the store is called, so newcomers who are
//! challenged put no load on the store.
//!
//! The layer does not verify anything: the closure issues the challenge and checks the solution.
//! Visitors with a ticket or a pass are never challenged.

use std::{fmt, net::IpAddr, sync::Arc};

use bytes::Bytes;
use http::Response;
use waiting_room_core::{
    Limiter, Quota, Timestamp,
    rate::{Algorithm, KeyHash},
};

use crate::request::{Caller, RequestHead};

/// A request without a pass or a ticket, together with this node's knowledge of the client.
///
/// The closure of [`challenge`](crate::config::WaitingRoomConfigBuilder::challenge) receives this
/// value for each newcomer. A pass that has expired, or whose session has ended, does not count as
/// a pass here.
///
/// ```
/// use http::Response;
/// use tower_waiting_room::{WaitingRoomConfig, request::RequestHead, room::FirstTouch};
///
/// # fn is_signed(_: &str) -> bool { true }
/// // The page with the puzzle sets this cookie, whose value is signed.
/// fn has_solved_it(request: &RequestHead<'_>) -> bool {
///     let cookies = request.headers().get_all("cookie").iter().filter_map(|line| line.to_str().ok());
///     let mut pairs = cookies.flat_map(|line| line.split("; "));
///     pairs.find_map(|pair| pair.strip_prefix("puzzle=")).is_some_and(is_signed)
/// }
///
/// let config = WaitingRoomConfig::builder("shop")
///     .total_active_users(200)
///     .challenge(|first: &FirstTouch<'_>| {
///         let is_crowd = first.from_network_in_last_minute().is_some_and(|count| count > 50);
///         if !is_crowd || has_solved_it(first.request()) {
///             return None;
///         }
///         let page = "<!doctype html><title>One question</title>...";
///         Response::builder().status(403).header("content-type", "text/html").body(page).ok()
///     })
///     .build()?;
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
pub struct FirstTouch<'a> {
    request: RequestHead<'a>,
    /// The network of the client, determined in the same way as for places in the line, or `None`
    /// if the address does not identify a single client.
    network: Option<IpAddr>,
    /// The number of first touches from the network in the last minute, including this request.
    from_network: Option<u32>,
    /// The function that counts present visitors, called only if the closure needs the number.
    present: &'a dyn Fn() -> Option<u32>,
}

impl<'a> FirstTouch<'a> {
    /// Returns the request.
    #[must_use]
    pub const fn request(&self) -> &RequestHead<'a> {
        &self.request
    }

    /// Returns the network of the client, as
    /// [`shares`](crate::config::WaitingRoomConfigBuilder::shares) counts
    /// it: an IPv4 address, or the first address of an IPv6 network, which is a /64 by default.
    /// Returns `None` if the network is unknown.
    #[must_use]
    pub const fn network(&self) -> Option<IpAddr> {
        self.network
    }

    /// Returns the approximate number of first touches from this network in the last minute, as
    /// seen by this node. The number includes this request and the requests that were answered with
    /// a challenge. Returns `None` if the network is unknown.
    ///
    /// The node remembers up to 65 536 networks. In a flood from more networks than that, the
    /// number for a new network may include the first touches of other networks in the same /16
    /// (IPv4) or /32 (IPv6). The number may therefore be too high, but it is never too low.
    #[must_use]
    pub const fn from_network_in_last_minute(&self) -> Option<u32> {
        self.from_network
    }

    /// Returns the number of visitors who are waiting and check in on time, according to the latest
    /// report that this node has received from the store. Returns `None` before the first report.
    #[must_use]
    pub fn present(&self) -> Option<u32> {
        (self.present)()
    }
}

impl fmt::Debug for FirstTouch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstTouch")
            .field("request", &self.request)
            .field("network", &self.network)
            .field("from_network_in_last_minute", &self.from_network)
            .finish_non_exhaustive()
    }
}

/// The configured closure, which may challenge newcomers.
#[derive(Clone)]
pub(crate) struct Challenge(Arc<Closure>);

type Closure = dyn Fn(&FirstTouch<'_>) -> Option<Response<Bytes>> + Send + Sync;

impl Challenge {
    /// Wraps the closure so that the body type of its responses does not appear in the
    /// configuration's type.
    pub(crate) fn new<F, B>(ask: F) -> Self
    where
        F: Fn(&FirstTouch<'_>) -> Option<Response<B>> + Send + Sync + 'static,
        B: Into<Bytes>,
    {
        Self(Arc::new(move |first| ask(first).map(|response| response.map(Into::into))))
    }
}

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closure")
    }
}

/// The closure of a challenge, and the counts of first touches on which the closure bases its
/// decisions.
pub(super) struct Challenger {
    challenge: Challenge,
    /// Counts the first touches from each network in a sliding minute. The limiter is only a
    /// counter: its limit is out of reach, and its decisions are not enforced.
    networks: Limiter,
}

impl Challenger {
    /// The limit of the counter. Higher counts are reported as this limit.
    const MOST: u64 = 1_000_000;
    /// The maximum number of networks that are remembered at a time.
    const MAX_NETWORKS: usize = 1 << 16;

    /// Creates a challenger that has not seen any requests yet.
    pub(super) fn new(challenge: Challenge) -> Self {
        let quota = Quota::per_minute(Self::MOST);
        let networks = Limiter::new(Algorithm::SlidingCounter, &[quota], Self::MAX_NETWORKS)
            .expect("the quota is a constant that a limiter accepts");
        Self { challenge, networks }
    }

    /// Counts a first touch and calls the closure. Returns the application's response if the client
    /// is challenged, or `None` if the room should decide on the request.
    pub(super) fn ask(
        &self,
        caller: &Caller<'_>,
        present: &dyn Fn() -> Option<u32>,
        now: Timestamp,
    ) -> Option<Response<Bytes>> {
        let network = caller.head.network_in_line();
        let from_network = network.and_then(|_| Some(self.count(caller.address_hash()?, now)));
        (self.challenge.0)(&FirstTouch { request: caller.head, network, from_network, present })
    }

    /// Counts a first touch from a network, and returns the number of first touches from that
    /// network in the last minute. A refused charge is not an error: it means that the number has
    /// reached its maximum.
    fn count(&self, network: KeyHash, now: Timestamp) -> u32 {
        let counted = self.networks.charge(network, 0, 1, now);
        let decision = counted.map_or_else(|refused| refused, |(allowed, _)| allowed);
        u32::try_from(Self::MOST.saturating_sub(decision.remaining)).unwrap_or(u32::MAX)
    }
}
