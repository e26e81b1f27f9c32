//! The page for a visitor with a browser: the default page, or a template or closure that the
//! application supplies.
//!
//! Only navigations get a page, because no other client can show one. When a template is
//! configured, it is rendered for every kind of answer, so a mistake in a rare case is found at
//! start-up and not by a visitor. A closure cannot be checked in this way.
//!
//! This file adds only the headers that are specific to pages: the `Content-Security-Policy`, and
//! `X-Robots-Tag`. The headers that all answers have in common are added in `headers.rs`.

mod settings;

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
use memchr::memmem;
use waiting_room_core::{ConfigError, Reason, error::ConfigErrorKind};

#[cfg(feature = "cloudflare")]
use super::mustache::MustachePage;
use super::{
    Answer,
    headers::{Failure, of_type},
    html::{Template, Variables},
    kept::Reuse,
    look::Look,
    own_page::OwnPage,
    sample,
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
    /// The settings, and the default page with them.
    own: Arc<OwnPage>,
    /// The languages between which visitors can choose.
    languages: Cow<'static, Languages>,
    /// The `Content-Security-Policy`. In the policy of a template, `{nonce}` is replaced for each
    /// response.
    policy: Option<HeaderValue>,
    /// The policy of the default page, with nonces in place of the hashes of its style and script.
    policy_source: Option<Arc<str>>,
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

    /// Creates a page from a template in the Jinja language (the `minijinja` crate).
    ///
    /// The variables of a template are:
    ///
    /// - the fields of [`Answer`], with durations in whole seconds and points in time in ISO 8601;
    /// - `message`, with the fields of [`Message`](super::Message);
    /// - `title`, `lang`, `dir` (`ltr` or `rtl`) and `nonce`;
    /// - `logo`, `notice` and `support`, as they are set, and `palette`, a style with the colours
    ///   `--accent` and `--on-accent`;
    /// - all variables of a Cloudflare Waiting Room template, under the same names.
    ///
    /// A variable that does not apply is `none`, and an unknown name is an error. Values are
    /// escaped for HTML.
    ///
    /// The page has no `Content-Security-Policy` until
    /// [one is set](Self::content_security_policy).
    ///
    /// # Errors
    ///
    /// Returns an error if the template is longer than
    /// [`MAX_TEMPLATE_LEN`](Self::MAX_TEMPLATE_LEN), has a syntax error, or fails for any kind of
    /// answer. In the last two cases, the error names the line of the mistake.
    pub fn template(source: impl Into<String>) -> Result<Self, ConfigError> {
        let source = source.into();
        check_len(&source)?;
        let template = Template::parse(source).map_err(|error| malformed(&error, None))?;
        let look = Arc::new(Look { title: Some("title".into()), ..Look::default() });
        for answer in sample::answers() {
            let variables = Arc::new(Variables::new(&answer, &look));
            template.render(&variables).map_err(|error| malformed(&error, Some(&answer.reason)))?;
        }
        Ok(Self {
            body: Body::Template(Arc::new(template)),
            own: default_page(),
            languages: built_in(),
            policy: None,
            policy_source: None,
        })
    }

    /// Creates a page from a template of Cloudflare Waiting Room, in the Mustache language.
    ///
    /// All 25 fields of `cfWaitingRoom` are variables, as are `waitTimeHours` and
    /// `waitTimeHourMinutes`. A section is rendered if its variable is neither `false` nor 0 nor
    /// empty, as at Cloudflare. Values are escaped for HTML, except in `{{{three braces}}}`.
    ///
    /// The page has no `Content-Security-Policy` until
    /// [one is set](Self::content_security_policy), and has no nonces: a policy that allows inline
    /// scripts must contain their hashes or `'unsafe-inline'`.
    ///
    /// ```
    /// use tower_waiting_room::respond::Page;
    ///
    /// let page = Page::mustache(
    ///     "{{#waitTimeKnown}}About {{waitTime}} min.{{/waitTimeKnown}}\
    ///      {{^waitTimeKnown}}Please wait.{{/waitTimeKnown}}",
    /// )?;
    ///
    /// let error = Page::mustache("<p>\n{{waitTimes}}</p>").unwrap_err();
    /// assert!(error.to_string().contains("line 2"));
    /// # let _ = page;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the template is longer than
    /// [`MAX_TEMPLATE_LEN`](Self::MAX_TEMPLATE_LEN), has more than 10 000 tags or more than 16
    /// sections inside one another, contains an unknown name, a tag or a section that does not end,
    /// or a tag that Cloudflare's pages do not have (`{{>part}}`, `{{=<% %>=}}`). The error names
    /// the line.
    #[cfg(feature = "cloudflare")]
    pub fn mustache(source: impl AsRef<str>) -> Result<Self, ConfigError> {
        let source = source.as_ref();
        check_len(source)?;
        let page = MustachePage::parse(source).map_err(|mistake| {
            let given = format_args!("a template that is wrong in {mistake}");
            let expected = "a Mustache template with the variables of Cloudflare Waiting Room";
            ConfigError::new(ConfigErrorKind::Malformed, FIELD, given, expected)
        })?;
        Ok(Self {
            body: Body::Mustache(Arc::new(page)),
            own: default_page(),
            languages: built_in(),
            policy: None,
            policy_source: None,
        })
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
        Self {
            body: Body::Closure(Arc::new(page)),
            own: default_page(),
            languages: built_in(),
            policy: None,
            policy_source: None,
        }
    }

    /// Returns the languages between which clients can choose.
    pub(super) fn languages(&self) -> &Languages {
        &self.languages
    }

    /// Sets the `Content-Security-Policy` of the page.
    ///
    /// If the page is a template, `{nonce}` in the policy is replaced with the nonce of each
    /// response. In a policy for the default page, `'nonce-{nonce}'` is replaced with the hashes of
    /// its style and its script.
    ///
    /// [`STRICT_POLICY`](Self::STRICT_POLICY) suits a template whose style and script elements have
    /// the attribute `nonce="{{ nonce }}"`.
    ///
    /// # Errors
    ///
    /// Returns an error if the policy contains characters that are not valid in a header, or
    /// `{nonce}` for a Mustache page, which has no nonces.
    pub fn content_security_policy(mut self, policy: &str) -> Result<Self, ConfigError> {
        #[cfg(feature = "cloudflare")]
        if matches!(self.body, Body::Mustache(_)) && policy.contains("{nonce}") {
            let (kind, given) = (ConfigErrorKind::Contradicts, format!("{policy:?}"));
            let expected = "a policy without {nonce}, because a Mustache page has no nonces";
            return Err(ConfigError::new(kind, "content_security_policy", given, expected));
        }
        let value = if let Body::Own = self.body {
            self.policy_source = Some(policy.into());
            HeaderValue::try_from(self.own.with_hashes(policy))
        } else {
            HeaderValue::from_str(policy)
        };
        self.policy = Some(value.map_err(|_| {
            let (kind, given) = (ConfigErrorKind::Malformed, format!("{policy:?}"));
            let expected = "printable characters only";
            ConfigError::new(kind, "content_security_policy", given, expected)
        })?);
        Ok(self)
    }

    /// Returns the headers that only pages have, in front of the headers of every answer. `None` if
    /// they differ from response to response, because the page is a closure, or because its policy
    /// contains a nonce.
    pub(super) fn headers(&self) -> Option<Vec<(HeaderName, HeaderValue)>> {
        let has_nonce = |policy: &HeaderValue| {
            matches!(self.body, Body::Template(_))
                && memmem::find(policy.as_bytes(), NONCE).is_some()
        };
        if matches!(self.body, Body::Closure(_)) || self.policy.as_ref().is_some_and(has_nonce) {
            return None;
        }
        let policy = self.policy.iter().map(|policy| (CONTENT_SECURITY_POLICY, policy.clone()));
        let html = (CONTENT_TYPE, HeaderValue::from_static(HTML));
        let noindex = (X_ROBOTS_TAG, HeaderValue::from_static(NOINDEX));
        Some([html].into_iter().chain(policy).chain([noindex]).collect())
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
            #[cfg(feature = "cloudflare")]
            Body::Mustache(page) => Some((page.render(answer).into(), Reuse::Allowed)),
            Body::Own => Some((self.own.render(answer).into(), Reuse::Allowed)),
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
            Body::Closure(page) => self.governed(page(answer, head)),
            #[cfg(feature = "cloudflare")]
            Body::Mustache(page) => self.governed(of_type(HTML, page.render(answer))),
            Body::Own => {
                let html = self.own.render(answer);
                self.governed(of_type(HTML, html))
            }
            Body::Template(template) => self.render(template, answer)?,
        };
        let noindex = HeaderValue::from_static(NOINDEX);
        response.headers_mut().entry(X_ROBOTS_TAG).or_insert(noindex);
        Ok(response)
    }

    /// Sets the configured policy on a page, replacing any policy that a closure has set. The
    /// policy is sent unchanged, so a closure that uses nonces has to set the header itself, on a
    /// page without a configured policy.
    fn governed(&self, mut response: Response<Bytes>) -> Response<Bytes> {
        if let Some(policy) = &self.policy {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy.clone());
        }
        response
    }

    /// Renders a template with a fresh nonce.
    fn render(&self, template: &Template, answer: &Answer) -> Result<Response<Bytes>, Failure> {
        let variables = Arc::new(Variables::new(answer, self.own.look()));
        let mut response = of_type(HTML, template.render(&variables)?);
        if let Some(policy) = &self.policy {
            let policy = match memmem::find(policy.as_bytes(), NONCE) {
                None => policy.clone(),
                Some(_) => policy.to_str()?.replace("{nonce}", variables.nonce()).try_into()?,
            };
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        }
        Ok(response)
    }
}

