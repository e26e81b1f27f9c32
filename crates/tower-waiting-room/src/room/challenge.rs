//! The challenge: an answer of the application's own to a newcomer, before its first ticket.
//!
//! A ticket costs a client one request, and a place in the line a second one. Where that is too
//! cheap, the application may answer the first touch itself, for example with a puzzle, and let
//! through only clients that bring the solution. The closure decides by the request and by what
//! this node has seen of the client's network. It runs before the store is called, so that a flood
//! of newcomers costs the store nothing.
//!
//! The layer does not verify anything: the closure issues the challenge and checks its solution.
//! Visitors with a ticket or a pass are never challenged.

use std::{fmt, net::IpAddr, sync::Arc};

use bytes::Bytes;
use http::Response;
use waiting_room_core::{
    Limiter, Quota, Timestamp,
    rate::{Algorithm, KeyHash},
};

use crate::request::{Caller, RequestHead};

/// A request without a pass or a ticket, and what this node knows of its client.
///
/// The closure of [`challenge`](crate::config::WaitingRoomConfigBuilder::challenge) decides by it.
/// A pass that has expired, or whose session has ended, does not count as a pass.
///
/// ```
/// use http::Response;
/// use tower_waiting_room::{WaitingRoomConfig, request::RequestHead, room::FirstTouch};
///
/// # fn is_signed(_: &str) -> bool { true }
/// // The page with the puzzle sets this cookie, with a signature.
/// fn has_solved_it(request: &RequestHead<'_>) -> bool {
///     let cookies = request.headers().get_all("cookie").iter().filter_map(|it| it.to_str().ok());
///     let mut pairs = cookies.flat_map(|line| line.split("; "));
///     pairs.find_map(|pair| pair.strip_prefix("puzzle=")).is_some_and(is_signed)
/// }
///
/// let config = WaitingRoomConfig::builder("shop")
///     .total_active_users(200)
///     .challenge(|first: &FirstTouch<'_>| {
///         let is_crowd = first.from_network_in_last_minute().is_some_and(|it| it > 50);
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
    /// By the same rules as the shares of the line; `None` if the address stands for no one client.
    network: Option<IpAddr>,
    /// This request included.
    from_network: Option<u32>,
    /// Called only if the closure needs the number.
    present: &'a dyn Fn() -> Option<u32>,
}

impl<'a> FirstTouch<'a> {
    /// The request.
    #[must_use]
    pub const fn request(&self) -> &RequestHead<'a> {
        &self.request
    }

    /// The network of the client, as
    /// [`places_per_network`](crate::config::WaitingRoomConfigBuilder::places_per_network) counts
    /// it: an IPv4 address, or the first address of an IPv6 network, by default of 64 bits. `None`
    /// if it is unknown.
    #[must_use]
    pub const fn network(&self) -> Option<IpAddr> {
        self.network
    }

    /// The approximate number of first touches from this network in the last minute, as seen by
    /// this node: this one included, and those that were answered with a challenge. `None` if the
    /// network is unknown.
    ///
    /// The node remembers 65 536 networks. During a flood from more networks, a new one is counted
    /// with the number of its wider network (/16 for IPv4, /32 for IPv6), or with more.
    #[must_use]
    pub const fn from_network_in_last_minute(&self) -> Option<u32> {
        self.from_network
    }

    /// The number of visitors that wait and check in on time, as this node knows it: the number may
    /// be a second old. `None` if it is unknown.
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

/// The closure of the configuration that may challenge newcomers.
#[derive(Clone)]
pub(crate) struct Challenge(Arc<Closure>);

type Closure = dyn Fn(&FirstTouch<'_>) -> Option<Response<Bytes>> + Send + Sync;

impl Challenge {
    /// Wraps the closure, so that its body type does not appear in the configuration's type.
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

/// A challenge in use: the closure, and the numbers of first touches that it decides by.
pub(super) struct Challenger {
    challenge: Challenge,
    /// Counts the first touches of each network in a sliding minute. It is a counter only: its
    /// limit is out of reach, and its decisions are not enforced.
    networks: Limiter,
}

impl Challenger {
    /// The limit of the counter. Numbers above it are reported as this one.
    const MOST: u64 = 1_000_000;
    /// The number of networks that are remembered.
    const MAX_NETWORKS: usize = 1 << 16;

    /// Makes a challenger that has seen no requests yet.
    pub(super) fn new(challenge: Challenge) -> Self {
        let quota = Quota::per_minute(Self::MOST);
        let networks = Limiter::new(Algorithm::SlidingCounter, &[quota], Self::MAX_NETWORKS)
            .expect("its quota is a constant that a limiter can keep");
        Self { challenge, networks }
    }

    /// Counts a first touch and calls the closure. Returns the answer of the application if the
    /// client has to prove something first, and `None` if the room is to decide.
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

    /// Counts a first touch of a network, and returns the number in the last minute. A refused
    /// charge is not an error: it only means that the number is at its maximum.
    fn count(&self, network: KeyHash, now: Timestamp) -> u32 {
        let counted = self.networks.charge(network, 0, 1, now);
        let decision = counted.map_or_else(|refused| refused, |(allowed, _)| allowed);
        u32::try_from(Self::MOST.saturating_sub(decision.remaining)).unwrap_or(u32::MAX)
    }
}
