//! Finished pages of refusals, kept for a second.
//!
//! In a flood, most refusals with a page are alike: they state the same reason and the same retry
//! time, in one of the available languages. Each thread keeps the last few pages, and sends each of
//! them for at most a second, because a page states its time.
//!
//! The memory for kept pages is bounded, whatever clients send: the number of pages is fixed, and
//! the key consists of values that the server determines. A client can choose only the language,
//! and whether the request has a safe method. A page that is not kept is rendered, which
//! is cheap for the default page.

use std::{
    array,
    cell::RefCell,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use http::StatusCode;
use waiting_room_core::{Reason, Timestamp};

use crate::request::Language;

/// The identity of a layer. The pages of one layer are not sent by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LayerId(u64);

impl LayerId {
    /// Returns an identity that no other layer of this process has.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// All properties of a refusal that its page depends on, except for the time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PageKey {
    pub(super) layer: LayerId,
    /// The reason, with the name of the limit.
    pub(super) reason: Reason,
    pub(super) status: StatusCode,
    pub(super) language: Language,
    /// The value of `Retry-After`, in whole seconds.
    pub(super) retry_after: Option<u64>,
    /// Whether the request had a safe method.
    pub(super) is_safe: bool,
}

impl PageKey {
    /// Returns the place of the page. Pages that are often sent alternately have different places.
    fn place(&self) -> usize {
        let language = self.language.index() as u64 + u64::from(!self.is_safe) * 16;
        let seconds = self.retry_after.unwrap_or_default().wrapping_mul(11);
        let others = self.layer.0.wrapping_mul(3).wrapping_add(self.status.as_u16().into());
        let [place, ..] = seconds.wrapping_add(language).wrapping_add(others).to_le_bytes();
        usize::from(place) % PAGES
    }
}

/// Returns the page for this key if it was rendered in the second of `now`, and otherwise renders
/// it. `render` returns the page, and whether it may be sent again.
///
/// # Errors
///
/// Returns the error of `render`.
pub(super) fn page<E>(
    key: PageKey,
    now: Timestamp,
    render: impl FnOnce() -> Result<(Bytes, Reuse), E>,
) -> Result<Bytes, E> {
    let place = key.place();
    let second = now.as_secs();
    let kept = KEPT.with_borrow(|kept| {
        let page = kept[place].as_ref().filter(|page| page.second == second && page.key == key);
        page.map(|page| page.html.clone())
    });
    if let Some(html) = kept {
        return Ok(html);
    }
    let (html, reuse) = render()?;
    if reuse == Reuse::Allowed {
        let page = KeptPage { key, second, html: html.clone() };
        KEPT.with_borrow_mut(|kept| kept[place] = Some(page));
    }
    Ok(html)
}

/// Whether a page may be sent in response to several requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reuse {
    Allowed,
    /// The page contains a nonce, which must be new in every response.
    Forbidden,
}

/// A page that was rendered.
struct KeptPage {
    key: PageKey,
    /// The second of the Unix time at which the page was rendered.
    second: u64,
    html: Bytes,
}

thread_local! {
    /// The pages that this thread keeps.
    static KEPT: RefCell<[Option<KeptPage>; PAGES]> = RefCell::new(array::from_fn(|_| None));
}

/// The number of pages that each thread keeps, which is about 300 KiB of default pages.
const PAGES: usize = 32;

#[cfg(test)]
mod tests {
    use std::{cell::Cell, time::Duration};

    use super::*;

    fn key(layer: LayerId) -> PageKey {
        PageKey {
            layer,
            reason: Reason::RefusedRate("per_ip".into()),
            status: StatusCode::TOO_MANY_REQUESTS,
            language: Language::ENGLISH,
            retry_after: Some(2),
            is_safe: true,
        }
    }

    /// Returns whether the page had to be rendered.
    fn is_rendered(key: PageKey, now: Timestamp, reuse: Reuse) -> bool {
        let is_rendered = Cell::new(false);
        let html = Bytes::from(format!("{key:?} {}", now.as_secs()));
        let render = || {
            is_rendered.set(true);
            Ok::<_, ()>((html.clone(), reuse))
        };
        assert_eq!(page(key, now, render), Ok(html.clone()));
        is_rendered.get()
    }

    const NOW: Timestamp = Timestamp::from_millis(1_000_300);

    #[test]
    fn a_page_is_kept_until_its_second_ends() {
        let key = key(LayerId::new());
        let after = |millis| NOW + Duration::from_millis(millis);
        assert!(is_rendered(key.clone(), NOW, Reuse::Allowed));
        assert!(!is_rendered(key.clone(), after(699), Reuse::Allowed));
        assert!(is_rendered(key.clone(), after(700), Reuse::Allowed));
        assert!(!is_rendered(key.clone(), after(1_699), Reuse::Allowed));
        assert!(is_rendered(key, NOW, Reuse::Allowed));
    }

    #[test]
    fn a_page_is_sent_only_for_the_same_refusal() {
        let of = key(LayerId::new());
        let others = [
            key(LayerId::new()),
            PageKey { reason: Reason::RefusedRate("daily".into()), ..of.clone() },
            PageKey { status: StatusCode::SERVICE_UNAVAILABLE, ..of.clone() },
            PageKey { language: Language::GERMAN, ..of.clone() },
            PageKey { retry_after: Some(3), ..of.clone() },
            PageKey { retry_after: None, ..of.clone() },
            PageKey { is_safe: false, ..of.clone() },
        ];
        for other in others {
            is_rendered(of.clone(), NOW, Reuse::Allowed);
            assert!(is_rendered(other.clone(), NOW, Reuse::Allowed), "{other:?}");
        }
    }

    #[test]
    fn a_page_with_a_nonce_is_not_kept() {
        let key = key(LayerId::new());
        assert!(is_rendered(key.clone(), NOW, Reuse::Forbidden));
        assert!(is_rendered(key, NOW, Reuse::Allowed));
    }

    #[test]
    fn the_pages_of_a_second_have_places_of_their_own() {
        let places = |languages: &[Language], seconds: &[u64]| {
            let keys = languages.iter().flat_map(|language| {
                let key = PageKey { language: *language, ..key(LayerId(0)) };
                seconds
                    .iter()
                    .map(move |second| PageKey { retry_after: Some(*second), ..key.clone() })
            });
            keys.map(|key| key.place()).collect::<std::collections::HashSet<_>>().len()
        };
        let common = [
            Language::CHINESE_SIMPLIFIED,
            Language::ENGLISH,
            Language::FRENCH,
            Language::GERMAN,
            Language::SPANISH,
        ];
        assert_eq!(places(&common, &[1, 2]), 10);
        assert_eq!(places(&Language::ALL, &[1]), PAGES);
    }
}
