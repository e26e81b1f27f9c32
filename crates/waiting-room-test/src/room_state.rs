//! A room in a certain state, for tests that begin in the middle of a sale.

use std::{error::Error, fmt, num::NonZeroU16};

use waiting_room_core::{
    Pass, RoomRules, Store, StoreError, Ticket, Verdict, VisitorId,
    room::{CookieTest, Network, QueueingMethod, RoomMode},
};

use crate::clock::TestClock;

/// A state for a room, such as "full, with 100 active visitors and 40 in line, and
/// paused".
///
/// The state is reached through the interface of any [`Store`]: visitors enter, wait and check in.
/// This takes a few seconds of virtual time, because a visitor gets its place with its second
/// touch.
///
/// ```
/// use tower_waiting_room::{
///     WaitingRoomConfig, WaitingRoomLayer,
///     room::{MemoryStore, RoomMode, RoomRules, StoreFailure},
/// };
/// use waiting_room_test::{RoomState, TestClient};
///
/// waiting_room_test::run(async |clock| {
///     let store = MemoryStore::with_clock(RoomRules::new("shop", 100), clock).unwrap();
///     let state = RoomState::new().active(100).waiting(40).mode(RoomMode::QueueAll);
///     state.reach(&store, clock).await.unwrap();
///
///     let config = WaitingRoomConfig::builder("shop").room_store(store, StoreFailure::Wait);
///     let layer = WaitingRoomLayer::new(config.build().unwrap());
///     let app = axum::Router::new().route("/", axum::routing::get(async || "Welcome."));
///     let mut newcomer = TestClient::api(app.layer(layer), clock);
///     let seen = newcomer.get("/").await;
///     assert_eq!(seen.reason.unwrap().to_string(), "queue_all");
///     assert!(String::from_utf8_lossy(&seen.body).contains("\"ahead\":40"));
/// });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomState {
    active: u32,
    waiting: u32,
    mode: Option<RoomMode>,
}

/// The visitors of a room that was brought into a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occupants {
    /// The passes of the active visitors, in the order of their admission. To free a slot, pass an
    /// id to [`Store::leave`].
    pub active: Vec<Pass>,
    /// The tickets of the visitors in line, in the order of the line. The visitors are present
    /// until their check-ins are overdue.
    pub waiting: Vec<Ticket>,
}

/// The error of a state that a room did not reach.
#[derive(Debug)]
pub struct StateError {
    message: String,
    source: Option<StoreError>,
}

impl RoomState {
    /// An empty room in the mode of its rules.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of active visitors, 0 by default. They are admitted as if there were no
    /// limit on new visitors, and count as new for a minute.
    #[must_use]
    pub const fn active(mut self, visitors: u32) -> Self {
        self.active = visitors;
        self
    }

    /// Sets the number of visitors with a place in line, 0 by default.
    ///
    /// If slots are free, the visitors in front are admitted at their next check-in, unless the
    /// [mode](Self::mode) prevents it.
    #[must_use]
    pub const fn waiting(mut self, visitors: u32) -> Self {
        self.waiting = visitors;
        self
    }

    /// Sets the mode: [`RoomMode::QueueAll`] for a room that is paused, for example. By default,
    /// the mode of the rules is left as it is.
    #[must_use]
    pub const fn mode(mut self, mode: RoomMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Brings an empty room into this state, and returns its visitors.
    ///
    /// Meanwhile, the room has other rules; afterwards, it has the given rules with the
    /// [mode](Self::mode). Each visitor comes from a network of its own, as long as there are
    /// enough networks.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, or if the room cannot be in this state: for example
    /// because it has fewer slots than active visitors, or fewer places than waiting visitors.
    pub async fn reach<S: Store>(
        self,
        store: &S,
        clock: TestClock,
    ) -> Result<Occupants, StateError> {
        let rules = RoomRules::clone(&store.rules());
        self.check(&rules)?;
        store.configure(|rules| open(rules, RoomMode::Auto)).await?;
        let mut active = Vec::new();
        for number in 0..self.active {
            match store.enter(visitor(number)).await? {
                Verdict::Admit { pass, .. } => active.push(pass),
                verdict @ (Verdict::Refuse { .. } | Verdict::Wait { .. }) => {
                    return Err(unexpected("active", number, &verdict));
                }
            }
        }
        store.configure(|rules| open(rules, RoomMode::QueueAll)).await?;
        let mut waiting = Vec::new();
        for number in self.active..self.active + self.waiting {
            match store.enter(visitor(number)).await? {
                Verdict::Wait { ticket, .. } => waiting.push(ticket),
                verdict @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => {
                    return Err(unexpected("waiting", number, &verdict));
                }
            }
        }
        for ticket in &mut waiting {
            clock.pass_until(ticket.next_check_in).await;
            match store.check_in(*ticket).await? {
                Verdict::Wait { ticket: with_place, .. } => *ticket = with_place,
                verdict @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => {
                    return Err(unexpected("waiting", 0, &verdict));
                }
            }
        }
        let mode = self.mode.unwrap_or(rules.mode);
        store.configure(|_| rules.clone().mode(mode)).await?;
        self.verify(store).await?;
        Ok(Occupants { active, waiting })
    }

    /// Compares this state with the rules, so that an error names the rule.
    fn check(&self, rules: &RoomRules) -> Result<(), StateError> {
        for (field, given, rule, limit) in [
            ("active", self.active, "total_active_users", rules.total_active_users),
            ("waiting", self.waiting, "line_capacity", rules.line_capacity),
        ] {
            if given > limit {
                let message = format!("{field} is {given}, expected at most {limit} ({rule})");
                return Err(StateError { message, source: None });
            }
        }
        Ok(())
    }

    /// Compares the numbers of the room with this state. They differ, for example, if sessions are
    /// so short that one has lapsed before this state was reached.
    async fn verify<S: Store>(&self, store: &S) -> Result<(), StateError> {
        let numbers = store.snapshot().await?;
        for (field, wanted, found) in
            [("active", self.active, numbers.active), ("waiting", self.waiting, numbers.waiting)]
        {
            if wanted != found {
                let message =
                    format!("{field} is {found} after all visitors came, expected {wanted}");
                return Err(StateError { message, source: None });
            }
        }
        Ok(())
    }
}

impl From<StoreError> for StateError {
    fn from(error: StoreError) -> Self {
        Self { message: "the store failed".to_owned(), source: Some(error) }
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for StateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// Returns the rules under which the visitors of a state arrive: no test and no rate stops them.
fn open(rules: RoomRules, mode: RoomMode) -> RoomRules {
    rules
        .mode(mode)
        .new_users_per_minute(None)
        .cookie_test(CookieTest::Off)
        .queueing_method(QueueingMethod::Fifo)
}

/// Returns the id of a visitor. The ids of a test need not be secret.
fn visitor(number: u32) -> VisitorId {
    let id = VisitorId::new(u128::from(number) + (1 << 96));
    let [a, b, c, d] = number.to_be_bytes();
    let wide = NonZeroU16::MIN.saturating_add(u16::from_be_bytes([a, b]));
    let narrow = u16::from_be_bytes([c, d]);
    id.of_network(Some(Network::new(wide, 0, narrow)))
}

fn unexpected(field: &str, number: u32, verdict: &Verdict) -> StateError {
    let message = format!("{field}: visitor {number} got {}", verdict.reason());
    StateError { message, source: None }
}
