//! The page of a visitor in a browser: ours, a template, or a closure of the application.
//!
//! Only navigations get a page, since any other client cannot show it. A template is rendered for
//! every kind of answer when it is configured, so a mistake in a rare case is found at start-up and
//! not by the first visitor who meets it. A closure cannot be checked that way.
//!
//! Headers that every answer needs are added elsewhere; this file adds those of pages alone: the
//! `Content-Security-Policy` with its nonce, and `X-Robots-Tag`.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, header::CONTENT_SECURITY_POLICY};
use waiting_room_core::{ConfigError, Reason, error::ConfigErrorKind};

use super::{
    Answer,
    headers::{Failure, of_type},
    html::Template,
    sample,
};
use crate::{ambient::random_bytes, request::RequestHead};

/// The page that visitors see while they are in line, or when they are refused.
///
/// The default page works without JavaScript. With JavaScript it updates in place, without a
/// reload. It loads no other resources, and its sentences are in the visitor's
/// [`Language`](crate::request::Language). It can be given a [`title`](Self::title), or be replaced
/// by a [`template`](Self::template) or a [closure](Self::from_fn). Only navigations get a page;
/// every other client gets data.
///
/// ```
/// use tower_waiting_room::{ConfigError, respond::Page};
///
/// let ours = Page::default().title("Midsummer Festival");
/// let yours = Page::template("<h1>{{ title }}</h1><p>{{ message.position }}</p>")?.title("Shop");
///
/// let error = Page::template("<p>\n{{ positoin }}</p>").unwrap_err();
/// assert!(error.to_string().contains("line 2"));
/// # Ok::<(), ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Page {
    body: Body,
    title: Option<Arc<str>>,
    policy: Option<Arc<str>>,
}

impl Page {
    /// The longest template: 1 MiB.
    pub const MAX_TEMPLATE_LEN: usize = 1024 * 1024;

    /// The policy of the default page: no resources are loaded, and only styles and scripts with
    /// the nonce apply.
    ///
    /// `form-action` must be `'self'`: browsers apply it when a reload repeats a POST.
    pub const STRICT_POLICY: &'static str = "default-src 'none'; script-src 'nonce-{nonce}'; \
        style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; base-uri 'none'; \
        form-action 'self'";

