//! The visitors who arrive with a pass from another site, while the store is asked about them.
//!
//! A pass from another site does not admit its visitor, so the store is asked for a slot before the
//! application is called. A browser may send several requests at once with the same pass. These
//! requests share one question to the store:
//!
//! ```text
//!  first request ─► the store is asked ─┬─► its verdict
//!  the others ────► wait ───────────────┴─► the same verdict, which is not counted again
//! ```
//!
//! If the first request is dropped, one of the others asks. [`Sessions`](super::sessions::Sessions)
//! remembers the visitor's new pass, for requests that arrive later with the old one.

use std::{
    future::Future,
    hash::BuildHasherDefault,
    sync::{Arc, Weak},
};

use dashmap::{DashMap, Entry};
use tokio::sync::OnceCell;
use waiting_room_core::{Reason, StoreError, Verdict, VisitorId, error::StoreErrorKind};

use super::sessions::IdHasher;

/// The open questions to the store, by visitor. There are never more questions than
/// requests in progress.
#[derive(Debug, Default)]
pub(crate) struct Moves(DashMap<VisitorId, Weak<Awaited>, BuildHasherDefault<IdHasher>>);

/// The store's answer, once it is known.
type Awaited = OnceCell<Result<Verdict, StoreErrorKind>>;

impl Moves {
    /// Asks the store about a visitor with `question`. If another request is already asking about
    /// this visitor, the result is the same as for that request, except that an admission has the
    /// reason of a visitor who is already inside.
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

    /// Returns the open question about a visitor, or a new one.
    fn join(&self, id: VisitorId) -> Arc<Awaited> {
        let entry = self.0.entry(id);
        // An answer that is already known may be out of date.
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

/// One request's share in a question. When the last share is dropped, the question is forgotten.
struct Asking<'a> {
    question: Option<Arc<Awaited>>,
    id: VisitorId,
    moves: &'a Moves,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        // This reference is dropped before the entry is inspected. If two requests end at once, the
        // request that inspects the entry last therefore finds no reference left.
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
