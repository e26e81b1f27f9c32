//! A crowd of visitors in front of the service under test.

use std::{error::Error, fmt, time::Duration};

use axum_core::body::Body;
use http::{Request, Response};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use tokio::task::{JoinSet, LocalSet};
use tower::Service;
use waiting_room_core::time::Clock;

use crate::{
    arrivals::Arrivals, client::TokenCookie, clock::TestClock, habits::Habits, record::CrowdRecord,
    seed::seed, visitor::CrowdVisitor,
};

/// Visitors that arrive at a service, wait, visit and leave, in virtual time.
///
/// The visitors are clients with their own cookies and their own addresses, in different networks. All
/// that they send and receive is in the [`CrowdRecord`], which has the assertions.
///
/// ```
/// use std::time::Duration;
/// use axum::{Router, routing::get};
/// use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer};
/// use waiting_room_test::{Arrivals, Crowd, Habits};
///
/// let minute = Duration::from_secs(60);
/// waiting_room_test::run(async |clock| {
///     let config = WaitingRoomConfig::builder("shop").total_active_users(5).build().unwrap();
///     let layer = WaitingRoomLayer::with_clock(config, clock);
///     let shop = Router::new().route("/", get(async || "Welcome.")).layer(layer);
///
///     let record = Crowd::new()
///         .group(10, Habits::browser().staying(minute), Arrivals::within(minute))
///         .group(5, Habits::api_client(), Arrivals::doors_open(minute, minute / 6))
///         .visit(shop, clock)
///         .await;
///     record.never_above(5).every_visitor_admitted();
/// });
/// ```
#[derive(Clone, Debug)]
pub struct Crowd {
    seed: u64,
    groups: Vec<CrowdGroup>,
    lasts: Duration,
    token: TokenCookie,
}

#[derive(Clone, Debug)]
struct CrowdGroup {
    count: u32,
    habits: Habits,
    arrivals: Arrivals,
}

impl Crowd {
    /// Creates an empty crowd with a fresh seed, or with that of
    /// [`SEED_VARIABLE`](crate::SEED_VARIABLE). A run prints its seed to standard error.
    ///
    /// # Panics
    ///
    /// Panics if the variable is set to something that is not a number: a run with another seed
    /// than the requested one would hide a failure.
    #[must_use]
    pub fn new() -> Self {
        let groups = Vec::new();
        let token = TokenCookie::Default;
        Self { seed: seed(), groups, lasts: Duration::from_secs(24 * 60 * 60), token }
    }

    /// Adds `count` visitors with these habits. Visitors are numbered from 0 on, in the order of
    /// the groups and, within a group, in the order of arrival.
    ///
    /// # Panics
    ///
    /// The run panics if the arrivals list times, but not `count` of them.
    #[must_use]
    pub fn group(mut self, count: u32, habits: Habits, arrivals: Arrivals) -> Self {
        self.groups.push(CrowdGroup { count, habits, arrivals });
        self
    }

    /// Sets the seed. A seed repeats the arrivals, but not the ids that the layer draws.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the time after which the crowd is over, counted from its start: a day by default. A
    /// visitor that is still waiting then stops, so every run ends.
    #[must_use]
    pub const fn lasting(mut self, duration: Duration) -> Self {
        self.lasts = duration;
        self
    }

    /// Sets the name of the cookie that holds the token of a visitor, if it is not the layer's default
    /// name. An answer that deletes this cookie ends the visitor's session for
    /// [`never_above`](CrowdRecord::never_above).
    #[must_use]
    pub fn token_cookie(mut self, name: impl Into<String>) -> Self {
        self.token = TokenCookie::Named(name.into());
        self
    }

    /// Sends the visitors to the service, and returns what they saw once the last of them has
    /// finished. Prints the seed to standard error.
    ///
    /// The service is cloned for each request. Its layer has to read the same clock.
    ///
    /// # Panics
    ///
    /// Panics if the service or a body of one of its answers fails.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops all visitors and their requests.
    pub async fn visit<S, B>(self, service: S, clock: TestClock) -> CrowdRecord
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + 'static,
        S::Error: fmt::Debug,
        B: http_body::Body + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        eprintln!("seed of the crowd: {}", self.seed);
        let start = clock.now();
        let seed = self.seed;
        let visitors = self.visitors(&service, clock);
        let tasks = LocalSet::new();
        let visits = tasks.run_until(async move {
            let mut visits = JoinSet::new();
            for visitor in visitors {
                visits.spawn_local(visitor.visit());
            }
            visits.join_all().await
        });
        CrowdRecord::new(seed, start, visits.await)
    }

    fn visitors<S: Clone>(self, service: &S, clock: TestClock) -> Vec<CrowdVisitor<S>> {
        let start = clock.now();
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let mut visitors = Vec::new();
        for CrowdGroup { count, habits, arrivals } in self.groups {
            for arrival in arrivals.draw(count, &mut random) {
                let number = u32::try_from(visitors.len()).unwrap_or(u32::MAX);
                let times = (start + arrival, start + self.lasts);
                let habits = habits.clone();
                let service = service.clone();
                let client = (clock, self.token.clone());
                visitors.push(CrowdVisitor::new(number, habits, service, client, times));
            }
        }
        visitors
    }
}

impl Default for Crowd {
    fn default() -> Self {
        Self::new()
    }
}