impl Default for Page {
    /// Returns the default page. Its policy is [`STRICT_POLICY`](Self::STRICT_POLICY) with the
    /// hashes of its style and its script in place of the nonces.
    fn default() -> Self {
        Self {
            body: Body::Own,
            own: default_page(),
            languages: built_in(),
            policy: Some(OWN_POLICY.clone()),
            policy_source: Some(Self::STRICT_POLICY.into()),
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
    #[cfg(feature = "cloudflare")]
    Mustache(Arc<MustachePage>),
    /// The default page.
    Own,
    Template(Arc<Template>),
}

type Closure = dyn Fn(&Answer, &RequestHead<'_>) -> Response<Bytes> + Send + Sync;

/// Checks the length of a template.
fn check_len(source: &str) -> Result<(), ConfigError> {
    if source.len() <= Page::MAX_TEMPLATE_LEN {
        return Ok(());
    }
    let given = format_args!("a template of {} bytes", source.len());
    let expected = format_args!("at most {} bytes", Page::MAX_TEMPLATE_LEN);
    Err(ConfigError::new(ConfigErrorKind::TooLarge, FIELD, given, expected))
}

/// Returns the error for a template that fails, with the line of the failure. If the template can
/// be parsed, the error also names the reason of the answer for which it fails.
fn malformed(error: &minijinja::Error, reason: Option<&Reason>) -> ConfigError {
    let line = error.line().unwrap_or_default();
    let case = reason.map(|reason| format!(" for {reason}")).unwrap_or_default();
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    let given = format!("a template that fails in line {line}{case} ({}{detail})", error.kind());
    ConfigError::new(
        ConfigErrorKind::Malformed,
        FIELD,
        given,
        "a template that renders every kind of answer",
    )
}

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

/// The text that is replaced with the nonce in the policy of a template.
const NONCE: &[u8] = b"{nonce}";

/// The value of `X-Robots-Tag`.
const NOINDEX: &str = "noindex";

/// The type of a rendered page.
const HTML: &str = "text/html; charset=utf-8";

/// The name of the page's configuration field in errors.
const FIELD: &str = "page";

/// The header that keeps search engines from indexing the page under one of the application's URLs.
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

#[cfg(test)]
mod tests;
