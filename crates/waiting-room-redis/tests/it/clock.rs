//! The time of a room is that of its server, and never runs backwards.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use waiting_room_core::{Clock, RoomRules, Store, SystemClock, Timestamp};

use crate::support::{admitted, node, node_by, on_each, queued, start};

/// A wall clock that somebody sets.
#[derive(Clone, Debug)]
struct WallClock(Arc<AtomicU64>);

impl WallClock {
    fn new(secs: u64) -> Self {
        Self(Arc::new(AtomicU64::new(secs)))
    }

    fn set(&self, secs: u64) {
        self.0.store(secs, Ordering::Relaxed);
    }
}

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.0.load(Ordering::Relaxed))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_lengthens_no_session_and_empties_no_minute() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = WallClock::new(100_000);
        let rules = RoomRules::new("shop", 1).session_duration(Duration::from_secs(80));
        let store = node_by(clock.clone(), &server, rules).await;
        let pass = admitted(&store, 1).await;
        assert_eq!(pass.expires_at, Timestamp::from_secs(100_090));

        // An hour back, and from there on as before.
        clock.set(96_400);
        queued(&store, 2).await;
        assert_eq!(store.snapshot().await.unwrap().at, Timestamp::from_secs(100_000));
        clock.set(96_489);
        queued(&store, 3).await;
        clock.set(96_490);
        let pass = admitted(&store, 4).await;
        assert_eq!(pass.accepted_at, Timestamp::from_secs(100_090));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_knows_the_time_of_the_server() {
    on_each(async |engine| {
        let server = start(engine);
        let store = node(&server, RoomRules::new("shop", 1)).await;
        let pass = admitted(&store, 1).await;
        let off = SystemClock::new().now().since(pass.accepted_at);
        assert!(off < Duration::from_secs(60), "{off:?}");
        assert!(store.now() >= pass.accepted_at);
        assert!(store.remembers_since() <= pass.accepted_at);
    })
    .await;
}
