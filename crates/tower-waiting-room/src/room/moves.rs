//! The visitors who arrive with a pass of another site, while the store is asked about them.
//!
//! A pass of another site counts for nothing by itself, so the store is asked for a slot before the
//! application is called. A browser sends several requests at once with the same pass, which share one
//! question:
//!
//! ```text
//!  first request ─► the store is asked ─┬─► its verdict
//!  the others ────► wait ───────────────┴─► the same verdict, which is not counted again
//! ```
//!
//! If the first request is dropped, one of the others asks. [`Sessions`](super::sessions::Sessions)
//! remembers the pass that the visitor has got, for requests that arrive later with the old one.

use std::{
    future::Future,
    hash::BuildHasherDefault,
    sync::{Arc, Weak},
};

use dashmap::{DashMap, Entry};
use tokio::sync::OnceCell;
use waiting_room_core::{Reason, StoreError, Verdict, VisitorId, error::StoreErrorKind};

use super::sessions::IdHasher;

/// The questions to the store that are under way, by visitor. There are no more of them than requests
/// under way.
#[derive(Debug, Default)]
pub(crate) struct Moves(DashMap<VisitorId, Weak<Awaited>, BuildHasherDefault<IdHasher>>);

/// The answer of the store, once it is known.
type Awaited = OnceCell<Result<Verdict, StoreErrorKind>>;

impl Moves {
    /// Asks the store about a visitor by `question`, unless another request is asking about the same
    /// visitor; then the result is the same as for that request, except that an admission has the
    /// reason of a visitor who is inside.
    ///
    /// # Errors
    ///
    /// Returns the error of the store, without its source.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped while it asks, another request that waits for the answer asks again.
    pub(super) async fn ask(
        &self,
        id: VisitorId,
        question: impl Future<Output = Result<Verdict, StoreError>>,
    ) -> Result<Verdict, StoreError> {
        let asked = Asking { question: Some(self.join(id)), id, moves: self };
        let mut is_first = false;
        let answer = asked.question.as_ref().expect("it is taken only when it is dropped");
        let answer = answer
            .get_or_init(|| {
                is_first = true;
                async { question.await.map_err(|error| error.kind()) }
            })
            .await;
        match answer {
            Ok(Verdict::Admit { pass, .. }) if !is_first => {
                Ok(Verdict::Admit { pass: *pass, reason: Reason::AdmittedPass })
            }
            Ok(verdict) => Ok(verdict.clone()),
            Err(kind) => Err(StoreError::new(*kind)),
        }
    }

    /// Returns the question about a visitor that is under way, or a new one.
    fn join(&self, id: VisitorId) -> Arc<Awaited> {
        let entry = self.0.entry(id);
        // An answer that is known may be out of date.
        if let Entry::Occupied(open) = &entry
            && let Some(question) = open.get().upgrade()
            && !question.initialized()
        {
            return question;
        }
        let question = Arc::default();
        entry.insert(Arc::downgrade(&question));
        question
    }
}

/// The part of one request in a question. When the last part is dropped, the question is forgotten.
struct Asking<'a> {
    question: Option<Arc<Awaited>>,
    id: VisitorId,
    moves: &'a Moves,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        // The entry is looked at after the reference is given up: of two requests that end at once,
        // the one that looks later finds no reference.
        self.question = None;
        self.moves.0.remove_if(&self.id, |_, question| question.strong_count() == 0);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, poll_fn, ready},
        pin::pin,
        task::Poll,
    };

    use super::*;

    const ID: VisitorId = VisitorId::new(1);

    fn refused() -> Result<Verdict, StoreError> {
        Ok(Verdict::Refuse { ticket: None, reason: Reason::RefusedReject, retry_after: None })
    }

    #[tokio::test]
    async fn concurrent_requests_share_one_store_call() {
        let moves = Moves::default();
        let mut first = pin!(moves.ask(ID, async {
            tokio::task::yield_now().await;
            refused()
        }));
        poll_fn(|cx| {
            assert!(first.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        let second = moves.ask(ID, async { panic!("the second request asks as well") });
        // The second request begins to wait before the store answers the first.
        let (second, first) = tokio::join!(second, first);
        assert_eq!((first.unwrap(), second.unwrap()), (refused().unwrap(), refused().unwrap()));
        assert!(moves.0.is_empty());
        let failed = moves.ask(ID, ready(Err(StoreError::new(StoreErrorKind::Busy)))).await;
        assert_eq!(failed.unwrap_err().kind(), StoreErrorKind::Busy);
        assert!(moves.0.is_empty());
    }

    #[tokio::test]
    async fn another_request_asks_if_the_first_one_is_dropped() {
        let moves = Moves::default();
        let mut first = Box::pin(moves.ask(ID, pending()));
        let mut second = pin!(moves.ask(ID, ready(refused())));
        poll_fn(|cx| {
            assert!(first.as_mut().poll(cx).is_pending());
            assert!(second.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(first);
        assert_eq!(second.await.unwrap(), refused().unwrap());
        assert!(moves.0.is_empty());
    }
}
