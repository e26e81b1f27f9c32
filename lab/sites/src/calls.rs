//! Counts the calls to the store of the room that each request makes, and tells its client.
//!
//! The crowd reads the [`Calls`] from a header of each response, and adds them up.

use std::{cell::Cell, future::Future, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    http::HeaderValue,
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
use waiting_room_crowd::Calls;

/// A store whose calls are counted, if the service [tells them](tells_calls).
#[derive(Clone, Debug)]
pub(crate) struct CountedStore<St>(pub(crate) St);

/// Adds a header with the number of calls to each response of a service with a [`CountedStore`].
pub(crate) fn tells_calls(app: Router) -> Router {
    app.layer(from_fn(async |request: Request, next: Next| {
        let calls = CALLS.scope(Cell::default(), async {
            let response = next.run(request).await;
            (response, CALLS.get().get())
        });
        let (mut response, calls) = calls.await;
        if let Ok(told) = HeaderValue::try_from(calls.to_string()) {
            response.headers_mut().insert(Calls::HEADER, told);
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

/// Makes a call about a visitor.
async fn ask<T>(call: impl Future<Output = Result<T, StoreError>> + Send) -> Result<T, StoreError> {
    count(|calls| calls.asked += 1);
    let answer = call.await;
    count(|calls| calls.answered += u32::from(answer.is_ok()));
    answer
}

/// Returns whether a renewal that was answered at `now` has extended the session by its whole duration, and
/// whether it has not although the session goes on.
fn judged(
    renewal: &Renewal,
    before: &Pass,
    now: Timestamp,
    session_duration: Duration,
) -> (bool, bool) {
    match renewal {
        Renewal::End => (false, now < before.expires_at),
        // A pass that is later than the visitor's may be that of an earlier renewal, whose answer was lost.
        Renewal::Renew(Pass { expires_at, .. }) => {
            let is_whole = before.expires_at < *expires_at && now + session_duration <= *expires_at;
            (is_whole, !is_whole)
        }
    }
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
        let (extended, refused) =
            judged(&renewal, &pass, self.0.now(), self.0.rules().session_duration);
        count(|calls| {
            calls.extended += u32::from(extended);
            calls.refused += u32::from(refused);
        });
        Ok(renewal)
    }

    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
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

#[cfg(test)]
mod tests {
    use tower_waiting_room::{
        WaitingRoomConfig, WaitingRoomLayer,
        room::{MemoryStore, StoreFailure},
        token::CookieSettings,
    };
    use waiting_room_test::{TestClient, run};

    use super::*;

    #[test]
    fn a_newcomer_takes_one_call_a_pass_none_and_a_renewal_one() {
        run(async |clock| {
            let rules = RoomRules::new("shop", 1).session_duration(MINUTE);
            let store = CountedStore(MemoryStore::with_clock(rules, clock).unwrap());
            let config = WaitingRoomConfig::builder("shop")
                .room_store(store, StoreFailure::Wait)
                .cookie(CookieSettings::default().insecure());
            let layer = WaitingRoomLayer::new(config.build().unwrap());
            let shop = tells_calls(shop::app(layer));
            let mut visitor = TestClient::browser(shop.clone(), clock);
            let told = |seen: &waiting_room_test::Seen| Calls::told(&seen.headers).to_string();
            assert_eq!(told(&visitor.get("/").await), "1 1 0 0");
            assert_eq!(told(&visitor.get("/").await), "0 0 0 0");
            clock.pass(MINUTE / 4).await;
            assert_eq!(told(&visitor.get("/").await), "1 1 1 0");
            assert_eq!(told(&TestClient::browser(shop, clock).get("/").await), "1 1 0 0");
            clock.pass(2 * MINUTE).await;
            assert_eq!(told(&visitor.get("/").await), "2 2 0 0");
        });
    }

    #[test]
    fn a_renewal_for_less_than_a_session_extends_none_even_if_answered_late() {
        let at = Timestamp::from_secs;
        let pass = |until| {
            let id = VisitorId::new(1);
            Pass::new(id, 0, at(10), at(10), at(until))
        };
        let judge = |renewal, now| judged(&renewal, &pass(70), at(now), MINUTE);
        let extended = (true, false);
        let refused = (false, true);
        let over = (false, false);
        assert_eq!(judge(Renewal::Renew(pass(120)), 60), extended);
        assert_eq!(judge(Renewal::Renew(pass(119)), 60), refused);
        for now in [69, 71] {
            assert_eq!(judge(Renewal::Renew(pass(70)), now), refused);
        }
        assert_eq!(judge(Renewal::End, 69), refused);
        assert_eq!(judge(Renewal::End, 70), over);
    }

    const MINUTE: Duration = Duration::from_secs(60);
}
