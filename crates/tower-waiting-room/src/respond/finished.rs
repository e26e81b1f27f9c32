//! Finished headers of refusals.
//!
//! In a flood, most refusals of a second have the same headers: they state the same limit, the same
//! numbers and the same time to retry. Each thread therefore keeps the last few sets of headers that
//! occurred at least twice. Copying a finished set costs half as much as setting its values again.
//!
//! What is kept is bounded, whatever clients send: the number of sets is fixed, and the key consists
//! of values that the server determines. A set is kept only when its key occurs for the second time
//! in a row in its place, so headers that never recur cost hardly more than without this cache.

use std::{
    array,
    cell::RefCell,
    sync::atomic::{AtomicU64, Ordering},
};

use http::HeaderMap;

use super::Outcome;
use crate::{rate_headers::ReportKey, request::Language};

/// The identity of prepared headers. No others in this process have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PreparedId(u64);

impl PreparedId {
    /// Returns an identity that no other prepared headers have.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// All values on which finished headers depend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct HeadersKey {
    pub(super) prepared: PreparedId,
    pub(super) report: ReportKey,
    pub(super) language: Language,
    /// The length of the body in bytes.
    pub(super) length: usize,
    pub(super) outcome: Outcome,
}

impl HeadersKey {
    /// Returns the place of the headers.
    fn place(&self) -> usize {
        let language = self.language.index() as u64;
        let others = self.prepared.0.wrapping_mul(3).wrapping_add(language);
        let [place, ..] = self.report.mixed().wrapping_add(others).to_le_bytes();
        usize::from(place) % PLACES
    }
}

/// Headers that were finished, unless their key has occurred only once in a row.
struct Finished {
    key: HeadersKey,
    headers: Option<HeaderMap>,
}

/// Returns the headers for this key, which may have been finished for another request.
pub(super) fn headers(key: HeadersKey, finish: impl FnOnce() -> HeaderMap) -> HeaderMap {
    FINISHED.with_borrow_mut(|finished| match &mut finished[key.place()] {
        Some(Finished { key: of, headers }) if *of == key => match headers {
            Some(headers) => headers.clone(),
            None => headers.insert(finish()).clone(),
        },
        place => {
            *place = Some(Finished { key, headers: None });
            finish()
        }
    })
}

thread_local! {
    /// The headers that this thread keeps.
    static FINISHED: RefCell<[Option<Finished>; PLACES]> =
        RefCell::new(array::from_fn(|_| None));
}

/// The number of sets of headers that each thread keeps: about 64 KiB.
const PLACES: usize = 64;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use http::{HeaderValue, header::CONTENT_LENGTH};
    use waiting_room_core::Timestamp;

    use super::*;
    use crate::rate_headers::Report;

    fn key(prepared: PreparedId, retry_after: u64, length: usize) -> HeadersKey {
        let report = Report::new(&[], Some(retry_after), Timestamp::ZERO).key().unwrap();
        let (language, outcome) = (Language::ENGLISH, Outcome::Refuse);
        HeadersKey { prepared, report, language, length, outcome }
    }

    /// Returns whether the headers had to be finished.
    fn is_finished(key: HeadersKey) -> bool {
        let is_finished = Cell::new(false);
        let length = HeaderValue::from(key.length);
        let headers = headers(key, || {
            is_finished.set(true);
            HeaderMap::from_iter([(CONTENT_LENGTH, length.clone())])
        });
        assert_eq!(headers.get(CONTENT_LENGTH), Some(&length));
        is_finished.get()
    }

    #[test]
    fn headers_are_kept_from_their_second_occurrence_on() {
        let key = key(PreparedId::new(), 7, 100);
        let finished: Vec<bool> = (0..4).map(|_| is_finished(key)).collect();
        assert_eq!(finished, [true, true, false, false]);
    }

    #[test]
    fn headers_are_copied_only_for_the_same_values() {
        let prepared = PreparedId::new();
        let of = key(prepared, 7, 100);
        let others = [
            key(prepared, 8, 100),
            key(prepared, 7, 101),
            key(PreparedId::new(), 7, 100),
            HeadersKey { language: Language::GERMAN, ..of },
            HeadersKey { outcome: Outcome::Wait, ..of },
        ];
        for other in others {
            for _ in 0..3 {
                is_finished(of);
            }
            assert!(is_finished(other));
        }
    }
}
