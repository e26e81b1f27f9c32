//! The question that an application may put to a newcomer before its first ticket.
//!
//! A ticket costs a client nothing, and a place a second request. Where that is too little, the
//! application may answer a first touch itself, with a puzzle or a question, and let those through who
//! bring the proof. It decides by the request and by what this node has seen of its network, and
//! before the room's store is asked, so that a flood costs the store nothing.

use std::{fmt, net::IpAddr, sync::Arc};

use bytes::Bytes;
use http::Response;
use waiting_room_core::{Algorithm, KeyHash, Limiter, Quota, Timestamp};

use crate::request::{Caller, RequestHead};

/// A request that brings neither a pass nor a ticket, and what this node knows of its sender.
///
/// It is what the closure of [`challenge`](crate::WaitingRoomConfigBuilder::challenge) decides by. A
/// pass that has run out is none, nor is one of a session that has ended.
///
/// ```
/// use http::Response;
/// use tower_waiting_room::{FirstTouch, RequestHead, WaitingRoomConfig};
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
    network: Option<IpAddr>,
    from_network: Option<u32>,
    present: &'a dyn Fn() -> Option<u32>,
}

impl<'a> FirstTouch<'a> {
    /// The request.
    #[must_use]
    pub const fn request(&self) -> &RequestHead<'a> {
        &self.request
    }

    /// The network of the client, as for
    /// [`places_per_network`](crate::WaitingRoomConfigBuilder::places_per_network): an IPv4 address, or
    /// the first of an IPv6 network, by default of 64 bits. `None` if it is not known.
    #[must_use]
    pub const fn network(&self) -> Option<IpAddr> {
        self.network
    }

    /// How many first touches this node has seen from the network in the last minute, about: this one,
    /// and those that were answered with a challenge. `None` if the network is not known.
    ///
    /// 65 536 networks are remembered. In a flood from more, those that are new count for as many as
    /// their wider networks (/16, /32) have sent, or more.
    #[must_use]
    pub const fn from_network_in_last_minute(&self) -> Option<u32> {
        self.from_network
    }

    /// How many visitors wait and check in as they were asked to, as this node knows it, which may be a
    /// second old. `None` if it does not.
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

/// The closure of a configuration that may ask newcomers for a proof.
#[derive(Clone)]
pub(crate) struct Challenge(Arc<Closure>);

type Closure = dyn Fn(&FirstTouch<'_>) -> Option<Response<Bytes>> + Send + Sync;

impl Challenge {
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

/// A challenge in use: the closure, and the first touches that it judges by. Counted by this node.
pub(super) struct Challenger {
    challenge: Challenge,
    networks: Limiter,
}

impl Challenger {
    /// More are not told apart.
    const MOST: u64 = 1_000_000;
    const MAX_NETWORKS: usize = 1 << 16;

    pub(super) fn new(challenge: Challenge) -> Self {
        let quota = Quota::per_minute(Self::MOST);
        let networks = Limiter::new(Algorithm::SlidingCounter, &[quota], Self::MAX_NETWORKS)
            .expect("its quota is a constant that a limiter can keep");
        Self { challenge, networks }
    }

    /// Counts a first touch. Returns what its client is answered, if it is to prove something first.
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

    fn count(&self, network: KeyHash, now: Timestamp) -> u32 {
        let counted = self.networks.charge(network, 0, 1, now);
        let decision = counted.map_or_else(|refused| refused, |(allowed, _)| allowed);
        u32::try_from(Self::MOST.saturating_sub(decision.remaining)).unwrap_or(u32::MAX)
    }
}
