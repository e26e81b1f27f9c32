//! The page that a waiting visitor looks at, ours or the user's own.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, header::CONTENT_SECURITY_POLICY};
use waiting_room_core::{ConfigError, ConfigErrorKind, Reason};

use super::{
    Answer,
    headers::{Failure, of_type},
    html::Template,
    sample,
};
use crate::{ambient::random_bytes, request::RequestHead};

/// The page that a visitor sees who is in line, or cannot come in.
///
/// The default page works without JavaScript, asks in place with it, loads nothing from
/// anywhere, and speaks the visitor's [`Language`](crate::Language). It can be given a
/// [`title`](Self::title), or be replaced by a [`template`](Self::template) or a
/// [`closure`](Self::closure). Only navigations get a page; every other client gets data.
///
/// ```
/// use tower_waiting_room::{ConfigError, Page};
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
    /// The longest template, in bytes.
    pub const MAX_TEMPLATE_LEN: usize = 1024 * 1024;

    /// The policy of the default page: nothing is loaded, and only what carries the nonce runs.
    ///
    /// `form-action` has to be `'self'`: browsers apply it when a POST is sent again by a reload.
    pub const STRICT_POLICY: &'static str = "default-src 'none'; script-src 'nonce-{nonce}'; \
        style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; base-uri 'none'; \
        form-action 'self'";

    /// A page from a template in the language of Jinja (the `minijinja` crate).
    ///
    /// Its variables are the fields of [`Answer`], in whole seconds and ISO 8601 where they are
    /// times; `message` with the fields of [`Message`](super::Message); `title`, `lang` and
    /// `nonce`; and, under their names, all variables of a Cloudflare Waiting Room template. What
    /// does not apply is `none`; a name that does not exist is an error. What is filled in is
    /// escaped for HTML.
    ///
    /// The page goes out without a `Content-Security-Policy`, until it is
    /// [given one](Self::content_security_policy).
    ///
    /// # Errors
    ///
    /// If the template is too long, or if it cannot be rendered for every kind of answer. The
    /// error names the line.
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

    /// A page made by code.
    ///
    /// The closure gives the body and its `Content-Type`, by the answer and the request that it is
    /// for. The status is the one that is set for navigations, and the headers that every answer
    /// needs are added.
    ///
    /// ```
    /// use http::Response;
    /// use tower_waiting_room::Page;
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

    /// What the visitor waits for, as our page or a template calls it. The room's name, if it is
    /// not set. A closure has its own words.
    #[must_use]
    pub fn title(mut self, title: impl Into<Arc<str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The `Content-Security-Policy` that goes with the page, `{nonce}` standing for the nonce of a
    /// template.
    ///
    /// For a template whose style and script carry `nonce="{{ nonce }}"`,
    /// [`STRICT_POLICY`](Self::STRICT_POLICY) is a good one.
    ///
    /// # Errors
    ///
    /// If a header cannot carry it.
    pub fn content_security_policy(mut self, policy: &str) -> Result<Self, ConfigError> {
        if HeaderValue::from_str(policy).is_err() {
            let (kind, given) = (ConfigErrorKind::Malformed, format!("{policy:?}"));
            let expected = "printable characters only";
            return Err(ConfigError::new(kind, "content_security_policy", given, expected));
        }
        self.policy = Some(policy.into());
        Ok(self)
    }

    /// The page for `answer`, with the headers that only a page has.
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

    /// A page made by code, with the policy that goes with it. Its nonce is for the code to make.
    fn governed(&self, mut response: Response<Bytes>) -> Result<Response<Bytes>, Failure> {
        if let Some(policy) = &self.policy {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_str(policy)?);
        }
        Ok(response)
    }

    fn render(&self, template: &Template, answer: &Answer) -> Result<Response<Bytes>, Failure> {
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
    /// Our own page.
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

#[derive(Clone)]
enum Body {
    Closure(Arc<Closure>),
    Template(Arc<Template>),
}

type Closure = dyn Fn(&Answer, &RequestHead<'_>) -> Response<Bytes> + Send + Sync;

fn malformed(error: &minijinja::Error, reason: Option<&Reason>) -> ConfigError {
    let line = error.line().unwrap_or_default();
    let case = reason.map(|reason| format!(" for {reason}")).unwrap_or_default();
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    let given = format!("a template that fails in line {line}{case} ({}{detail})", error.kind());
    ConfigError::new(ConfigErrorKind::Malformed, FIELD, given, "one that renders for every answer")
}

/// The field of the configuration that holds a page.
const FIELD: &str = "page";

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

#[cfg(test)]
mod tests;
