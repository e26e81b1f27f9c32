//! Counts the calls to the store of the room that each request makes, and tells its client.
//!
//! Whether a request with a pass takes no round trip, and that of a newcomer one, cannot be seen from
//! response times. So a node of an example counts the calls, and reports them in a header of the
//! response. The crowd adds them up.

use std::{cell::Cell, fmt, future::Future, str::FromStr, sync::Arc};

use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue},
    middleware::{Next, from_fn},
};
use tokio::task_local;
use waiting_room_core::{
    Pass, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    room::{
        Renewal, RoomNode, RoomSnapshot,
        event::{RoomPlan, Schedule},
    },
};

/// The calls that one request has made until its response was ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// The questions about the visitor itself.
    pub(crate) asked: u32,
    /// The questions that the store has answered.
    pub(crate) answered: u32,
    /// The renewals that have extended the session.
    pub(crate) extended: u32,
    /// The reports that other visitors have left, which are made along with a question.
    pub(crate) ends: u32,
}

/// A store whose calls are counted, if the service [tells them](tells_calls).
#[derive(Clone, Debug)]
pub struct CountedStore<St>(pub St);

/// Adds a header with the number of calls to each response of a service with a [`CountedStore`].
pub fn tells_calls(app: Router) -> Router {
    app.layer(from_fn(async |request: Request, next: Next| {
        let calls = CALLS.scope(Cell::default(), async {
            let response = next.run(request).await;
            (response, CALLS.get().get())
        });
        let (mut response, calls) = calls.await;
        if let Ok(told) = HeaderValue::try_from(calls.to_string()) {
            response.headers_mut().insert(HEADER, told);
        }
        response
    }))
}

task_local! {
    /// The calls of the current request. A call that a task of its own goes on with has been counted.
    static CALLS: Cell<Calls>;
}

/// Counts, if a request is being handled.
fn count(change: impl FnOnce(&mut Calls)) {
    // Calls without a request are not counted.
    let _ = CALLS.try_with(|calls| {
        let mut counted = calls.get();
        change(&mut counted);
        calls.set(counted);
    });
}

impl Calls {
    /// The calls of a request, by the headers of its response. None if the service does not tell.
    pub(crate) fn told(headers: &HeaderMap) -> Self {
        let told = headers.get(HEADER).and_then(|it| it.to_str().ok());
        told.and_then(|it| it.parse().ok()).unwrap_or_default()
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, answered, extended, ends } = self;
        write!(f, "{asked} {answered} {extended} {ends}")
    }
}

impl FromStr for Calls {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let numbers: Result<Vec<u32>, _> = text.split(' ').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[asked, answered, extended, ends]) => Ok(Self { asked, answered, extended, ends }),
            _ => Err(()),
        }
    }
}

/// Makes a call about a visitor.
async fn ask<T>(call: impl Future<Output = Result<T, StoreError>> + Send) -> Result<T, StoreError> {
    count(|calls| calls.asked += 1);
    let answer = call.await;
    count(|calls| calls.answered += u32::from(answer.is_ok()));
    answer
}

impl<St: Store> Store for CountedStore<St> {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn remembers_since(&self) -> Timestamp {
        self.0.remembers_since()
    }

    fn rules(&self) -> Arc<RoomRules> {
        self.0.rules()
    }

    fn plan(&self) -> Option<Arc<RoomPlan>> {
        self.0.plan()
    }

    fn given_rules(&self) -> Arc<RoomRules> {
        self.0.given_rules()
    }

    fn may_evict(&self) -> bool {
        self.0.may_evict()
    }

    fn present(&self) -> Option<u32> {
        self.0.present()
    }

    fn nodes(&self) -> Option<Vec<RoomNode>> {
        self.0.nodes()
    }

    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        ask(self.0.enter(id)).await
    }

    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        ask(self.0.check_in(ticket)).await
    }

    async fn stay(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        ask(self.0.stay(ticket)).await
    }

    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        let renewal = ask(self.0.renew(pass)).await?;
        let is_extended =
            matches!(&renewal, Renewal::Renew(renewed) if renewed.expires_at > pass.expires_at);
        count(|calls| calls.extended += u32::from(is_extended));
        Ok(renewal)
    }

    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
        count(|calls| calls.ends += 1);
        self.0.leave(id).await
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.0.sweep().await
    }

    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        self.0.snapshot().await
    }

    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        self.0.configure(change).await
    }

    async fn schedule(&self, schedule: Schedule) -> Result<(), StoreError> {
        self.0.schedule(schedule).await
    }
}

const HEADER: HeaderName = HeaderName::from_static("shop-store-calls");

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tower_waiting_room::{
        WaitingRoomConfig, WaitingRoomLayer,
        room::{MemoryStore, StoreFailure},
        token::CookieSettings,
    };
    use waiting_room_test::{TestClient, run};

    use super::*;

    #[test]
    fn a_newcomer_takes_one_call_a_pass_none_and_a_renewal_one_that_extends_the_session() {
        run(async |clock| {
            let config = WaitingRoomConfig::builder("shop")
                .total_active_users(1)
                .session_duration(MINUTE)
                .cookie(CookieSettings::default().insecure())
                .build()
                .unwrap();
            let rules = config.room().unwrap().clone();
            let store = CountedStore(MemoryStore::with_clock(rules, clock).unwrap());
            let layer = WaitingRoomLayer::with_store(config, store, StoreFailure::Wait);
            let shop = tells_calls(crate::app(layer));
            let mut visitor = TestClient::browser(shop.clone(), clock);
            let told = |it: &waiting_room_test::Seen| Calls::told(&it.headers).to_string();
            assert_eq!(told(&visitor.get("/").await), "1 1 0 0");
            assert_eq!(told(&visitor.get("/").await), "0 0 0 0");
            clock.pass(MINUTE / 4).await;
            assert_eq!(told(&visitor.get("/").await), "1 1 1 0");
            assert_eq!(told(&TestClient::browser(shop, clock).get("/").await), "1 1 0 0");
        });
    }

    #[test]
    fn a_header_that_is_missing_or_malformed_tells_of_no_call() {
        let calls = Calls { asked: 3, answered: 2, extended: 1, ends: 7 };
        for (text, told) in [
            (calls.to_string(), calls),
            ("3 2 1".to_owned(), Calls::default()),
            ("3 2 1 x".to_owned(), Calls::default()),
        ] {
            let headers = HeaderMap::from_iter([(HEADER, text.parse().unwrap())]);
            assert_eq!(Calls::told(&headers), told, "{text}");
        }
        assert_eq!(Calls::told(&HeaderMap::new()), Calls::default());
    }

    const MINUTE: Duration = Duration::from_secs(60);
}
