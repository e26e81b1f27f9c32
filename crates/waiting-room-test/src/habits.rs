//! The behavior of a crowd's visitors.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::client::ClientForm;

/// The behaviour of each visitor of a group.
///
/// While it waits, a visitor obeys the service: it asks again after `Retry-After` or `Refresh`,
/// unless it [reloads](Self::reloading_every) earlier. Once it is admitted, it requests a
/// page now and then until its visit is over.
///
/// ```
/// use std::time::Duration;
/// use waiting_room_test::Habits;
///
/// let habits = Habits::browser()
///     .path("/tickets")
///     .staying(Duration::from_secs(90))
///     .patience(Duration::from_secs(600));
/// # let _ = habits;
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Habits {
    pub(crate) form: ClientForm,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) stay: Duration,
    pub(crate) page_every: Duration,
    pub(crate) patience: Option<Duration>,
    pub(crate) reload_every: Option<Duration>,
    pub(crate) checkout: Option<String>,
}

impl Habits {
    /// A program that accepts JSON, keeps its cookies, and obeys `Retry-After`.
    #[must_use]
    pub fn api_client() -> Self {
        Self::new(ClientForm::Api)
    }

    /// A browser without scripts, which keeps its cookies and obeys `Refresh`.
    #[must_use]
    pub fn browser() -> Self {
        Self::new(ClientForm::Browser)
    }

    fn new(form: ClientForm) -> Self {
        Self {
            form,
            path: "/".to_owned(),
            headers: HeaderMap::new(),
            stay: Duration::from_secs(60),
            page_every: Duration::from_secs(10),
            patience: None,
            reload_every: None,
            checkout: None,
        }
    }

    /// Sets the path of all pages, `/` by default.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Adds a header to all requests, such as an API key.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets how long a visitor stays after its admission, 60 s by default. With zero, it requests a
    /// single page.
    #[must_use]
    pub const fn staying(mut self, duration: Duration) -> Self {
        self.stay = duration;
        self
    }

    /// Sets the time between two pages of an admitted visitor, 10 s by default. Zero counts
    /// as a millisecond.
    #[must_use]
    pub const fn page_every(mut self, interval: Duration) -> Self {
        self.page_every = interval;
        self
    }

    /// Sets the time after its arrival at which a visitor gives up waiting. By default, a visitor
    /// waits until the crowd is over.
    #[must_use]
    pub const fn patience(mut self, duration: Duration) -> Self {
        self.patience = Some(duration);
        self
    }

    /// Lets a visitor that waits reload the page at this interval, even if it was asked to come
    /// back later. Zero counts as a millisecond.
    #[must_use]
    pub const fn reloading_every(mut self, interval: Duration) -> Self {
        self.reload_every = Some(interval);
        self
    }

    /// Lets a visitor send a POST request without a body to this path at the end of its visit, for
    /// an application that ends the session there. By default, it leaves without notice.
    #[must_use]
    pub fn checking_out(mut self, path: impl Into<String>) -> Self {
        self.checkout = Some(path.into());
        self
    }
}
