//! The page for a visitor with a browser: the default page, or a template or closure that the
//! application supplies.
//!
//! Only navigations get a page, because no other client can show one. When a template is
//! configured, it is rendered for every kind of answer, so a mistake in a rare case is found at
//! start-up and not by a visitor. A closure cannot be checked in this way.
//!
//! This file adds only the header that is specific to pages, the `Content-Security-Policy`. The
//! headers that all answers have in common are added in `headers.rs`. Pages do not contain
//! `noindex`: with an error status it has no effect, and with status 200 it would remove the
//! application's own page from the index of a search engine.

mod mustache;
mod settings;
#[cfg(feature = "room")]
mod templates;

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, LazyLock},
};

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Response,
    header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE},
};
#[cfg(feature = "room")]
use memchr::memmem;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

#[cfg(feature = "room")]
use super::template::{Template, Variables};
use super::{
    Answer,
    headers::{Failure, of_type},
    kept::Reuse,
    look::Look,
    mustache::MustachePage,
    own_page::OwnPage,
};
use crate::request::{Languages, RequestHead};

/// The page that visitors see while they wait in the line, or when they are refused.
///
/// The default page works without JavaScript. With JavaScript, the page updates in place, without a
/// reload. The default page loads no other resources, and its sentences are in the visitor's
/// [`Language`](crate::request::Language). The application can set a [`title`](Self::title), or
/// replace the page with a [`template`](Self::template) or a [closure](Self::from_fn). Only
/// navigations get a page; all other clients get the answer in another form.
///
/// The settings of a page are checked when the configuration is
/// [built](crate::config::WaitingRoomConfigBuilder::build). An error names the setting, such as
/// `page.logo`.
///
/// ```
/// use tower_waiting_room::{ConfigError, respond::Page};
///
/// let ours = Page::default().title("Midsummer Festival").notice("Doors open at ten.");
/// let yours = Page::template("<h1>{{ title }}</h1><p>{{ message.position }}</p>")?.title("Shop");
///
/// let error = Page::template("<p>\n{{ positoin }}</p>").unwrap_err();
/// assert!(error.to_string().contains("line 2"));
/// # Ok::<(), ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Page {
    body: Body,
    /// The default page with the settings.
    own: Arc<OwnPage>,
    /// The languages between which visitors can choose.
    languages: Cow<'static, Languages>,
    /// The `Content-Security-Policy`. In the policy of a template, `{nonce}` is replaced for each
    /// response.
    policy: Option<HeaderValue>,
    /// The policy of the default page, with nonces in place of the hashes of its style and script.
    policy_source: Option<Arc<str>>,
    /// The tag of the language for visitors that accept none of the languages.
    default_language: Option<Arc<str>>,
    /// The first setting that is invalid.
    flaw: Option<ConfigError>,
}

impl Page {
    /// The maximum length of a template: 1 MiB.
    pub const MAX_TEMPLATE_LEN: usize = 1024 * 1024;

    /// A strict `Content-Security-Policy` for a template: no external resources are loaded, and
    /// only styles and scripts with the nonce are allowed.
    ///
    /// The default page has the same policy, with the hashes of its style and its script in place
    /// of the nonces.
    ///
    /// `form-action` must be `'self'`, because browsers apply this directive when a reload repeats
    /// a POST.
    pub const STRICT_POLICY: &'static str = "default-src 'none'; script-src 'nonce-{nonce}'; \
        style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; base-uri 'none'; \
        form-action 'self'";