    /// Creates a page from a template in the Jinja language (the `minijinja` crate).
    ///
    /// The variables of a template are:
    ///
    /// - the fields of [`Answer`], with durations in whole seconds and points in time in ISO 8601;
    /// - `message`, with the fields of [`Message`](super::Message);
    /// - `title`, `lang` and `nonce`;
    /// - all variables of a Cloudflare Waiting Room template, under their names there.
    ///
    /// A variable that does not apply is `none`; an unknown name is an error. Values are escaped
    /// for HTML.
    ///
    /// The page has no `Content-Security-Policy` until
    /// [one is set](Self::content_security_policy).
    ///
    /// # Errors
    ///
    /// If the template is longer than [`MAX_TEMPLATE_LEN`](Self::MAX_TEMPLATE_LEN), or cannot be
    /// rendered for every kind of answer. The error names the line.
    pub fn template(source: impl Into<String>) -> Result<Self, ConfigError> {
        let source = source.into();
        if source.len() > Self::MAX_TEMPLATE_LEN {
            return Err(ConfigError::new(
                ConfigErrorKind::TooLarge,
                FIELD,
                format_args!("a template of {} bytes", source.len()),
                format_args!("at most {} bytes", Self::MAX_TEMPLATE_LEN),
            ));
        }
        let template = Template::parse(source).map_err(|error| malformed(&error, None))?;
        for answer in sample::answers() {
            template
                .render(&answer, "title", "nonce")
                .map_err(|error| malformed(&error, Some(&answer.reason)))?;
        }
        Ok(Self { body: Body::Template(Arc::new(template)), title: None, policy: None })
    }

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
        Self { body: Body::Closure(Arc::new(page)), title: None, policy: None }
    }

    /// Sets the name of the event or service that visitors wait for; the name of the room by
    /// default. A template finds it as `title`; a closure does not receive it.
    #[must_use]
    pub fn title(mut self, title: impl Into<Arc<str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the `Content-Security-Policy` of the page. `{nonce}` in it is replaced by the nonce of
    /// each response of a template.
    ///
    /// [`STRICT_POLICY`](Self::STRICT_POLICY) suits a template whose style and script carry
    /// `nonce="{{ nonce }}"`.
    ///
    /// # Errors
    ///
    /// If the policy has characters that a header cannot carry.
    pub fn content_security_policy(mut self, policy: &str) -> Result<Self, ConfigError> {
        if HeaderValue::from_str(policy).is_err() {
            let (kind, given) = (ConfigErrorKind::Malformed, format!("{policy:?}"));
            let expected = "printable characters only";
            return Err(ConfigError::new(kind, "content_security_policy", given, expected));
        }
        self.policy = Some(policy.into());
        Ok(self)
    }

    /// Renders the page for an answer, with the headers that only pages have.
    ///
    /// # Errors
    ///
    /// A template that fails for this answer, although it did not fail for the samples.
    pub(super) fn response(
        &self,
        answer: &Answer,
        head: &RequestHead<'_>,
    ) -> Result<Response<Bytes>, Failure> {
        let mut response = match &self.body {
            Body::Closure(page) => self.governed(page(answer, head))?,
            Body::Template(template) => self.render(template, answer)?,
        };
        let noindex = HeaderValue::from_static("noindex");
        response.headers_mut().entry(X_ROBOTS_TAG).or_insert(noindex);
        Ok(response)
    }

    /// Sets the configured policy on a page made by a closure, in place of one that the closure has
    /// set. It is sent as it is: a closure that uses nonces sets the header itself instead.
    fn governed(&self, mut response: Response<Bytes>) -> Result<Response<Bytes>, Failure> {
        if let Some(policy) = &self.policy {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_str(policy)?);
        }
        Ok(response)
    }

    /// Renders a template with a fresh nonce.
    fn render(&self, template: &Template, answer: &Answer) -> Result<Response<Bytes>, Failure> {
        // 128 random bits, the least that CSP Level 3 recommends for a nonce.
        let nonce = format!("{:032x}", u128::from_le_bytes(random_bytes()));
        let title = self.title.as_ref().unwrap_or(&answer.room);
        let html = template.render(answer, title, &nonce)?;
        let mut response = of_type("text/html; charset=utf-8", html);
        if let Some(policy) = &self.policy {
            let policy = HeaderValue::try_from(policy.replace("{nonce}", &nonce))?;
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        }
        Ok(response)
    }
}

impl Default for Page {
    /// The page of this crate, with [`STRICT_POLICY`](Self::STRICT_POLICY).
    fn default() -> Self {
        let template = Template::own().expect("the page is embedded, and a test renders it");
        let policy = Some(Self::STRICT_POLICY.into());
        Self { body: Body::Template(Arc::new(template)), title: None, policy }
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("title", &self.title).finish_non_exhaustive()
    }
}

/// The source of the body.
#[derive(Clone)]
enum Body {
    Closure(Arc<Closure>),
    Template(Arc<Template>),
}

type Closure = dyn Fn(&Answer, &RequestHead<'_>) -> Response<Bytes> + Send + Sync;

/// The error for a template that fails, with its line, and the answer that it fails for if it can
/// be parsed.
fn malformed(error: &minijinja::Error, reason: Option<&Reason>) -> ConfigError {
    let line = error.line().unwrap_or_default();
    let case = reason.map(|reason| format!(" for {reason}")).unwrap_or_default();
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    let given = format!("a template that fails in line {line}{case} ({}{detail})", error.kind());
    ConfigError::new(ConfigErrorKind::Malformed, FIELD, given, "one that renders for every answer")
}

/// The field of the configuration that holds a page, as errors name it.
const FIELD: &str = "page";

/// Keeps search engines from indexing the page under the address of the application's.
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

#[cfg(test)]
mod tests;
