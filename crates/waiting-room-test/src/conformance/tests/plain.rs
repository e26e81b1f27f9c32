//! A store that implements only what a store must: neither events nor stays.

use std::error::Error;

use waiting_room_core::error::StoreErrorKind;

use super::*;

#[derive(Clone, Debug)]
struct Plain(MemoryStore);

impl Store for Plain {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn remembers_since(&self) -> Timestamp {
        self.0.remembers_since()
    }

    fn rules(&self) -> Arc<RoomRules> {
        self.0.rules()
    }

    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        self.0.enter(id).await
    }

    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        self.0.check_in(ticket).await
    }

    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        self.0.renew(pass).await
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
}

#[test]
fn a_store_without_events_and_stays_passes_the_suite() {
    let plain = async |rules, clock| Plain(MemoryStore::with_clock(rules, clock).unwrap());
    for seed in seeds(2) {
        let coverage = block_on(check(SuitePlan::new(seed, COMMANDS), plain)).unwrap();
        assert_eq!(coverage.count("scheduled"), 0);
        assert!(coverage.count("admitted:slot") > 0);
    }
}

#[test]
fn an_event_is_refused_with_a_clear_error() {
    let at = Timestamp::from_secs;
    let clock = ManualClock::new(at(1_000));
    let store = Plain(MemoryStore::with_clock(RoomRules::new("shop", 1), clock).unwrap());
    let doors = Event::new("doors", at(2_000), at(3_000));
    let error = block_on(store.schedule(Schedule::new([doors]).unwrap())).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unsupported);
    assert_eq!(error.to_string(), "the store does not support scheduled events");
    assert!(error.source().is_none() && store.plan().is_none());
}