    /// Creates a page from a closure.
    ///
    /// The closure receives the answer and the request, and returns the body with its
    /// `Content-Type`. The layer sets the status that is configured for navigations, and adds the
    /// headers that every answer needs.
    ///
    /// ```
    /// use http::Response;
    /// use tower_waiting_room::respond::Page;
    ///
    /// let page = Page::from_fn(|answer, request| {
    ///     let path = request.uri().path();
    ///     let brand = if path.starts_with("/vip/") { "VIP" } else { "Shop" };
    ///     Response::new(format!("{brand}: {}", answer.message().headline))
    /// });
    /// # let _ = page;
    /// ```
    #[must_use]
    pub fn from_fn<F, B>(page: F) -> Self
    where
        F: Fn(&Answer, &RequestHead<'_>) -> Response<B> + Send + Sync + 'static,
        B: Into<Bytes>,
    {
        let page =
            move |answer: &Answer, head: &RequestHead<'_>| page(answer, head).map(Into::into);
        Self::with_body(Body::Closure(Arc::new(page)))
    }

    /// Creates a page with this body, the default settings and no policy.
    fn with_body(body: Body) -> Self {
        Self {
            body,
            own: default_page(),
            languages: built_in(),
            default_language: None,
            policy: None,
            policy_source: None,
            flaw: None,
        }
    }

    /// Returns the page if all of its settings are valid.
    ///
    /// # Errors
    ///
    /// Returns the error of the first setting that is invalid. The default language is checked
    /// last, because a setting after it may have added this language.
    pub(crate) fn checked(mut self) -> Result<Self, ConfigError> {
        if let Some(flaw) = self.flaw {
            return Err(flaw);
        }
        if let Some(tag) = &self.default_language {
            let language = self.languages.tagged(tag).ok_or_else(|| {
                let given: String = tag.chars().take(40).collect();
                ConfigError::new(
                    ConfigErrorKind::Malformed,
                    "page.default_language",
                    format_args!("{given:?}"),
                    format_args!("one of {}", self.languages.tags().join(", ")),
                )
            })?;
            self.languages = Cow::Owned(self.languages.with_default(language));
        }
        Ok(self)
    }

    /// Returns the languages between which clients can choose.
    pub(super) fn languages(&self) -> &Languages {
        &self.languages
    }

    /// Returns the headers that only pages have, which precede the headers of every answer. `None`
    /// if they differ from response to response, because the page is a closure, or because its
    /// policy contains a nonce.
    pub(super) fn headers(&self) -> Option<Vec<(HeaderName, HeaderValue)>> {
        if matches!(self.body, Body::Closure(_)) || self.has_nonces() {
            return None;
        }
        let policy = self.policy.iter().map(|policy| (CONTENT_SECURITY_POLICY, policy.clone()));
        let html = (CONTENT_TYPE, HeaderValue::from_static(HTML));
        Some([html].into_iter().chain(policy).collect())
    }

    /// Returns whether the policy contains `{nonce}`, which is replaced with the nonce of a template.
    fn has_nonces(&self) -> bool {
        match &self.body {
            #[cfg(feature = "room")]
            Body::Template(_) => {
                let policy = self.policy.as_ref().map(HeaderValue::as_bytes);
                policy.is_some_and(|policy| memmem::find(policy, b"{nonce}").is_some())
            }
            _ => false,
        }
    }

    /// Renders the page for an answer, without headers. Also returns whether the page may be sent
    /// in response to several requests. Returns `None` if the page is a closure.
    ///
    /// # Errors
    ///
    /// The same as for [`response`](Self::response).
    pub(super) fn html(&self, answer: &Answer) -> Result<Option<(Bytes, Reuse)>, Failure> {
        Ok(match &self.body {
            Body::Closure(_) => None,
            Body::Mustache(page) => Some((page.render(answer).into(), Reuse::Allowed)),
            Body::Own => Some((self.own.render(answer).into(), Reuse::Allowed)),
            #[cfg(feature = "room")]
            Body::Template(template) => {
                let variables = Arc::new(Variables::new(answer, self.own.look()));
                let html = template.render(&variables)?.into();
                let has_nonce = variables.has_nonce();
                Some((html, if has_nonce { Reuse::Forbidden } else { Reuse::Allowed }))
            }
        })
    }

    /// Renders the page for an answer, with the headers that only pages have.
    ///
    /// # Errors
    ///
    /// Returns an error if the template fails for this answer, even though it did not fail for the
    /// samples.
    pub(super) fn response(
        &self,
        answer: &Answer,
        head: &RequestHead<'_>,
    ) -> Result<Response<Bytes>, Failure> {
        let mut response = match &self.body {
            Body::Closure(page) => page(answer, head),
            Body::Mustache(page) => of_type(HTML, page.render(answer)),
            Body::Own => of_type(HTML, self.own.render(answer)),
            #[cfg(feature = "room")]
            Body::Template(template) => {
                let variables = Arc::new(Variables::new(answer, self.own.look()));
                let mut response = of_type(HTML, template.render(&variables)?);
                if let Some(policy) = self.policy.as_ref().filter(|_| self.has_nonces()) {
                    let policy = policy.to_str()?.replace("{nonce}", variables.nonce());
                    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy.try_into()?);
                }
                response
            }
        };
        // The configured policy replaces any policy that a closure has set. A closure that uses nonces
        // has to set the header itself, on a page without a configured policy.
        if let Some(policy) = self.policy.as_ref().filter(|_| !self.has_nonces()) {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy.clone());
        }
        Ok(response)
    }
}

impl Default for Page {
    /// Returns the default page. Its policy is [`STRICT_POLICY`](Self::STRICT_POLICY) with the
    /// hashes of its style and its script in place of the nonces.
    fn default() -> Self {
        Self {
            policy: Some(OWN_POLICY.clone()),
            policy_source: Some(Self::STRICT_POLICY.into()),
            ..Self::with_body(Body::Own)
        }
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("look", self.own.look()).finish_non_exhaustive()
    }
}

/// The source of a page's body.
#[derive(Clone)]
enum Body {
    Closure(Arc<Closure>),
    Mustache(Arc<MustachePage>),
    /// The default page.
    Own,
    #[cfg(feature = "room")]
    Template(Arc<Template>),
}

type Closure = dyn Fn(&Answer, &RequestHead<'_>) -> Response<Bytes> + Send + Sync;

/// The policy of the default page.
static OWN_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let policy = HeaderValue::try_from(default_page().with_hashes(Page::STRICT_POLICY));
    policy.expect("the policy and the hashes are visible ASCII")
});

/// Returns the default page without settings.
fn default_page() -> Arc<OwnPage> {
    static PAGE: LazyLock<Arc<OwnPage>> = LazyLock::new(|| Arc::new(OwnPage::new(Look::default())));
    Arc::clone(&PAGE)
}

/// Returns the built-in languages.
fn built_in() -> Cow<'static, Languages> {
    Cow::Borrowed(Languages::built_in())
}

/// The type of a rendered page.
const HTML: &str = "text/html; charset=utf-8";

#[cfg(test)]
#[cfg(feature = "room")]
mod tests;
